"""How far a case's own runs agree: to the bit, but for the order, or not even in their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gpuregress.compare import fingerprint
from gpuregress.dtypes import ElementType
from gpuregress.ordinals import Array
from gpuregress.records import Comparison

Determinism = Literal["bitwise", "order varies", "values vary"]
CLASSES: tuple[Determinism, ...] = ("bitwise", "order varies", "values vary")


def classify(element_type: ElementType, runs: Sequence[Array]) -> Determinism:
    """The class of a buffer over several runs.

    Args:
        element_type: what it holds.
        runs: the buffer after each run, flat, `element_type.storage`; at least one.
    """
    hashes = [fingerprint.rows(run, element_type) for run in runs]
    if all((one == hashes[0]).all() for one in hashes[1:]):
        return "bitwise"
    if all(one.sum() == hashes[0].sum() for one in hashes[1:]):
        return "order varies"
    return "values vary"


def compare(buffer: str, expected: Determinism, found: Determinism, runs: int, of: int) -> Comparison:
    """A comparison of this run's class with the baseline's: a change, in either direction, is a difference.

    Args:
        buffer: its name.
        expected: the baseline's class.
        found: this run's.
        runs: how many runs it was judged by.
        of: elements in the buffer.
    """
    same = expected == found
    message = "" if same else f"over {runs} runs: {found}; the baseline: {expected}"
    return Comparison(
        buffer,
        "repeat",
        f"determinism: {expected}",
        same,
        found == "bitwise",
        of,
        message=message,
        numbers={"expected": expected, "found": found, "runs": runs},
    )
