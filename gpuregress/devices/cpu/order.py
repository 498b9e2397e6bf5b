"""Another order of the blocks than the usual one, for whoever wants to know what depends on it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence

import numpy as np

from gpuregress.devices.cpu.machine.layout import Machine
from gpuregress.errors import UsageError

VARIABLE = "GPUREGRESS_CPU_BLOCK_ORDER"
"""The environment variable that says so: `reversed`, or `random:SEED`; not set: as they are numbered."""


def sequence(total: int) -> Sequence[int] | None:
    """The blocks' linear numbers in the order in which they run; None for the usual one.

    Args:
        total: blocks of the launch.

    Raises:
        UsageError: the variable says what is no order.
    """
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        return None
    if wanted == "reversed":
        return range(total - 1, -1, -1)
    match = re.fullmatch(r"random:(\d{1,18})", wanted)
    if match is None:
        raise UsageError(f"{VARIABLE} is {wanted!r}: reversed or random:SEED is needed")
    numbers: list[int] = np.random.default_rng(int(match[1])).permutation(total).tolist()
    return numbers


def run(function: Callable[[int], int], machine: Machine, numbers: Sequence[int]) -> tuple[int, Machine]:
    """Runs one block after another.

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
