"""Findings of fuzzing: trials of candidates, and their failures, made small and written as jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from gpuregress.foundation import storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import GpuregressError, StorageError
from gpuregress.foundation.escapes import one_line, visible
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Verdict
from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.foundation.records.statuses import headline
from gpuregress.gpu.instruments import Coverage
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import load
from gpuregress.lab.fuzzing.candidates import Candidate, Space
from gpuregress.lab.shrinking import shrink, trials
from gpuregress.lab.shrinking.reduction import Reduction
from gpuregress.lab.shrinking.simpler_jobs import Job
from gpuregress.lab.shrinking.trials import Failure, JobFolder, Trial, Trials

State = Literal["passed", "failed", "skipped", "not run"]


class PlannedInput(Record):
    """A candidate that is a valid job.

    Attributes:
        candidate: it.
        job: the job that it is.
        case: of that job.
    """

    candidate: Candidate
    job: Job
    case: Case


class Tried(Record):
    """A candidate that was run.

    Attributes:
        planned: the candidate and its job.
        state: `skipped`: the compiler or the device refuses its sizes; `not run`: for another reason.
        reason: of the verdict, one line.
        failure: its kind, where it failed.
        coverage: what it reached, where that was counted.
    """

    planned: PlannedInput
    state: State
    reason: str = ""
    failure: Failure | None = None
    coverage: Coverage | None = None


class FuzzTrials:
    """Runs of candidates.

    Args:
        space: of the job.
        folder: where candidates are run; its runs are removed after each batch.
    """

    def __init__(self, space: Space, folder: JobFolder) -> None:
        self._space = space
        self._folder = folder
        self._number = 0

    def plan(self, candidate: Candidate) -> PlannedInput | None:
        """Plan a candidate; None where the job's own constraints do not allow it."""
        job = self._space.job(candidate)
        case = self._folder.plan({**job, "job": f"{job['job']}-{self._number}"})
        self._number += 1
        if case is None or case.settings.refused:
            return None
        return PlannedInput(candidate, job, case)

    def run(self, batch: Sequence[PlannedInput]) -> list[Tried]:
        """Run candidates; the results are in their order.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        if not batch:
            return []
        verdicts = self._folder.verdicts([planned.case for planned in batch])
        return [self.judged(planned, verdicts.get(planned.case.name)) for planned in batch]

    def judged(self, planned: PlannedInput, verdict: Verdict | None) -> Tried:
        """Say what came of a candidate: its verdict, None where it was not run."""
        if verdict is None:
            return Tried(planned, "not run", "it was not run")
        reason = one_line(verdict.reason)
        coverage = None
        if verdict.outcome is not None:
            coverage = verdict.outcome.observations.instruments.coverage
        if verdict.status in ("pass", "new"):
            return Tried(planned, "passed", reason, coverage=coverage)
        if verdict.status == "timeout" and self._space.is_larger(planned.candidate):
            return Tried(planned, "not run", f"over its time limit with larger parameters than the job's: {reason}")
        failed = trials.failure_of(planned.case, verdict)
        if failed is not None and not _lacks_reference(verdict):
            return Tried(planned, "failed", reason, failed, coverage)
        if verdict.status == "skip":
            return Tried(planned, "skipped", reason)
        return Tried(planned, "not run", reason)


def _lacks_reference(verdict: Verdict) -> bool:
    """Whether all that failed is the computation of a reference, which may not be made for such inputs.

    Where the reference, too, has nothing to write, as for a count of 0, nothing is judged either.
    """
    comparisons = [comparison for buffer in verdict.buffers for comparison in buffer.comparisons]
    failed = [comparison for comparison in comparisons if not comparison.same]
    for comparison in failed:
        is_uncomputed = comparison.against == "reference" and not comparison.of and comparison.message
        if not comparison.figures.nothing_written and not is_uncomputed:
            return False
    return bool(failed)


_NAME = "confirmed.yaml"


def fails_again(folder: JobFolder, target: Path, job: Job, kind: Failure) -> bool:
    """Run a new job at the path that it will have; tell whether it fails in this way.

    Args:
        folder: where candidates are run.
        target: the folder of the new jobs.
        job: that is run.
        kind: of the failure.

    Raises:
        Interrupted: the user asked to stop.
        GpuregressError: the errors of `session.run`.
    """
    moved = replace(folder, path=target.absolute() / _NAME, coverage=False)
    case = moved.plan(job)
    if case is None:
        return False
    return kind.is_same(trials.failure_of(case, moved.verdicts([case]).get(case.name)))


NOT_AGAIN = "it did not fail when it was run again"


class FuzzFinding(Record):
    """A failure that the job's own cases do not have.

    Attributes:
        status: `fault`, `differ` or `timeout`.
        message: how the smallest case fails.
        inputs: the first inputs that failed so, in words.
        grade: of their data: `own`, `ordinary`, `special` or `extreme`.
        also: how many other inputs failed in this way.
        changes: what the search for the smallest case made smaller or plainer.
        path: the job, relative to the project where it is in it; "" where none was written, for the failure did not
            come again or the folder cannot be written to.
        text: the job.
        is_known: whether that file was there already.
        stopped: why the search for the smallest case ended early, "" where it did not.
    """

    status: str
    message: str
    inputs: str
    grade: str
    also: int
    changes: tuple[str, ...]
    path: str
    text: str
    is_known: bool = False
    stopped: str = ""

    @property
    def headline(self) -> str:
        """The status, and how the smallest case fails."""
        return headline(self.status, self.message)


def kind(tried: Tried) -> tuple[object, ...]:
    """What failures of one kind share: the fault and its place, or the comparison; and the kind of data."""
    failed = tried.failure
    assert failed is not None
    grade, hardest = tried.planned.candidate.hardest
    if grade not in ("special", "extreme"):
        hardest = "ordinary"
    side = failed.sides[0] if failed.sides else failed.buffers
    return failed.status, failed.fault, failed.kernel, side, hardest


class FindingWriter:
    """Makes failures small and writes them.

    Args:
        folder: where candidates are run.
        scratch: a temporary folder.
        target: the folder of the new jobs.
        stop: ends the search for a smallest case, not the writing.
        confirms: runs a job, and tells whether it fails in a way.
    """

    def __init__(
        self,
        folder: JobFolder,
        scratch: Path,
        target: Path,
        stop: StopSignal,
        confirms: Callable[[Job, Failure], bool],
    ) -> None:
        self._folder = replace(folder, coverage=False)
        self._scratch = scratch
        self._target = target
        self._stop = stop
        self._confirms = confirms

    def write(self, job: str, tried: Tried, also: int, limit_s: float, seed: int) -> FuzzFinding:
        """Shrink a failure and write it as a job, if that fails so once more.

        Args:
            job: the fuzzed job's name.
            tried: the failure.
            also: other inputs with the same kind of failure.
            limit_s: seconds for the search.
            seed: of the run, for the comment.
        """
        failed = tried.failure
        planned = tried.planned
        assert failed is not None
        job_alone = dict(planned.job)
        if not any(against == "schedule" for _, against in failed.sides):
            job_alone.pop("schedules", None)
        first = Trial(job_alone, planned.case, failed)
        trials = Trials(self._folder, self._scratch / "shrinking", self._stop)
        search = Reduction(trials, first, failed, time.monotonic() + limit_s, lambda _line: None)
        stopped = ""
        try:
            search.run()
        except GpuregressError as error:
            stopped = one_line(str(error))
        stopped = stopped or search.stopped
        changes = tuple(f"{name}: {before} → {after}" for name, (before, after) in search.changes.items())
        best = search.best
        moved = self._moved(best)
        doubt = self._doubt(moved, failed)
        if doubt == NOT_AGAIN and changes:
            stopped = "the smaller ones did not fail again"
            best = first
            moved = self._moved(first)
            changes = ()
            doubt = self._doubt(moved, failed)
        message = (best.failure or failed).message
        words = planned.candidate.words
        finding = FuzzFinding(
            status=failed.status,
            message=one_line(message),
            inputs=words,
            grade=planned.candidate.grade,
            also=also,
            changes=changes,
            path="",
            text="",
        )
        if doubt == NOT_AGAIN:
            return replace(finding, stopped=doubt)
        head = [f"Found by `gpuregress fuzz {job} --seed {seed}`.", message, f"Inputs: {words}"]
        head += [f"Made smaller: {change}" for change in changes]
        if stopped:
            head.append(f"Not the smallest: {stopped}")
        if doubt:
            head.append(doubt)
        try:
            path, text, is_known = self._written(job, moved, head)
        except StorageError as error:  # what was found is reported all the same
            return replace(finding, stopped=one_line(str(error)))
        return replace(finding, path=self._shown(path), text=text, is_known=is_known, stopped=stopped)

    def _moved(self, trial: Trial) -> Job:
        """The job of a trial with its paths from the folder of the new jobs."""
        assert trial.case is not None
        names = {**trial.case.parameters, "seed": trial.case.seed}
        return shrink.moved(trial.job, self._folder.path.parent, self._target.absolute(), names)

    def _doubt(self, job: Job, failed: Failure) -> str:
        """Run a job once more; "" where it fails in the same way, else why it may not."""
        try:
            fails = self._confirms(job, failed)
        except GpuregressError as error:
            return f"Not confirmed: {one_line(str(error))}"
        return "" if fails else NOT_AGAIN

    def _shown(self, path: Path) -> str:
        root = self._folder.project.root.resolve()
        if not path.resolve().is_relative_to(root):
            return str(path)
        return str(path.resolve().relative_to(root))

    def _written(self, name: str, job: Job, head: Sequence[str]) -> tuple[Path, str, bool]:
        """Write the job under the next free name; one that is there with the same contents is left as it is."""
        for path in sorted(self._target.glob(f"{name}-*.yaml")):
            if _is_same(path, job):
                return path, path.read_text(encoding="utf-8"), True
        with storage.disk_errors(self._target):
            self._target.mkdir(parents=True, exist_ok=True)
        number = 1
        while (self._target / f"{name}-{number}.yaml").exists():
            number += 1
        path = self._target / f"{name}-{number}.yaml"
        command = "gpuregress run "
        if self._folder.checks:
            command += f"--check {','.join(self._folder.checks)} "
        lines = [f"# {visible(one_line(line))}\n" for line in (*head, f"Run it: {command}{self._shown(path)}")]
        text = "".join(lines) + yaml_writer.write({**job, "job": f"{name}-fuzz-{number}"})
        storage.write_atomic(path.absolute(), text.encode())
        return path, text, False


def _is_same(path: Path, job: Job) -> bool:
    """Whether a file holds the same job under any name; NaNs are equal here."""
    try:
        there = load.load_file(path).document.data
    except (GpuregressError, OSError):
        return False
    plain = yaml_writer.write({**job, "job": ""})
    return isinstance(there, dict) and yaml_writer.write({**there, "job": ""}) == plain


def grouped(failures: list[Tried]) -> Iterator[tuple[Tried, int]]:
    """The first failure of each kind, with the number of the others."""
    kinds: dict[tuple[object, ...], list[Tried]] = {}
    for tried in failures:
        kinds.setdefault(kind(tried), []).append(tried)
    for alike in kinds.values():
        yield alike[0], len(alike) - 1


def evidence(job: str, tried: list[Tried], schedules: int) -> Iterator[AuditEvidence]:
    """Yield what the inputs of a job prove. Wrong numbers show only where something follows the inputs.

    Args:
        job: its name.
        tried: the inputs, at least one.
        schedules: the number of schedules that each ran under.
    """
    for failed, also in grouped([trial for trial in tried if trial.state == "failed"]):
        inputs = failed.planned.candidate.words
        if also:
            inputs += f" (and {also} other inputs)"
        text = f"with {inputs}: {failed.reason}"
        hint = f"`gpuregress fuzz {job}` makes it small and writes a job of it, where the job's own cases do not fail"
        yield AuditEvidence("unnoticed", text, (hint,))
    count = len([trial for trial in tried if trial.state == "passed"])
    if not count:
        return
    case = tried[0].planned.case
    words = f"{count} other inputs give" if count != 1 else "1 other input gives"
    follows = any(name not in case.reference_files for name in case.references)
    if follows or case.settings.twins:
        yield AuditEvidence("proven", f"{words} no wrong result")
        return
    checks = ", no failed check" if case.checks else ""
    result = f"one result under {schedules} schedules; no reference judges the numbers"
    yield AuditEvidence("proven", f"{words} no fault{checks} and {result}")
