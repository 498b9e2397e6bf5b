"""Which blocks of a launch may run side by side, and the parts that several cores take.

A launch is cut, along its slowest axis if that is even, into runs of blocks: boxes. The formulas of the kernel's
footprint say which bytes each box may touch, exactly or more than it does. Where no part touches what another one
writes, their order cannot matter.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

from gpuregress.devices.cpu.parallel.affine_expressions import NotUnderstoodError
from gpuregress.devices.cpu.parallel.dependence import Apart, Places
from gpuregress.devices.cpu.parallel.footprint_evaluation import Footprint
from gpuregress.devices.cpu.runtime.layout import Machine
from gpuregress.records import Dim3

SMALLEST = 1 << 14
"""Threads in a launch from which on a further core pays; a 16th of them where the kernel has a loop."""
_LARGE = 16
"""Times as many from which on it pays to work out the cut, 1/2 ms or so, for a launch that may not come again."""
_MOST_KEPT = 4096
_EVEN = 9, 8
"""The longest of the parts may have so many times its share of the blocks before planes are cut through."""


def parts(
    footprint: Footprint | None,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    places: Places,
    most: int,
) -> list[tuple[int, int]]:
    """Cuts a launch.

    Args:
        footprint: the kernel's, as `lower.footprint` made it.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        parameters: the argument bytes.
        places: what addresses, handles and names stand for.
        most: parts, at most.

    Returns:
        (first block, end) of each part, by linear number, in order; one part where the order of the blocks may matter.
    """
    total = grid[0] * grid[1] * grid[2]
    whole = [(0, total)]
    axis = max(number for number in range(3) if grid[number] > 1 or number == 0)
    if footprint is None or min(most, total) < 2 or not _pays(footprint, total, block):
        return whole
    try:
        apart = Apart(footprint, _ranges(grid, block), parameters, places)
    except (NotUnderstoodError, RecursionError):
        return whole
    for count in _counts(min(most, total)):
        for found in _cuts(grid, axis, count):
            if apart.parts([_boxes(first, end, grid) for first, end in found]):
                return found
    return whole


class Cuts:
    """How the launches of loaded programs are cut, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[Any, list[tuple[int, int]] | None] = {}

    def clear(self) -> None:
        """Forgets all."""
        self._known.clear()

    def parts(
        self,
        kernel: str,
        footprint: Footprint | None,
        grid: Dim3,
        block: Dim3,
        parameters: bytes,
        places: Places,
        most: int,
    ) -> list[tuple[int, int]]:
        """As `parts`; `kernel` tells the kernels of all loaded programs apart.

        A launch that is not large is cut when it comes the second time.
        """
        total = grid[0] * grid[1] * grid[2]
        if footprint is None or not _pays(footprint, total, block):
            return [(0, total)]
        key = (kernel, grid, block, parameters, most)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            if key not in self._known and not _pays(footprint, total, block, _LARGE):
                self._known[key] = None
                return [(0, total)]
            found = self._known[key] = parts(footprint, grid, block, parameters, places, most)
        return found


def _pays(footprint: Footprint, blocks: int, block: Dim3, times: int = 1) -> bool:
    threads = blocks * block[0] * block[1] * block[2]
    return threads * (16 if footprint["has_loops"] else 1) >= times * SMALLEST


def _cuts(grid: Dim3, axis: int, count: int) -> Iterator[list[tuple[int, int]]]:
    """Ways to cut a grid into parts of its blocks: even ones first, then between the planes of its slowest axis."""
    total = grid[0] * grid[1] * grid[2]
    each, planes = total // grid[axis], grid[axis]
    most = -(-planes // count)
    if most * count * _EVEN[1] > planes * _EVEN[0]:
        yield list(pairwise(number * total // count for number in range(count + 1)))
    if planes >= count:
        yield list(pairwise(number * planes // count * each for number in range(count + 1)))


def _boxes(first: int, end: int, grid: Dim3) -> list[dict[str, tuple[int, int]]]:
    """The blocks `first` to `end` (exclusive) as boxes: each coordinate's least and greatest value."""
    return [
        {f"ctaid.{axis}": place for axis, place in zip("zyx", box, strict=True)}
        for box in _covered(first, end, (grid[2], grid[1], grid[0]))
    ]


def _covered(first: int, end: int, sizes: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    if len(sizes) == 1:
        return [((first, end - 1),)]
    inner = sizes[1:]
    each = math.prod(inner)
    (low, start), (high, rest) = divmod(first, each), divmod(end, each)
    if low == high:
        return [((low, low), *box) for box in _covered(start, rest, inner)]
    found = []
    if start:
        found += [((low, low), *box) for box in _covered(start, each, inner)]
        low += 1
    if low < high:
        found.append(((low, high - 1), *((0, size - 1) for size in inner)))
    if rest:
        found += [((high, high), *box) for box in _covered(0, rest, inner)]
    return found


def _counts(most: int) -> list[int]:
    """How many parts to try: what changes pairs of places (`i ^ 64`) can often be cut at powers of two only."""
    return sorted({most, 1 << most.bit_length() - 1, 2}, reverse=True)


def run(function: Callable[[int], int], machines: Sequence[Machine]) -> tuple[int, Machine]:
    """Runs a kernel on several cores, the first part on this one; ctypes gives the interpreter's lock away meanwhile.

    The other cores' threads are kept from launch to launch: to wake one takes 20 µs, to start one 50.

    Returns:
        the status and the machine of the first part that failed; 0 and the first machine where none did. A part before
        it has run to its end, so that it is the same fault as on one core.
    """
    status = [0] * len(machines)

    def work(number: int) -> None:
        status[number] = function(ctypes.addressof(machines[number]))

    others = [_pool(os.getpid(), len(machines) - 1).submit(work, number) for number in range(1, len(machines))]
    try:
        work(0)
    finally:
        wait(others)  # after ^C, too: what they write to would be freed under them
    for other in others:
        other.result()
    failed = next((number for number, item in enumerate(status) if item), 0)
    return status[failed], machines[failed]


@functools.lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a forked process has no threads
    return ThreadPoolExecutor(threads, "core")


def _ranges(grid: Dim3, block: Dim3) -> dict[str, tuple[int, int]]:
    """Each coordinate's least and greatest value in a launch."""
    found = {}
    for number, name in enumerate("xyz"):
        found[f"tid.{name}"] = 0, block[number] - 1
        found[f"ctaid.{name}"] = 0, grid[number] - 1
        found[f"ntid.{name}"] = block[number], block[number]
        found[f"nctaid.{name}"] = grid[number], grid[number]
    return found
