"""Errors about PTX that the CPU device cannot translate."""

from __future__ import annotations

from gpuregress.devices.cpu.ptx.tree import Instruction
from gpuregress.errors import UnsupportedError


def unsupported(instruction: Instruction, why: str = "") -> UnsupportedError:
    """The error for an unsupported instruction, or form of one."""
    where = str(instruction.source) if instruction.source else f"PTX line {instruction.ptx_line}"
    reason = f": {why}" if why else ""
    return UnsupportedError(f"{instruction.mnemonic} at {where} is not supported by the cpu device{reason}")
