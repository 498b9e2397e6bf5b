"""Order of a launch's blocks, and of a block's threads; the runs of a case differ in it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence

import numpy as np

from gpuregress.gpu.errors import UsageError
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.machine_layout import Machine

VARIABLE = "GPUREGRESS_CPU_BLOCK_ORDER"
"""Environment variable with the order: `reversed`, or `random:SEED`; not set: as they are numbered."""
REVERSED = "reversed"


class Order(Record):
    """The order of one run of a case.

    Attributes:
        blocks: "" as they are numbered, `reversed`, or `random:SEED`.
        last_first: whether a block's threads take turns from the last to the first.
    """

    blocks: str = ""
    last_first: bool = False

    def __str__(self) -> str:
        """`usual`, `blocks random:2`, `blocks and threads reversed`."""
        if self.last_first and self.blocks == REVERSED:
            return "blocks and threads reversed"
        threads = ", threads reversed" if self.last_first else ""
        return f"blocks {self.blocks}{threads}" if self.blocks else "usual"


def of_run(number: int) -> Order:
    """Return the order of a run, from 0: the usual one, all reversed, then random blocks with threads both ways."""
    if number == 0:
        return Order(os.environ.get(VARIABLE, ""))
    if number == 1:
        return Order(REVERSED, last_first=True)
    return Order(f"random:{number - 1}", last_first=number % 2 == 1)


def sequence(total: int, blocks: str) -> Sequence[int] | None:
    """Return the blocks' linear numbers in the order in which they run; None for the usual one.

    Args:
        total: blocks of the launch.
        blocks: an order of them, as `Order` has it.

    Raises:
        UsageError: there is no such order.
    """
    if not blocks:
        return None
    if blocks == REVERSED:
        return range(total - 1, -1, -1)
    match = re.fullmatch(r"random:(\d{1,18})", blocks)
    if match is None:
        raise UsageError(f"{VARIABLE} is {blocks!r}: reversed or random:SEED is needed")
    numbers: list[int] = np.random.default_rng(int(match[1])).permutation(total).tolist()
    return numbers


def run_in_order(function: Callable[[int], int], machine: Machine, numbers: Sequence[int]) -> tuple[int, Machine]:
    """Run one block after another.

    Args:
        function: the compiled kernel.
        machine: the launch's.
        numbers: of the blocks.

    Returns:
        the status of the first block that failed, or 0, and the machine.
    """
    for number in numbers:
        machine.first_block, machine.end_block = number, number + 1
        status = function(ctypes.addressof(machine))
        if status:
            return status, machine
    return 0, machine
