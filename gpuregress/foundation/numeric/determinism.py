"""Determinism of a case over its repeats: bitwise, in other orders, or with other values."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import row_hash
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import Comparison, Determinism, Figures
from gpuregress.foundation.records.further_runs import CLASSES
from gpuregress.gpu.records import Record


class ObservedDeterminism(Record):
    """Determinism of a buffer over several runs, and the order of blocks and threads in each, if chosen."""

    determinism: Determinism
    orders: tuple[str, ...] = ()

    @property
    def in_orders(self) -> str:
        """The orders in parentheses, `""` without any: ` (usual; blocks and threads reversed)`."""
        return f" ({'; '.join(self.orders)})" if self.orders else ""

    def worse_than(self, other: ObservedDeterminism) -> bool:
        """Whether the runs agree less."""
        return CLASSES.index(self.determinism) > CLASSES.index(other.determinism)


def classify(element_type: ElementType, runs: Sequence[Array]) -> Determinism:
    """Classify the determinism of a buffer over several runs.

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


def compare(buffer: str, expected: ObservedDeterminism, actual: ObservedDeterminism, runs: int, of: int) -> Comparison:
    """Compare determinism with the baseline's: a change in either direction is a difference.

    Fewer orders may show less: a better class is a change only if both saw the same orders.

    Args:
        buffer: its name.
        expected: the baseline's class and orders.
        actual: this run's.
        runs: number of runs.
        of: elements in the buffer.
    """
    worse, better = actual.worse_than(expected), expected.worse_than(actual)
    same = not worse and not (better and actual.orders == expected.orders)
    texts = [f"{side.determinism}{side.in_orders}" for side in (expected, actual)]
    message = "" if same else f"over {runs} runs: {texts[1]}; the baseline: {texts[0]}"
    return Comparison(
        buffer,
        "repeat",
        f"determinism: {texts[0]}",
        same=same,
        identical=actual.determinism == "bitwise",
        of=of,
        message=message,
        figures=Figures(expected=expected.determinism, actual=actual.determinism, runs=runs),
    )
