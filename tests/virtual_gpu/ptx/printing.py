"""Texts of modules and kernels for the tests of the parser, and instructions printed back to text."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Float,
    Function,
    Instruction,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    Symbol,
    Vector,
)

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def kernel(body: str) -> Function:
    """A parsed kernel with a body."""
    return parse(f"{HEAD}.visible .entry k(.param .u64 k_param_0)\n{{\n{body}\n}}\n").functions[-1]


def only(body: str) -> Instruction:
    """The last instruction of a body."""
    statements = kernel(body).body
    assert statements is not None
    statement = statements[-1]
    assert isinstance(statement, Instruction)
    return statement


def function_text(instructions: Sequence[Instruction]) -> str:
    """A kernel with these instructions."""
    lines = "\n".join(f"  {_instruction(item)}" for item in instructions)
    return f".visible .entry k()\n{{\n{lines}\n}}\n"


def _instruction(item: Instruction) -> str:
    guard = f"@{'!' if item.guard.negated else ''}{item.guard.register} " if item.guard else ""
    return f"{guard}{item.mnemonic} {', '.join(_operand(operand) for operand in item.operands)};"


def _operand(item: Operand) -> str:
    if isinstance(item, Register):
        return item.name
    if isinstance(item, Integer):
        return str(item.value)
    if isinstance(item, Float):
        return f"0f{item.bits:08X}" if item.width == 32 else f"0d{item.bits:016x}"
    if isinstance(item, Symbol):
        return f"{item.name}{item.offset:+d}" if item.offset else item.name
    if isinstance(item, Address):
        return f"[{_operand(item.base)}+{item.offset}]"
    if isinstance(item, Vector):
        return "{" + ", ".join(_operand(element) for element in item.elements) + "}"
    if isinstance(item, Pair):
        return f"{_operand(item.first)}|{_operand(item.second)}"
    if isinstance(item, Negated):
        return f"!{item.operand.name}"
    if isinstance(item, Selected):
        return f"{item.register.name}.{item.part}"
    assert isinstance(item, Sink)
    return "_"
