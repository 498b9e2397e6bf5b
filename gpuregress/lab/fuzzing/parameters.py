"""Boundary values of numeric parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from gpuregress.foundation.records import Case

Number = int | float

_FLOATS = (0.0, 1.0, -1.0)


def edges(own: Sequence[Number], blocks: Iterable[int]) -> tuple[Number, ...]:
    """Values at which kernels go wrong, without the job's own: the most telling first.

    Args:
        own: the values that the job names, all of one parameter.
        blocks: threads of the job's blocks, along each axis and together.
    """
    if not all(isinstance(value, int) for value in own):
        return tuple(value for value in _FLOATS if value not in own)
    whole, sizes = [int(value) for value in own], sorted({size for size in blocks if size > 1})
    low, high = least(whole), most(whole, sizes)
    found = dict.fromkeys(_ordered(whole, sizes, high))
    return tuple(value for value in found if low <= value <= high and value not in whole)


def _ordered(own: Sequence[int], blocks: Sequence[int], high: int) -> Iterator[int]:
    yield from (0, 1)
    for value in own:
        yield from (value - 1, value + 1)
    for block in blocks:
        yield from (block - 1, block + 1, block, block + block // 2 + 1, 2 * block - 1, 2 * block + 1, 2 * block)
    yield from (2, 3, -1)
    for exponent in range(high.bit_length() - 1, 1, -1):
        yield from (2**exponent + 1, 2**exponent - 1, 2**exponent)


def least(own: Iterable[int]) -> int:
    """The smallest value that is tried: negative only where one of the job's own is."""
    return min(0, *(value - 1 if value < 0 else 0 for value in own))


def most(own: Iterable[int], blocks: Iterable[int]) -> int:
    """The largest value that is tried, so that no case becomes far slower than the job's own."""
    return max(2 * max(own, default=0), *(2 * block + 1 for block in blocks), 1)


def blocks(case: Case) -> frozenset[int]:
    """Threads of a case's blocks, along each axis and together."""
    sizes = {size for launch in case.launches for size in (*launch.block, math.prod(launch.block))}
    return frozenset(size for size in sizes if size > 1)
