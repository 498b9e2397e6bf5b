"""Instrumentation of a run: what a device watches and counts besides the results, and what it found."""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.gpu.errors import UsageError
from gpuregress.gpu.records import Sparse

CHECKS: dict[str, str] = {
    "races": "two threads access the same bytes, one of them writes, and nothing orders the two accesses",
    "uninitialized": "memory is read that nobody has written",
    "barriers": "threads do not reach a barrier, or reach it with a wrong mask or count",
    "leaks": "memory that a kernel allocated is not freed",
}
"""Dynamic checks → what each one finds."""


def checks_named(texts: Iterable[str], where: str) -> tuple[str, ...]:
    """The dynamic checks that texts name, in the order of `CHECKS`.

    Args:
        texts: names, several with commas between; `all`: every one.
        where: the option or key, for the message.

    Raises:
        UsageError: there is none of that name.
    """
    names = {name.strip() for text in texts for name in text.split(",")} - {""}
    wrong = sorted(names - {*CHECKS, "all"})
    if wrong:
        raise UsageError(f"{where}: no check is called {wrong[0]!r}: say {', '.join(CHECKS)}, or all")
    return tuple(name for name in CHECKS if name in names or "all" in names)


class Instruments(Sparse):
    """What a device watches and counts while a case runs. None of it changes the results.

    Attributes:
        checks: names from `CHECKS`, in that order.
        costs: whether the costs of each instruction are counted: executions, sectors, bank conflicts.
        coverage: whether the executions of each basic block and each branch are counted.
        accuracy: whether floating-point values have shadows of higher precision.
        conflicts: whether the check `races` also keeps each pair of accesses that only the schedule orders: races, and
            atomic operations whose order may matter.
    """

    checks: tuple[str, ...] = ()
    costs: bool = False
    coverage: bool = False
    accuracy: bool = False
    conflicts: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is watched or counted."""
        return bool(self.checks) or self.costs or self.coverage or self.accuracy

    @property
    def only_checks(self) -> bool:
        """Whether there are dynamic checks, and nothing is counted."""
        return bool(self.checks) and not (self.costs or self.coverage or self.accuracy)


class CheckFinding(Sparse):
    """A finding of a dynamic check.

    Attributes:
        kind: one of `FAULT_KINDS`: `race`, `uninitialized`, `barrier`, `leak`, …
        message: a line for people.
        details: further lines: the other thread, its source line.
        location: `reduce.cu:31`, "" where it is not known; the innermost line where functions are inlined.
        count: number of equal findings at the same source lines.
        lines: both source lines, `reduce.cu:12, reduce.cu:14`, where there are two.
        calls: for each of these lines, or for the location, the calls that it is inlined into, innermost first; empty
            where there are none.
        variable: the buffer or variable.
        scope: how far apart the two threads of a race are: 0 in one warp, 1 in two warps, 2 in two blocks, 3 in two
            clusters. A race of an asynchronous copy or of a cache has 1: no order of the lanes mends it.
    """

    kind: str
    message: str
    details: tuple[str, ...] = ()
    location: str = ""
    count: int = 1
    lines: str = ""
    calls: tuple[tuple[str, ...], ...] = ()
    variable: str = ""
    scope: int = 0
