"""Constant propagation into the divisors of approximate divisions.

ptxas multiplies by the correctly rounded reciprocal of a divisor that it knows, in place of the special-function
unit's. So the divisor has to be a constant of the instruction before it is lowered.
"""

from __future__ import annotations

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis.control_flow_graph import single_definitions
from gpuregress.virtual_gpu.ptx.modifiers import type_of
from gpuregress.virtual_gpu.ptx.tree import Float, Function, Instruction, Integer, Module, Operand, Register, Statement

_DIVISOR = {"div": 2, "rcp": 1}


def with_constant_divisors(tree: Module) -> Module:
    """The module with registers that hold one constant replaced by it where they are divisors."""
    return replace(tree, functions=tuple(map(_propagated, tree.functions)))


def _propagated(function: Function) -> Function:
    body = function.body or ()
    if not any(_is_approximate(item) for item in body):
        return function
    definitions = single_definitions(body)
    return replace(function, body=tuple(_with_constant(item, definitions) for item in body))


def _is_approximate(item: Statement) -> bool:
    if not isinstance(item, Instruction) or item.opcode not in _DIVISOR or type_of(item) != "f32":
        return False
    return not {"approx", "full"}.isdisjoint(item.modifiers)


def _with_constant(item: Statement, definitions: dict[str, Instruction]) -> Statement:
    if not isinstance(item, Instruction) or not _is_approximate(item):
        return item
    place = _DIVISOR[item.opcode]
    found = _constant(item.operands[place], definitions)
    return replace(item, operands=(*item.operands[:place], found, *item.operands[place + 1 :])) if found else item


def _constant(operand: Operand, definitions: dict[str, Instruction]) -> Float | None:
    """The constant that a register holds."""
    for _ in definitions:
        made = definitions.get(operand.name) if isinstance(operand, Register) else None
        if made is None or made.opcode != "mov":
            break
        operand = made.operands[1]
        if isinstance(operand, Integer) and type_of(made) in ("b32", "s32", "u32"):
            return Float(operand.value & 0xFFFFFFFF, 32)
    return operand if isinstance(operand, Float) else None
