"""Which names a function's statements mention."""

from __future__ import annotations

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.ptx.tree import Address, Call, Function, Label, Operand, Symbol, Vector


def names_used(function: Function) -> set[str]:
    """The symbols in a function's operands."""
    found: set[str] = set()
    for statement in function.body or ():
        if isinstance(statement, Label):
            continue
        operands = statement.operands if not isinstance(statement, Call) else (statement.callee,)
        for operand in operands:
            found |= _names(operand)
    return found


def knows_its_grid(function: Function) -> bool:
    """Whether a kernel looks for the grid's barrier, whose address cooperative groups find in two registers."""
    return any(
        name in ("%envreg1", "%envreg2") for statement in function.body or () for name in effects.reads(statement)
    )


def uses_reserved_shared(function: Function) -> bool:
    """Whether a function looks for the shared memory that lies before all variables, and belongs to the system."""
    return any(
        name.startswith("%reserved_smem_offset")
        for statement in function.body or ()
        for name in effects.reads(statement)
    )


def _names(operand: Operand) -> set[str]:
    if isinstance(operand, Symbol):
        return {operand.name}
    if isinstance(operand, Address):
        return {operand.base.name} if isinstance(operand.base, Symbol) else set()
    if isinstance(operand, Vector):
        return {name for item in operand.elements for name in _names(item)}
    return set()
