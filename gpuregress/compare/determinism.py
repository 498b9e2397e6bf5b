"""How far a case's own runs agree: to the bit, but for the order, or not even in their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuregress.compare import row_hash
from gpuregress.dtypes import ElementType
from gpuregress.ordinals import Array
from gpuregress.records import Comparison, Determinism

CLASSES: tuple[Determinism, ...] = ("bitwise", "order varies", "values vary")


@dataclass(frozen=True, slots=True)
class ObservedDeterminism:
    """How far several runs of a buffer agree, and the order of blocks and threads in each, where one was chosen."""

    determinism: Determinism
    orders: tuple[str, ...] = ()

    @property
    def in_orders(self) -> str:
        """` (usual; blocks and threads reversed)`, or nothing."""
        return f" ({'; '.join(self.orders)})" if self.orders else ""

    def worse_than(self, other: ObservedDeterminism) -> bool:
        """Whether the runs agree less."""
        return CLASSES.index(self.determinism) > CLASSES.index(other.determinism)


def classify(element_type: ElementType, runs: Sequence[Array]) -> Determinism:
    """The class of a buffer over several runs.

    Args:
        element_type: what it holds.
        runs: the buffer after each run, flat, `element_type.storage`; at least one.
    """
    hashes = [row_hash.rows(run, element_type) for run in runs]
    if all((one == hashes[0]).all() for one in hashes[1:]):
        return "bitwise"
    if all(one.sum() == hashes[0].sum() for one in hashes[1:]):
        return "order varies"
    return "values vary"


def compare(buffer: str, expected: ObservedDeterminism, found: ObservedDeterminism, runs: int, of: int) -> Comparison:
    """A comparison of this run's class with the baseline's: a change, in either direction, is a difference.

    Fewer orders may show less: only where both saw the same orders is a better class a change.

    Args:
        buffer: its name.
        expected: the baseline's class and orders.
        found: this run's.
        runs: how many runs it was judged by.
        of: elements in the buffer.
    """
    worse, better = found.worse_than(expected), expected.worse_than(found)
    same = not worse and not (better and found.orders == expected.orders)
    now, then = f"{found.determinism}{found.in_orders}", f"{expected.determinism}{expected.in_orders}"
    message = "" if same else f"over {runs} runs: {now}; the baseline: {then}"
    return Comparison(
        buffer,
        "repeat",
        f"determinism: {expected.determinism}{expected.in_orders}",
        same,
        found.determinism == "bitwise",
        of,
        message=message,
        numbers={"expected": expected.determinism, "found": found.determinism, "runs": runs},
    )
