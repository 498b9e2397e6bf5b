"""Which blocks of a launch may run side by side, and the parts that several cores take.

A launch is cut along its slowest axis into boxes of blocks. The formulas of the kernel's footprint say which bytes each
box may touch, exactly or more than it does. Where no box touches what another one writes, the order of the boxes cannot
matter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Thread

from gpuregress.devices.cpu.apart import Apart
from gpuregress.devices.cpu.formulas import Footprint, NotUnderstoodError
from gpuregress.devices.cpu.machine.layout import Machine
from gpuregress.devices.cpu.machine.memory import AddressSpace
from gpuregress.devices.cpu.machine.textures import Textures
from gpuregress.records import Dim3

SMALLEST = 1 << 14
"""Threads in a launch from which on a further core pays."""


def parts(
    footprint: Footprint | None,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    space: AddressSpace,
    textures: Textures,
    most: int,
) -> list[tuple[int, int]]:
    """Cuts a launch.

    Args:
        footprint: the kernel's, as `lower.footprint` made it.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        parameters: the argument bytes.
        space: where the buffers are.
        textures: what handles of textures and surfaces stand for.
        most: parts, at most.

    Returns:
        (first block, end) of each part, by linear number, in order; one part where the order of the blocks may matter.
    """
    total = grid[0] * grid[1] * grid[2]
    whole = [(0, total)]
    axis = max(number for number in range(3) if grid[number] > 1 or number == 0)
    if footprint is None or min(most, grid[axis]) < 2 or total * block[0] * block[1] * block[2] < SMALLEST:
        return whole
    try:
        apart = Apart(footprint, _ranges(grid, block), parameters, space, textures)
    except NotUnderstoodError:
        return whole
    each = total // grid[axis]
    for count in _counts(min(most, grid[axis])):
        cuts = [number * grid[axis] // count for number in range(count + 1)]
        if apart.parts([{f"ctaid.{'xyz'[axis]}": (first, end - 1)} for first, end in pairwise(cuts)]):
            return [(first * each, end * each) for first, end in pairwise(cuts)]
    return whole


def _counts(most: int) -> list[int]:
    """How many parts to try: what changes pairs of places (`i ^ 64`) can often be cut at powers of two only."""
    return sorted({most, 1 << most.bit_length() - 1, 2}, reverse=True)


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


def _ranges(grid: Dim3, block: Dim3) -> dict[str, tuple[int, int]]:
    """Each coordinate's least and greatest value in a launch."""
    found = {}
    for number, name in enumerate("xyz"):
        found[f"tid.{name}"] = 0, block[number] - 1
        found[f"ctaid.{name}"] = 0, grid[number] - 1
        found[f"ntid.{name}"] = block[number], block[number]
        found[f"nctaid.{name}"] = grid[number], grid[number]
    return found
