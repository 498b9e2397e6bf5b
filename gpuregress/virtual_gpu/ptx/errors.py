"""Errors about PTX that the CPU device cannot translate."""

from __future__ import annotations

import traceback

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction

NOT_UNDERSTOOD = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What a pass raises for operands that it does not expect. Only the assembler knows all forms of every instruction."""


def unsupported(instruction: Instruction, why: str = "") -> UnsupportedError:
    """The error for an unsupported instruction, or form of one."""
    where = str(instruction.source) if instruction.source else f"PTX line {instruction.ptx_line}"
    reason = f": {why}" if why else ""
    return UnsupportedError(f"{instruction.mnemonic} at {where} is not supported by the cpu device{reason}")


def not_understood(error: BaseException) -> UnsupportedError:
    """The error for the statement that a pass had in hand when it raised one of `NOT_UNDERSTOOD`."""
    held: Instruction | Call | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        statements = (value for value in frame.f_locals.values() if isinstance(value, Instruction | Call))
        held = next(statements, held)
    if held is None:
        return UnsupportedError(f"this PTX is not understood by the cpu device: {type(error).__name__}: {error}")
    if isinstance(held, Call):
        held = Instruction("call", (), (), None, held.ptx_line, held.source)
    return unsupported(held, f"its form is not understood ({type(error).__name__}: {error})")
