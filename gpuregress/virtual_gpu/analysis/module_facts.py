"""Symbols and special registers that a function refers to."""

from __future__ import annotations

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.gpu.programs import Dim3
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Function, Label, Operand, Symbol, Vector


def names_used(function: Function) -> set[str]:
    """The symbols among the operands of a function."""
    names: set[str] = set()
    for statement in function.body or ():
        if isinstance(statement, Label):
            continue
        for operand in (statement.callee,) if isinstance(statement, Call) else statement.operands:
            names |= _names(operand)
    return names


def uses_grid_barrier(function: Function) -> bool:
    """Whether a kernel reads the address of the grid's barrier, which cooperative groups keep in two registers."""
    return not effects.registers_read(function.body or ()).isdisjoint(["%envreg1", "%envreg2"])


def uses_reserved_shared(function: Function) -> bool:
    """Whether a function reads the address of the shared memory that is reserved for the system."""
    return any(name.startswith("%reserved_smem_offset") for name in effects.registers_read(function.body or ()))


def _names(operand: Operand) -> set[str]:
    if isinstance(operand, Symbol):
        return {operand.name}
    if isinstance(operand, Address):
        return _names(operand.base)
    if isinstance(operand, Vector):
        return set().union(*map(_names, operand.elements))
    return set()


# --- cluster size -----------------------------------------------------------------------------------------------------
# Cluster dimensions that a kernel's directives demand.
#
# PTX ISA manual, 11.7 "Cluster Dimension Directives".


def cluster_size(function: Function) -> Dim3:
    """Blocks of a cluster along x, y, z; all 1 without a directive."""
    x, y, z = (*function.directives.get("reqnctapercluster", ()), 1, 1, 1)[:3]
    return (x, y, z)


def is_clustered(function: Function) -> bool:
    """Whether a function is a kernel whose clusters have more than one block."""
    return cluster_size(function) != (1, 1, 1)


def is_explicit(function: Function) -> bool:
    """Whether the kernel demands a launch in clusters."""
    return "explicitcluster" in function.directives or "reqnctapercluster" in function.directives


def check_cluster(function: Function) -> None:
    """Refuse a kernel whose cluster size is left to the launch.

    Raises:
        UnsupportedError: the kernel has no cluster size of its own.
    """
    if "explicitcluster" in function.directives and "reqnctapercluster" not in function.directives:
        raise UnsupportedError(
            f"{function.name} takes the size of its clusters from the launch, and launches here have none: "
            "write it in the source, __cluster_dims__(x, y, z)"
        )
