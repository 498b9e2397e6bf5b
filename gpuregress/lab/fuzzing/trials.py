"""Trials of candidates: many cases in one run on the CPU device, judged as those of any run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Literal

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Case, Verdict
from gpuregress.gpu.instruments import Coverage
from gpuregress.gpu.records import Record
from gpuregress.lab.fuzzing.candidates import Candidate, Space
from gpuregress.lab.shrinking import failure
from gpuregress.lab.shrinking.failure import Failure
from gpuregress.lab.shrinking.numbers import Job
from gpuregress.lab.shrinking.trials import JobFolder

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
        self._space, self._folder = space, folder
        self._number = 0

    def plan(self, candidate: Candidate) -> PlannedInput | None:
        """Plan a candidate; None where the job's own constraints do not allow it."""
        job = self._space.job(candidate)
        case = self._folder.plan({**job, "job": f"{job['job']}-{self._number}"})
        self._number += 1
        return None if case is None or case.settings.refused else PlannedInput(candidate, job, case)

    def run(self, batch: Sequence[PlannedInput]) -> list[Tried]:
        """Run candidates; the results are in their order.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        if not batch:
            return []
        try:
            summary = self._folder.execute([one.case for one in batch], self._folder.runs.with_name("no-baselines"))
        finally:
            shutil.rmtree(self._folder.runs, ignore_errors=True)
        verdicts = {one.case: one for one in summary.verdicts}
        return [self.judged(one, verdicts.get(one.case.name)) for one in batch]

    def judged(self, planned: PlannedInput, verdict: Verdict | None) -> Tried:
        """Say what came of a candidate: its verdict, None where it was not run."""
        if verdict is None:
            return Tried(planned, "not run", "it was not run")
        reason = one_line(verdict.reason)
        coverage = verdict.outcome.observations.instruments.coverage if verdict.outcome is not None else None
        if verdict.status in ("pass", "new"):
            return Tried(planned, "passed", reason, coverage=coverage)
        if verdict.status == "timeout" and self._space.is_larger(planned.candidate):
            return Tried(planned, "not run", f"over its time limit with larger parameters than the job's: {reason}")
        failed = failure.of(planned.case, verdict)
        if failed is not None and not _lacks_reference(verdict):
            return Tried(planned, "failed", reason, failed, coverage)
        return Tried(planned, "skipped" if verdict.status == "skip" else "not run", reason)


def _lacks_reference(verdict: Verdict) -> bool:
    """Whether all that failed is the computation of a reference, which may not be made for such inputs.

    Where the reference, too, has nothing to write, as for a count of 0, nothing is judged either.
    """
    wrong = [one for buffer in verdict.buffers for one in buffer.comparisons if not one.same]
    return bool(wrong) and all(
        one.figures.nothing_written or (one.against == "reference" and not one.of and one.message) for one in wrong
    )
