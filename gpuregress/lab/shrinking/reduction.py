"""Reduction of a failing job by trials, until nothing smaller fails in the same way.

Each step runs several candidates at once and takes the smallest that still fails. A number is first replaced by small
powers of two and their neighbours, then the gap to the next value that does not fail is halved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.records import Case
from gpuregress.lab.shrinking import simpler_jobs
from gpuregress.lab.shrinking.simpler_jobs import Job, JobNumber, between, numbers
from gpuregress.lab.shrinking.trials import Failure, Runner, Trial

_AT_ONCE = 8
_MOST_ROUNDS = 8


class _TimeIsUp(Exception):
    """The time for the search is over."""


@dataclass(slots=True)
class Reduction:
    """The search for the smallest job.

    Attributes:
        runner: runs candidates.
        best: the smallest job so far that fails.
        failure: the kind that must stay.
        deadline: of time.monotonic, when the search ends.
        listen: receives a line for each step.
        changes: number or buffer → original and present value, in words.
        stopped: why the search ended before its end, "" where it did not.
    """

    runner: Runner
    best: Trial
    failure: Failure
    deadline: float
    listen: Callable[[str], None]
    changes: dict[str, tuple[str, str]] = field(default_factory=dict)
    stopped: str = ""

    @property
    def job(self) -> Job:
        """The smallest job so far."""
        return self.best.job

    @property
    def case(self) -> Case:
        """Its case."""
        assert self.best.case is not None
        return self.best.case

    def run(self) -> None:
        """Search until nothing smaller fails, the time is over, or the user asks to stop."""
        try:
            self._drop_keys()
            for _ in range(_MOST_ROUNDS):
                before = self.job
                self._plainer_inputs()
                self._smaller_numbers()
                if self.job == before:
                    return
        except _TimeIsUp:
            self.stopped = "the time is over"
        except Interrupted:
            self.stopped = "interrupted"

    def _drop_keys(self) -> None:
        needed = {self.failure.sides[0][0]} if self.failure.sides else set()
        optional = list(simpler_jobs.OPTIONAL)
        if self.failure.status == "timeout":  # without the job's own limit, each later candidate would hang for longer
            optional.remove("limits")
        while True:
            candidates = list(simpler_jobs.without_keys(self.job, needed, optional))
            hit = self._first_failing([job for _, job in candidates]) if candidates else None
            if hit is None:
                return
            position, self.best = hit
            self.listen(f"without {candidates[position][0]}")

    def _plainer_inputs(self) -> None:
        """Replace fills. What a check demands may follow from the inputs, so it must not judge other ones."""
        if self.failure.sides and self.failure.sides[0][1] == "check":
            return
        for name in self.case.buffers:
            plainer = dict(simpler_jobs.plainer_fills(self.job, self.case)).get(name)
            if not plainer:
                continue
            hit = self._first_failing([job for _, job in plainer])
            if hit is not None:
                fill = self.case.buffers[name].fill
                position, self.best = hit
                self._note(name, fill.kind if fill else "", plainer[position][0])

    def _smaller_numbers(self) -> None:
        for number in numbers(self.job, self.case):
            # An earlier number may have changed this one: constants that were equal, or a job that lacks it now.
            if number in numbers(self.job, self.case):
                self._minimise(number)

    def _minimise(self, number: JobNumber) -> None:
        """Find the smallest value of a number with which the job fails."""
        values = number.smaller()
        original = number
        below = None
        for start in range(0, len(values), _AT_ONCE):
            chunk = values[start : start + _AT_ONCE]
            hit = self._first_failing([number.put(self.job, value) for value in chunk], self._inputs())
            if hit is not None:
                below = chunk[hit[0] - 1] if hit[0] else below
                number = self._smaller(original, number, chunk[hit[0]], hit[1])
                break
            below = chunk[-1]
        if number is not original and isinstance(number.value, int) and isinstance(below, int):
            self._halve(original, number, below)

    def _halve(self, original: JobNumber, number: JobNumber, below: int) -> None:
        """Close the gap between a value that fails and the next smaller one that does not."""
        value = int(number.value)
        while True:
            ordered = sorted(between(min(below, value), max(below, value), _AT_ONCE // 2), key=abs)
            if not ordered:
                return
            hit = self._first_failing([number.put(self.job, point) for point in ordered], self._inputs())
            if hit is None:
                below = ordered[-1]
                continue
            below = ordered[hit[0] - 1] if hit[0] else below
            value = ordered[hit[0]]
            number = self._smaller(original, number, value, hit[1])

    def _smaller(self, original: JobNumber, number: JobNumber, value: float, trial: Trial) -> JobNumber:
        self.best = trial
        name = number.name if number.is_parameter else f"the constant {number.name}"
        self._note(name, str(original.value), str(value))
        return JobNumber(number.name, value, number.is_parameter)

    def _note(self, name: str, before: str, after: str) -> None:
        first = self.changes.get(name, (before, ""))[0]
        self.changes[name] = (first, after)
        self.listen(f"{name}: {before} → {after}")

    def _first_failing(self, jobs: Sequence[Job], most: int | None = None) -> tuple[int, Trial] | None:
        """Run candidates; return the first that fails in the same way, and where it is.

        Args:
            jobs: the smallest first.
            most: elements of all inputs; a candidate with more is no smaller job.
        """
        if time.monotonic() > self.deadline:
            raise _TimeIsUp
        for position, trial in enumerate(self.runner.run(jobs)):
            is_smaller = trial.case is not None and (most is None or elements(trial.case) <= most)
            if is_smaller and self.failure.is_same(trial.failure):
                return position, trial
        return None

    def _inputs(self) -> int:
        return elements(self.case)


def elements(case: Case) -> int:
    """Count the elements of all filled buffers."""
    return sum(math.prod(buffer.shape) for buffer in case.buffers.values() if buffer.fill is not None)
