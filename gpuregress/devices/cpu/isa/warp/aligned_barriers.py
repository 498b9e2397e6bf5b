"""Warp barriers after `.aligned` instructions, which a whole warp executes as one.

Here the lanes of a warp execute them one after the other. On a GPU no lane continues before all have read their
operands; without a barrier a lane could overwrite the operands of the next.
"""

from __future__ import annotations

from dataclasses import replace

from gpuregress.devices.cpu.ptx.opcode_table import info
from gpuregress.devices.cpu.ptx.tree import Function, Instruction, Integer, Module, Statement

_ALL_LANES = Integer(0xFFFF_FFFF)


def with_warp_barriers(tree: Module) -> Module:
    """The module with a `bar.warp.sync` after each `.aligned` matrix instruction that its lanes execute in turn."""
    return replace(tree, functions=tuple(map(_function, tree.functions)))


def _function(function: Function) -> Function:
    if not any(_needs_barrier(item) for item in function.body or ()):
        return function
    body: list[Statement] = []
    for statement in function.body or ():
        body.append(statement)
        if isinstance(statement, Instruction) and _needs_barrier(statement):
            operands = (_ALL_LANES,)
            body.append(replace(statement, opcode="bar", modifiers=("warp", "sync"), operands=operands))
    return replace(function, body=tuple(body))


def _needs_barrier(statement: Statement) -> bool:
    """Whether the lanes execute a statement one after the other, and a card all together."""
    return isinstance(statement, Instruction) and info(statement).is_aligned and not info(statement).uses_context
