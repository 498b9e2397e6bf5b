"""Comparison of the results of two revisions: kept dumps, or runs of git commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from gpuregress.foundation.errors import ExitCode, NothingToDo
from gpuregress.foundation.records import BufferVerdict, Case, Dump, Outcome, Rule, Source, Status, Verdict
from gpuregress.foundation.storage import digest_file
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import diagnosis, verdict
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import launch_history, sides
from gpuregress.lab.revisions.launch_history import CaseResults
from gpuregress.lab.revisions.sides import Side, SidesRequest
from gpuregress.session.events import Advanced
from gpuregress.store.dumps import reader
from gpuregress.store.project import Project

WIDTH = 78
"""Characters in a line of an error map, unless the screen has another width."""


class Differences(Record):
    """Verdicts on the cases that have dumps of both revisions, and notes on the others."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where all is the same, 1 where something differs."""
        return verdict.exit_code(self.verdicts)


def compare_revisions(
    project: Project,
    before: str,
    after: str,
    selectors: Sequence[str] = (),
    *,
    raw: bool = False,
    width: int = WIDTH,
    this_job: bool = False,
    options: RunOptions | None = None,
) -> Differences:
    """Compare the results of two revisions: kept dumps, or those of a git commit, which is run.

    Args:
        project: whose baselines and runs are searched, the newest run first; its work tree names cases and rules.
        before: the expected revision; `baseline` is the accepted one.
        after: the actual revision; `worktree` is the work tree as it is now.
        selectors: of the cases; none: all.
        raw: every bit counts, whatever the jobs' rules say.
        width: bins of an error map.
        this_job: run commits with the jobs of the work tree, not with their own.
        options: of the runs.

    Raises:
        NothingToDo: no case has dumps of both.
        JobErrors: a job is wrong.
        UsageError: a word that git takes for several commits; a commit that cannot be run.
        DumpError: a dump does not hold what its header says.
        Interrupted: the user asked to stop.
        GpuregressError: the errors of `session.run`.
    """
    cases = plan.make(project, selectors).cases
    request = SidesRequest(project, cases, this_job=this_job, options=options or RunOptions())
    with sides.opened(request, (before, after)) as (expected, actual):
        verdicts = []
        cases = tuple(_with_found_buffers(case, expected, actual) for case in cases)
        for number, case in enumerate(cases, 1):
            request.options.listen(Advanced(number - 1, len(cases), f"comparing {case.name}"))
            compared = _compared(project, case, (expected, actual), raw=raw, width=width)
            if compared is not None:
                verdicts.append(compared)
        notes = [*expected.notes, *actual.notes]
        for case in cases:
            notes += _lacking(case, expected, actual)
    if not verdicts:
        existing: set[str] = set()
        for case in cases:
            existing.update(sides.revisions(project, case))
        there = ", ".join(sorted(existing)) or "none"
        lines = [f"no case has dumps of both {before} and {after}; there are dumps of: {there}"]
        raise NothingToDo("; ".join([*lines, *dict.fromkeys([*expected.notes, *actual.notes])]))
    return Differences(tuple(verdicts), tuple(dict.fromkeys(notes)))


def compare_files(before: Path, after: Path, *, width: int = WIDTH) -> Differences:
    """Compare two dump files, every bit.

    Args:
        before: the expected one.
        after: the actual one.
        width: bins of an error map.

    Raises:
        DumpError: one does not hold what its header says.
        StorageError: one cannot be read.
    """
    name = after.name
    case = Case(
        job="files",
        name=str(after),
        path=str(after),
        parameters={},
        source=Source(str(after)),
        revision=name,
        source_digest="",
        seed=0,
        buffers={},
        launches=(),
        dump=(name,),
        compare={name: Rule()},
    )
    buffers = (_buffer(case, name, before, after, raw=True, width=width),)
    return Differences((_verdict(case, buffers, str(before), str(after)),), ())


def record(buffer: str, path: Path) -> Dump:
    """Make the record of a dump file; its digest is that of the text, so that equal digests mean equal files.

    Raises:
        DumpError: it has no header.
        StorageError: it cannot be read.
    """
    header = reader.read_header(path)
    text = digest_file(path)
    return Dump(
        buffer=buffer,
        path=str(path),
        dtype=header.element_type.name,
        shape=header.shape,
        digest=text,
        text_digest=text,
    )


