"""Warp barriers after `.aligned` instructions, which a whole warp executes as one.

Here the lanes of a warp execute them one after the other. On a GPU no lane continues before all have read their
operands; without a barrier a lane could overwrite the operands of the next. No lane can where the next instruction with
an effect is one at which the whole warp waits: there the barrier is only counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Integer, Module, Statement

_ALL_LANES = Integer(0xFFFF_FFFF)


def with_warp_barriers(tree: Module) -> Module:
    """The module with a `bar.warp.sync` after each `.aligned` matrix instruction that its lanes execute in turn."""
    return replace(tree, functions=tuple(map(_function, tree.functions)))


def _function(function: Function) -> Function:
    statements = function.body or ()
    if not any(_needs_barrier(item) for item in statements):
        return function
    body: list[Statement] = []
    for index, statement in enumerate(statements):
        body.append(statement)
        if isinstance(statement, Instruction) and _needs_barrier(statement):
            is_implied = info(statement).results_in_context and _meets_again(statements, index + 1)
            words = ("warp", "implied" if is_implied else "sync")
            body.append(replace(statement, opcode="bar", modifiers=words, operands=(_ALL_LANES,)))
    return replace(function, body=tuple(body))


def _needs_barrier(statement: Statement) -> bool:
    """Whether the lanes execute a statement one after the other, and a card all together."""
    return isinstance(statement, Instruction) and info(statement).is_aligned and not info(statement).operands_in_context


def _meets_again(statements: Sequence[Statement], start: int) -> bool:
    """Whether the lanes wait for their whole warp before they do anything but compute and read."""
    for statement in islice(statements, start, None):
        if not isinstance(statement, Instruction):
            return False
        facts = info(statement)
        if statement.guard is None and facts.is_aligned and facts.wait is Wait.WARP:
            return True
        is_quiet = facts.memory in (MemoryEffect.NONE, MemoryEffect.READ) and not facts.crosses_blocks
        if not is_quiet or facts.control is not Control.NEXT or facts.wait is not Wait.NONE:
            return False
    return False
