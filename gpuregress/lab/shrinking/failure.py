"""Kind of a failure: what must stay the same while a job becomes smaller."""

from __future__ import annotations

from gpuregress.foundation.records import Case, Verdict
from gpuregress.gpu.records import Record

LOST_SIDES = ("baseline", "first", "agree")
"""Sides of a comparison that one smaller case does not have: accepted results, and other cases."""


class Failure(Record):
    """The kind of a failure.

    Attributes:
        status: `fault`, `timeout` or `differ`.
        fault: the kind of fault, "" for a difference.
        kernel: in which it happened, "" where it was in none.
        buffers: that the fault's message names.
        sides: buffer and what it was compared with, for each comparison that failed, the first one first.
        message: a line for people.
    """

    status: str
    fault: str = ""
    kernel: str = ""
    buffers: frozenset[str] = frozenset()
    sides: tuple[tuple[str, str], ...] = ()
    message: str = ""

    def is_same(self, other: Failure | None) -> bool:
        """Whether another failure is of this kind: the same fault in the same kernel, or the same comparison."""
        if other is None or (other.status, other.fault, other.kernel) != (self.status, self.fault, self.kernel):
            return False
        if self.sides:
            return self.sides[0] in other.sides
        return self.buffers == other.buffers or bool(self.buffers & other.buffers)

    def without_baseline(self) -> Failure | None:
        """The same without comparisons that a smaller case does not have; None where nothing is left."""
        if self.status != "differ":
            return self
        sides = tuple(side for side in self.sides if side[1] not in LOST_SIDES)
        return Failure(self.status, sides=sides, message=self.message) if sides else None


def of(case: Case, verdict: Verdict | None) -> Failure | None:
    """Return the kind of a case's failure; None for one that did not fail, or could not be run."""
    if verdict is None or verdict.status not in ("fault", "timeout", "differ"):
        return None
    outcome = verdict.outcome
    fault = outcome.fault if outcome is not None else None
    if fault is not None:
        kernel = case.launches[fault.position].kernel if fault.position is not None else ""
        named = frozenset(name for name in case.buffers if f"{name}[" in fault.message)
        return Failure(verdict.status, fault.kind, kernel, named, message=verdict.reason)
    sides = tuple(
        (buffer.name, compared.against)
        for buffer in verdict.buffers
        for compared in buffer.comparisons
        if not compared.same
    )
    return Failure(verdict.status, sides=tuple(dict.fromkeys(sides)), message=verdict.reason)
