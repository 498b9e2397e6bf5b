"""Findings: failures of one kind, each made as small as possible and written as a job of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import GpuregressError, StorageError
from gpuregress.foundation.escapes import one_line, visible
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records.statuses import headline
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import load
from gpuregress.lab.fuzzing.trials import Tried
from gpuregress.lab.shrinking import shrink
from gpuregress.lab.shrinking.failure import Failure
from gpuregress.lab.shrinking.numbers import Job
from gpuregress.lab.shrinking.reduction import Reduction
from gpuregress.lab.shrinking.trials import JobFolder, Trial, Trials

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
    side = failed.sides[0] if failed.sides else failed.buffers
    return failed.status, failed.fault, failed.kernel, side, hardest if grade in ("special", "extreme") else "ordinary"


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
        self._folder, self._scratch, self._target = replace(folder, coverage=False), scratch, target
        self._stop, self._confirms = stop, confirms

    def write(self, job: str, tried: Tried, also: int, limit_s: float, seed: int) -> FuzzFinding:
        """Shrink a failure and write it as a job, if that fails so once more.

        Args:
            job: the fuzzed job's name.
            tried: the failure.
            also: other inputs with the same kind of failure.
            limit_s: seconds for the search.
            seed: of the run, for the comment.
        """
        failed, planned = tried.failure, tried.planned
        assert failed is not None
        compares_orders = any(against == "schedule" for _, against in failed.sides)
        job_alone = {name: item for name, item in planned.job.items() if compares_orders or name != "schedules"}
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
        best, moved = search.best, self._moved(search.best)
        doubt = self._doubt(moved, failed)
        if doubt == NOT_AGAIN and changes:
            stopped = "the smaller ones did not fail again"
            best, moved, changes = first, self._moved(first), ()
            doubt = self._doubt(moved, failed)
        message = (best.failure or failed).message
        found = FuzzFinding(
            failed.status, one_line(message), planned.candidate.words, planned.candidate.grade, also, changes, "", ""
        )
        if doubt == NOT_AGAIN:
            return replace(found, stopped=doubt)
        head = (f"Found by `gpuregress fuzz {job} --seed {seed}`.", message, f"Inputs: {planned.candidate.words}")
        smaller = (f"Made smaller: {one}" for one in changes)
        more = (f"Not the smallest: {stopped}",) if stopped else ()
        try:
            path, text, is_known = self._written(job, moved, (*head, *smaller, *more, *((doubt,) if doubt else ())))
        except StorageError as error:  # what was found is told all the same
            return replace(found, stopped=one_line(str(error)))
        return replace(found, path=self._shown(path), text=text, is_known=is_known, stopped=stopped)

    def _moved(self, trial: Trial) -> Job:
        """The job of a trial with its paths from the folder of the new jobs."""
        assert trial.case is not None
        names = {**trial.case.parameters, "seed": trial.case.seed}
        return shrink.moved(trial.job, self._folder.path.parent, self._target.absolute(), names)

    def _doubt(self, job: Job, failed: Failure) -> str:
        """Run a job once more; "" where it fails in the same way, else why it may not."""
        try:
            return "" if self._confirms(job, failed) else NOT_AGAIN
        except GpuregressError as error:
            return f"Not confirmed: {one_line(str(error))}"

    def _shown(self, path: Path) -> str:
        root = self._folder.project.root.resolve()
        return str(path.resolve().relative_to(root)) if path.resolve().is_relative_to(root) else str(path)

    def _written(self, name: str, job: Job, head: tuple[str, ...]) -> tuple[Path, str, bool]:
        """Write the job under the next free name; one that is there with the same contents is left as it is."""
        for path in sorted(self._target.glob(f"{name}-*.yaml")):
            if _is_same(path, job):
                return path, path.read_text(encoding="utf-8"), True
        with storage.disk_errors(self._target):
            self._target.mkdir(parents=True, exist_ok=True)
        number = next(at for at in range(1, 1_000_000) if not (self._target / f"{name}-{at}.yaml").exists())
        path = self._target / f"{name}-{number}.yaml"
        checks = f"--check {','.join(self._folder.checks)} " if self._folder.checks else ""
        command = f"Run it: gpuregress run {checks}{self._shown(path)}"
        lines = [f"# {visible(one_line(line))}\n" for line in (*head, command)]
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
    for some in kinds.values():
        yield some[0], len(some) - 1
