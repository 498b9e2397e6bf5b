"""Symbols and special registers that a function refers to."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Function, Label, Operand, Symbol, Vector


def names_used(function: Function) -> set[str]:
    """The symbols among the operands of a function."""
    names: set[str] = set()
    for statement in function.body or ():
        if isinstance(statement, Label):
            continue
        operands = statement.operands if not isinstance(statement, Call) else (statement.callee,)
        for operand in operands:
            names |= _names(operand)
    return names


def uses_grid_barrier(function: Function) -> bool:
    """Whether a kernel reads the address of the grid's barrier, which cooperative groups keep in two registers."""
    return any(
        name in ("%envreg1", "%envreg2") for statement in function.body or () for name in effects.reads(statement)
    )


def uses_reserved_shared(function: Function) -> bool:
    """Whether a function reads the address of the shared memory that is reserved for the system."""
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
