"""Comparison of the dumps of two revisions, from the baselines or from runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress import plan, verdict
from gpuregress.baselines import BaselineStore
from gpuregress.dump import paths, reader
from gpuregress.errors import NothingToDo
from gpuregress.judging import diagnosis
from gpuregress.judging.buffer_pairs import BufferPair
from gpuregress.project import Project
from gpuregress.records import BufferVerdict, Case, Dump, Outcome, Rule, Source, Status, Verdict
from gpuregress.session.runs import run_folders
from gpuregress.storage import digest_file

BASELINE = "baseline"
WIDTH = 78
"""Characters in a line of an error map, unless the screen has another width."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Verdicts on the cases that have dumps of both revisions, and notes on the others."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where all is the same, 1 where something differs."""
        return verdict.exit_code(self.verdicts)


def compare_revisions(
    project: Project, before: str, after: str, selectors: Sequence[str] = (), *, raw: bool = False, width: int = WIDTH
) -> Differences:
    """Compare the dumps of two revisions.

    Args:
        project: whose baselines and runs are searched, the newest run first.
        before: the expected revision; `baseline` is the accepted one.
        after: the actual revision.
        selectors: of the cases; none: all.
        raw: every bit counts, whatever the jobs' rules say.
        width: bins of an error map.

    Raises:
        NothingToDo: no case has dumps of both.
        JobErrors: a job is wrong.
        DumpError: a dump does not hold what its header says.
    """
    cases = plan.make(project, selectors).cases
    verdicts, notes = [], []
    for case in cases:
        expected, actual = _dumps(project, case, before), _dumps(project, case, after)
        shared = [name for name in case.buffers if name in expected and name in actual]
        notes += [
            f"{case.name}: {name} has no dump of revision {after if name in expected else before}"
            for name in case.buffers
            if (name in expected) != (name in actual)
        ]
        if shared:
            buffers = tuple(_buffer(case, name, expected[name], actual[name], raw=raw, width=width) for name in shared)
            verdicts.append(_verdict(case, buffers, before, after))
    if not verdicts:
        existing = sorted({revision for case in cases for revision in _revisions(project, case)})
        raise NothingToDo(
            f"no case has dumps of both {before} and {after}; there are dumps of: {', '.join(existing) or 'none'}"
        )
    return Differences(tuple(verdicts), tuple(notes))


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
    source, name = Source(str(after)), after.name
    case = Case("files", str(after), str(after), {}, source, after.name, "", 0, {}, (), (name,), {name: Rule()})
    buffers = (_buffer(case, name, before, after, raw=True, width=width),)
    return Differences((_verdict(case, buffers, str(before), str(after)),), ())


def record(buffer: str, path: Path) -> Dump:
    """The record of a dump file; its digest is that of the text, so that equal digests mean equal files.

    Raises:
        DumpError: it has no header.
        StorageError: it cannot be read.
    """
    header = reader.read_header(path)
    text = digest_file(path)
    return Dump(buffer, str(path), header.element_type.name, header.shape, text, text)


def _buffer(case: Case, name: str, before: Path, after: Path, *, raw: bool, width: int) -> BufferVerdict:
    pair = BufferPair(case, "baseline", record(name, before), record(name, after), Rule() if raw else None)
    compared = diagnosis.compare(pair, Outcome(case.name, "done"), width)
    status: Status = "pass" if compared.same else "differ"
    return BufferVerdict(name, status, str(after), str(before), (compared,))


def _verdict(case: Case, buffers: tuple[BufferVerdict, ...], before: str, after: str) -> Verdict:
    differing = [buffer.name for buffer in buffers if buffer.status == "differ"]
    reason = f"{', '.join(differing)}: not the same in {before} and {after}" if differing else ""
    status: Status = "differ" if differing else "pass"
    return Verdict(case.job, case.name, status, reason, after, before, buffers=buffers, exit_code=1 if differing else 0)


def _dumps(project: Project, case: Case, revision: str) -> dict[str, Path]:
    """Buffer → its dump of a revision: in the baselines, else in the newest run that has one."""
    store = BaselineStore(project.baselines)
    if revision == BASELINE:
        accepted = store.load(case.name)
        return {name: Path(dump.path) for name, dump in accepted.dumps.items()} if accepted else {}
    dumps: dict[str, Path] = {}
    for folder in _folders(project, case):
        for name in case.buffers:
            path = folder / paths.dump_name(name, revision)
            if name not in dumps and path.is_file():
                dumps[name] = path
    return {**dumps, **store.find(case.name, revision)}


def _revisions(project: Project, case: Case) -> Iterator[str]:
    for folder in (project.baselines.joinpath(*case.name.split("/")), *_folders(project, case)):
        if folder.is_dir():
            for path in folder.iterdir():
                named = paths.split_name(path.name)
                if named and path.is_file() and named[0] in case.buffers:
                    yield named[1]


def _folders(project: Project, case: Case) -> Iterator[Path]:
    for run in reversed(run_folders.every(project.runs)):
        yield run.joinpath("dumps", *case.name.split("/"))
