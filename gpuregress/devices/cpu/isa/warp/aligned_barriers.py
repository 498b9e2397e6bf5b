"""Instructions that a whole warp executes as one get a meeting of the warp behind them.

The lanes of a warp read what the others showed (`matrix`), or memory, one after the other. On a GPU no lane goes on
before all have read; here one could, and overwrite what the next is about to read.
"""

from __future__ import annotations

from dataclasses import replace

from gpuregress.devices.cpu.ptx.opcodes import info
from gpuregress.devices.cpu.ptx.tree import Function, Instruction, Integer, Module, Statement

_EVERYONE = Integer(0xFFFF_FFFF)


def meeting(tree: Module) -> Module:
    """The module with a `bar.warp.sync` behind each `.aligned` exchange."""
    return replace(tree, functions=tuple(_function(item) for item in tree.functions))


def _function(function: Function) -> Function:
    if not any(_needs_meeting(item) for item in function.body or ()):
        return function
    body: list[Statement] = []
    for statement in function.body or ():
        body.append(statement)
        if isinstance(statement, Instruction) and _needs_meeting(statement):
            operands = (_EVERYONE,)
            body.append(replace(statement, opcode="bar", modifiers=("warp", "sync"), operands=operands))
    return replace(function, body=tuple(body))


def _needs_meeting(statement: Statement) -> bool:
    return isinstance(statement, Instruction) and info(statement).is_aligned
