"""Dispatch from an opcode to the function that lowers it.

The function is in `TABLE` of the family that `ptx.opcode_table` names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from gpuregress.virtual_gpu.ptx import opcode_table
from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction

Lowering = Callable[[Any, Instruction], None]


@cache
def family_table(family: str) -> dict[str, Lowering]:
    """The functions of one family (`arithmetic.bits`), by opcode."""
    table: dict[str, Lowering] = import_module(f"{__package__}.{family}").TABLE
    return table


def lowering(instruction: Instruction) -> Lowering:
    """The function that lowers an instruction.

    Raises:
        UnsupportedError: there is none; names the instruction and its line.
    """
    family = opcode_table.info(instruction).family
    if not family:
        raise unsupported(instruction)
    return family_table(family)[instruction.opcode]