def _with_found_buffers(case: Case, before: Side, after: Side) -> Case:
    """The case with the buffers that its program left in either of the revisions; one with launches has its own."""
    if case.program is None:
        return case
    dumps = {**before.dumps(case.name), **after.dumps(case.name)}
    return case.with_dumps(record(name, path) for name, path in dumps.items())


def _lacking(case: Case, before: Side, after: Side) -> Iterator[str]:
    """A note for each buffer that only one of the revisions has."""
    expected, actual = before.dumps(case.name), after.dumps(case.name)
    if not (before.failure(case.name) or after.failure(case.name)):
        for name in case.buffers:
            if (name in expected) != (name in actual):
                lacking = after if name in expected else before
                yield f"{case.name}: {name} has no dump of revision {lacking.word}"


def _compared(project: Project, case: Case, revisions: tuple[Side, Side], *, raw: bool, width: int) -> Verdict | None:
    """The verdict on a case; None where one of the revisions has no dumps of it."""
    before, after = revisions
    if before.failure(case.name) or after.failure(case.name):
        return _failed(case, before, after)
    expected, actual = before.dumps(case.name), after.dumps(case.name)
    shared = [name for name in case.buffers if name in expected and name in actual]
    if not shared:
        return None
    outcome = after.outcome(case.name) or Outcome(case.name, "done")
    plain = [_buffer(case, name, expected[name], actual[name], raw=raw, width=width, of=outcome) for name in shared]
    results = CaseResults(expected, before.outcome(case.name)), CaseResults(actual, after.outcome(case.name))
    compared = launch_history.with_first_wrong(project, case, results, plain, partial(_differs, case, raw=raw))
    buffers = tuple(
        replace(
            buffer,
            dump=buffer.dump if after.is_kept else "",  # a run in a scratch folder leaves no file
            baseline=buffer.baseline if before.is_kept else "",
        )
        for buffer in compared
    )
    return _verdict(case, buffers, before.word, after.word)


def _failed(case: Case, before: Side, after: Side) -> Verdict | None:
    """The verdict on a case of which a revision left no dumps: its failure, or the fault that the job expects.

    None where it failed as expected and the other revision was not run.
    """
    failures: list[Verdict] = []
    texts: list[str] = []
    for side in (before, after):
        failure = side.failure(case.name)
        if failure is not None:
            failures.append(failure)
            texts.append(f"{side.word}: {failure.headline}")
    unexpected = [failure for failure in failures if failure.status != "pass"]
    worst = [*failures, *unexpected][-1]
    if not unexpected and len(failures) == 1:
        other = after if before.failure(case.name) else before
        if not other.dumps(case.name):
            return None
        texts.append(f"{other.word}: it ran to its end")
        worst = replace(worst, status="differ", exit_code=ExitCode.DIFFERS, notes=())
    worst = replace(worst, reason="; ".join(texts), buffers=(), changes=())
    return replace(worst, revision=after.word, baseline_revision=before.word)


def _buffer(
    case: Case, name: str, before: Path, after: Path, *, raw: bool, width: int, of: Outcome | None = None
) -> BufferVerdict:
    pair = BufferPair(case, "baseline", record(name, before), record(name, after), Rule() if raw else None)
    compared = diagnosis.compare(pair, of or Outcome(case.name, "done"), width)
    status: Status = "pass" if compared.same else "differ"
    return BufferVerdict(name, status, str(after), str(before), (compared,))


def _differs(case: Case, before: Path, after: Path, name: str, *, raw: bool) -> bool:
    """Whether two dumps of a buffer differ under its rule."""
    rule = Rule() if raw or name not in case.compare else None
    return not BufferPair(case, "baseline", record(name, before), record(name, after), rule).compare().same


def _verdict(case: Case, buffers: tuple[BufferVerdict, ...], before: str, after: str) -> Verdict:
    verdict = Verdict(case.job, case.name, "pass", revision=after, baseline_revision=before, buffers=buffers)
    differing = [buffer.name for buffer in buffers if buffer.status == "differ"]
    if not differing:
        return verdict
    reason = f"{', '.join(differing)}: not the same in {before} and {after}"
    return replace(verdict, status="differ", reason=reason, exit_code=ExitCode.DIFFERS)
