"""Guarded barriers as branches: `@%p1 bar.sync 0` becomes a branch around `bar.sync 0`.

So the analysis of divergent barriers sees the lanes that skip it.
"""

from __future__ import annotations

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis.divergent_barriers import is_aligned_barrier
from gpuregress.virtual_gpu.ptx.tree import Function, Guard, Instruction, Label, Statement, Symbol


def with_branches_around_barriers(function: Function) -> Function:
    """Return the function with a branch around each aligned barrier that has a guard; itself, if there is none."""
    if not any(item.guard is not None and is_aligned_barrier(item) for item in function.body or ()):
        return function
    body: list[Statement] = []
    for index, item in enumerate(function.body or ()):
        if not isinstance(item, Instruction) or item.guard is None or not is_aligned_barrier(item):
            body.append(item)
            continue
        behind = f"behind_barrier.{index}"
        skips = Guard(item.guard.register, not item.guard.negated)
        branch = replace(item, opcode="bra", modifiers=(), operands=(Symbol(behind),), guard=skips)
        body += [branch, replace(item, guard=None), Label(behind, item.ptx_line)]
    return replace(function, body=tuple(body))
