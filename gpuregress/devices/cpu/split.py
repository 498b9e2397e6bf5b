"""Which blocks of a launch may run side by side, and the parts that several cores take.

A launch is cut along its slowest axis into boxes of blocks. The formulas of the kernel's footprint say which bytes each
box may touch, exactly or more than it does. Where no box touches what another one writes, the order of the boxes cannot
matter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Thread
from typing import Any

from gpuregress.devices.cpu.machine.layout import Machine
from gpuregress.devices.cpu.machine.memory import AddressSpace
from gpuregress.records import Dim3

SMALLEST = 1 << 14
"""Threads in a launch from which on a further core pays."""

_Ranges = dict[str, tuple[int, int]]


def parts(
    footprint: Sequence[Sequence[Any]] | None,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    space: AddressSpace,
    most: int,
) -> list[tuple[int, int]]:
    """Cuts a launch.

    Args:
        footprint: the kernel's, as `lower.footprint` made it.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        parameters: the argument bytes.
        space: where the buffers are.
        most: parts, at most.

    Returns:
        (first block, end) of each part, by linear number, in order; one part where the order of the blocks may matter.
    """
    total = grid[0] * grid[1] * grid[2]
    whole = [(0, total)]
    if footprint is None or most < 2 or total * block[0] * block[1] * block[2] < SMALLEST:
        return whole
    axis = max(number for number in range(3) if grid[number] > 1 or number == 0)
    count = min(most, grid[axis])
    cuts = [number * grid[axis] // count for number in range(count + 1)]
    boxes = [_ranges(grid, block, axis, first, end) for first, end in pairwise(cuts)]
    everything = _ranges(grid, block, axis, 0, grid[axis])
    try:
        touched = [_touched(footprint, box, everything, parameters, space) for box in boxes]
    except _UnevenError:
        return whole
    if count < 2 or _clash(touched):
        return whole
    each = total // grid[axis]
    return [(first * each, end * each) for first, end in pairwise(cuts)]


def run(function: Callable[[int], int], machines: Sequence[Machine]) -> tuple[int, Machine]:
    """Runs a kernel on several cores, the first part on this one; ctypes gives the interpreter's lock away meanwhile.

    Returns:
        the status and the machine of the first part that failed; 0 and the first machine where none did. A part before
        it has run to its end, so that it is the same fault as on one core.
    """
    status = [0] * len(machines)

    def work(number: int) -> None:
        status[number] = function(ctypes.addressof(machines[number]))

    threads = [Thread(target=work, args=(number,)) for number in range(1, len(machines))]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    failed = next((number for number, item in enumerate(status) if item), 0)
    return status[failed], machines[failed]


def _ranges(grid: Dim3, block: Dim3, axis: int, first: int, end: int) -> _Ranges:
    """Each coordinate's least and greatest value in the blocks `first` to `end` (exclusive) along an axis."""
    found: _Ranges = {}
    for number, name in enumerate("xyz"):
        found[f"tid.{name}"] = (0, block[number] - 1)
        found[f"ctaid.{name}"] = (first, end - 1) if number == axis else (0, grid[number] - 1)
        found[f"ntid.{name}"] = (block[number], block[number])
        found[f"nctaid.{name}"] = (grid[number], grid[number])
    return found


@dataclass(slots=True)
class _Touched:
    """The bytes that a box of blocks may touch: [first, end) each."""

    written: list[tuple[int, int]] = field(default_factory=list)
    read: list[tuple[int, int]] = field(default_factory=list)


def _touched(
    footprint: Sequence[Sequence[Any]], box: _Ranges, everything: _Ranges, parameters: bytes, space: AddressSpace
) -> _Touched:
    found = _Touched()
    for entry in footprint:
        if entry[0] == "somewhere":
            found.read += _buffers(entry[1], parameters, space)
            continue
        value = _value(entry[2], everything, parameters)
        low, high = value.extremes(everything)
        if not 0 <= low <= high < 1 << 63:
            raise _UnevenError
        low, high = value.extremes(box)
        (found.written if entry[0] == "write" else found.read).append((low, high + entry[1]))
    return found


def _buffers(offsets: Sequence[int], parameters: bytes, space: AddressSpace) -> list[tuple[int, int]]:
    found = []
    for offset in offsets:
        region = space.find(int.from_bytes(parameters[offset : offset + 8], "little"))
        if region is not None:
            found.append((region.address, region.address + region.size))
    return found


def _clash(touched: Sequence[_Touched]) -> bool:
    """Whether one part touches what another one writes."""
    return any(
        first < other_end and other_first < end
        for number, part in enumerate(touched)
        for other in (*touched[:number], *touched[number + 1 :])
        for first, end in part.written
        for other_first, other_end in (*other.written, *other.read)
    )


class _UnevenError(Exception):
    """A formula does not grow evenly over the launch: 32 bits wrap around, or two coordinates are multiplied."""


@dataclass(frozen=True, slots=True)
class _Even:
    """A constant and a factor for each coordinate."""

    constant: int
    factors: Mapping[str, int]

    def extremes(self, ranges: _Ranges) -> tuple[int, int]:
        """Its least and greatest value."""
        low = high = self.constant
        for name, factor in self.factors.items():
            ends = (factor * ranges[name][0], factor * ranges[name][1])
            low, high = low + min(ends), high + max(ends)
        return low, high

    def plus(self, other: _Even, times: int = 1) -> _Even:
        """This and so many times the other."""
        factors = dict(self.factors)
        for name, factor in other.factors.items():
            factors[name] = factors.get(name, 0) + times * factor
        return _Even(self.constant + times * other.constant, factors)


_ZERO = _Even(0, {})


def _value(formula: Sequence[Any], ranges: _Ranges, parameters: bytes) -> _Even:
    """A formula under a launch's numbers."""
    kind = formula[0]
    if kind == "c":
        return _Even(formula[1], {})
    if kind == "x":
        low, high = ranges[formula[1]]
        return _Even(low, {}) if low == high else _Even(0, {formula[1]: 1})
    if kind == "p":
        return _Even(int.from_bytes(parameters[formula[1] : formula[1] + formula[2]], "little", signed=True), {})
    if kind == "widen":
        value = _value(formula[2], ranges, parameters)
        low, high = value.extremes(ranges)
        least, most = (-(1 << 31), 1 << 31) if formula[1] else (0, 1 << 32)
        if low < least or high >= most:
            raise _UnevenError
        return value
    left, right = (_value(item, ranges, parameters) for item in formula[1:])
    if kind in ("+", "-"):
        return left.plus(right, 1 if kind == "+" else -1)
    if right.factors:
        left, right = right, left
    if right.factors:
        raise _UnevenError
    return _ZERO.plus(left, right.constant)
