"""Architectures that the form of a PTX instruction needs, read from the table of architectures."""

from __future__ import annotations

import re

from gpuregress.gpu.architecture_names import number
from gpuregress.gpu.architectures import ARCHITECTURES
from gpuregress.virtual_gpu.ptx.opcode_table import info
from gpuregress.virtual_gpu.ptx.tree import Instruction

_FORMS = {row.name: re.compile(row.forms) for row in ARCHITECTURES if row.forms}
_REGISTERS = {row.name: re.compile(row.special_registers) for row in ARCHITECTURES if row.special_registers}


def supports(target: str, needed: str) -> bool:
    """Whether code for `target` may use what `needed` introduced; `sm_90a` stands for itself alone."""
    return target == needed if needed[-1].isalpha() else number(target) >= number(needed)


def needed_target(instruction: Instruction, registers: tuple[str, ...]) -> str:
    """The first architecture that has an instruction; "" where all have it.

    Args:
        instruction: any.
        registers: the names of the registers that it reads.
    """
    mnemonic = instruction.mnemonic
    needed = [info(instruction).since]
    needed += [target for target, pattern in _FORMS.items() if pattern.search(mnemonic)]
    needed += [target for target, pattern in _REGISTERS.items() if any(map(pattern.match, registers))]
    return max(needed, key=number)
