"""Partition of a launch over cores, and the parallel run of its parts.

A launch is cut, along its slowest axis if that is even, into runs of blocks. The dependence test decides whether their
order can matter: then the launch stays whole.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise

import msgspec

from gpuregress.gpu.programs import Dim3
from gpuregress.virtual_gpu.parallel.affine import KernelLaunch, NotAffineError, Range
from gpuregress.virtual_gpu.parallel.dependence import DependenceTest
from gpuregress.virtual_gpu.runtime.machine_layout import Machine

MIN_THREADS = 1 << 14
"""Threads of a launch for which a further core pays; a 16th of them where the kernel has a loop."""
_MIN_FACTOR_FIRST = 16
"""Multiple of `MIN_THREADS` for which the test pays, some 0.5 ms, at a launch that may not be repeated."""
_MOST_KEPT = 4096
_EVEN = 9, 8
"""Largest ratio of the longest part to an even share before the cut goes through planes of the grid."""

Partition = list[tuple[int, int]]
"""(first block, end) of each part, by linear number, in order."""


def partition(launch: KernelLaunch, most: int) -> Partition:
    """Cut a launch into independent parts.

    Args:
        launch: the launch.
        most: parts, at most.

    Returns:
        one part where the order of the blocks may matter.
    """
    total = launch.blocks
    if launch.footprint is None or min(most, total) < 2 or not _is_worthwhile(launch):
        return [(0, total)]
    try:
        footprint = launch.footprint.footprint
    except msgspec.DecodeError:  # damaged in the cache: then the order of the blocks may matter
        return [(0, total)]
    try:
        test = DependenceTest(footprint, launch)
    except (NotAffineError, RecursionError):
        return [(0, total)]
    for count in _counts(min(most, total)):
        for parts in _candidates(launch.grid, count):
            if test.is_independent([_boxes(first, end, launch.grid) for first, end in parts]):
                return parts
    return [(0, total)]


class PartitionCache:
    """Partitions of the launches of loaded programs."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Dim3, Dim3, bytes, int], Partition | None] = {}

    def clear(self) -> None:
        """Forget all."""
        self._known.clear()

    def partition(self, kernel: str, launch: KernelLaunch, most_parts: Callable[[], int]) -> Partition:
        """Return `partition(launch, most)`; a launch that is not large is cut from its second time on.

        Args:
            kernel: identifies the kernel among those of all loaded programs.
            launch: the launch.
            most_parts: gives the largest number of parts.
        """
        if not _is_worthwhile(launch):
            return [(0, launch.blocks)]
        most = most_parts()
        key = (kernel, launch.grid, launch.block, launch.parameters, most)
        parts = self._known.get(key)
        if parts is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            if key not in self._known and not _is_worthwhile(launch, _MIN_FACTOR_FIRST):
                self._known[key] = None
                return [(0, launch.blocks)]
            parts = self._known[key] = partition(launch, most)
        return parts


def _is_worthwhile(launch: KernelLaunch, factor: int = 1) -> bool:
    if launch.footprint is None:
        return False
    threads = launch.blocks * math.prod(launch.block)
    if launch.footprint.has_loops:
        threads *= 16
    return threads >= factor * MIN_THREADS


def _candidates(grid: Dim3, count: int) -> Iterator[Partition]:
    """Partitions of a grid: into even parts first, then between the planes of its slowest axis."""
    axis = 2
    while axis and grid[axis] == 1:
        axis -= 1
    total, planes = math.prod(grid), grid[axis]
    most = -(-planes // count)
    if most * count * _EVEN[1] > planes * _EVEN[0]:
        yield list(pairwise(number * total // count for number in range(count + 1)))
    if planes >= count:
        yield list(pairwise(number * planes // count * (total // planes) for number in range(count + 1)))


def _boxes(first: int, end: int, grid: Dim3) -> list[dict[str, Range]]:
    """The blocks `first` to `end` (exclusive) as boxes."""
    boxes = _cover(first, end, (grid[2], grid[1], grid[0]))
    return [dict(zip(("ctaid.z", "ctaid.y", "ctaid.x"), box, strict=True)) for box in boxes]


def _cover(first: int, end: int, sizes: tuple[int, ...]) -> list[tuple[Range, ...]]:
    """Boxes that cover a range of linear numbers, slowest axis first."""
    if len(sizes) == 1:
        return [((first, end - 1),)]
    inner = sizes[1:]
    each = math.prod(inner)
    (low, start), (high, stop) = divmod(first, each), divmod(end, each)
    if low == high:
        return [((low, low), *box) for box in _cover(start, stop, inner)]
    boxes = []
    if start:
        boxes += [((low, low), *box) for box in _cover(start, each, inner)]
        low += 1
    if low < high:
        boxes.append(((low, high - 1), *((0, size - 1) for size in inner)))
    if stop:
        boxes += [((high, high), *box) for box in _cover(0, stop, inner)]
    return boxes


def _counts(most: int) -> list[int]:
    """Numbers of parts to try: a kernel that exchanges pairs (`i ^ 64`) can often be cut at powers of two only."""
    return sorted({most, 1 << most.bit_length() - 1, 2}, reverse=True)


def run_parallel(function: Callable[[int], int], machines: Sequence[Machine]) -> tuple[int, Machine]:
    """Run a kernel on several cores, the first part on this one; ctypes releases the interpreter's lock meanwhile.

    The threads of the other cores are kept from launch to launch: to wake one takes 20 µs, to start one 50.

    Returns:
        the status and the machine of the first part that failed; 0 and the first machine where none did. A part before
        it has run to its end, so that it is the same fault as on one core.
    """
    if len(machines) == 1:
        return function(ctypes.addressof(machines[0])), machines[0]
    status = [0] * len(machines)

    def work(number: int) -> None:
        status[number] = function(ctypes.addressof(machines[number]))

    others = [_pool(os.getpid(), len(machines) - 1).submit(work, number) for number in range(1, len(machines))]
    try:
        work(0)
    finally:
        wait(others)  # after ^C, too: the memory that they write to would be freed under them
    for other in others:
        other.result()
    for code, machine in zip(status, machines, strict=True):
        if code:
            return code, machine
    return 0, machines[0]


@functools.lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a forked process has no threads
    return ThreadPoolExecutor(threads, "core")
