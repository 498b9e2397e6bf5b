"""Comparisons of an index with its limit: `if (i < n)`.

An index is a value that a thread's or a block's number is part of. Comparisons that decide about a loop are left out:
its iterations are counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, single_definitions
from gpuregress.virtual_gpu.counters.origins import NONE, Origins, find_origins, number_of, parameter_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand, Register

_ORDERS = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_TYPES = frozenset(["s16", "u16", "s32", "u32", "s64", "u64"])


class IndexBound(Record):
    """A comparison of an index with a limit.

    Attributes:
        order: `lt`, `le`, `gt` or `ge`, the index on the left.
        index: operand.
        limit: operand.
        type_name: of both, as `s32`.
        index_name: the numbers that the index comes from, `blockIdx.x threadIdx.x`.
        limit_name: `1024`, `args[2]`, "" for another value.
    """

    order: str
    index: Operand
    limit: Operand
    type_name: str
    index_name: str
    limit_name: str


def find_bounds(flow: ControlFlowGraph, deciding: set[int]) -> dict[int, IndexBound]:
    """Find the comparisons of indices that guard something.

    Args:
        flow: the function's.
        deciding: blocks whose branch decides about a loop.

    Returns:
        statement → comparison.
    """
    indices, guards, parameters = _indices(flow), _guards(flow, deciding), _parameters(flow)
    found: dict[int, IndexBound] = {}
    for at, statement in enumerate(flow.statements):
        if not isinstance(statement, Instruction) or statement.opcode != "setp":
            continue
        order, type_name = _ORDERS.get(statement.modifiers[0]), statement.modifiers[-1]
        if order is None or type_name not in _TYPES or guards.isdisjoint(effects.sets(statement)):
            continue
        left, right = statement.operands[1:3]
        names = [_of(item.name, indices) if isinstance(item, Register) else frozenset() for item in (left, right)]
        if not names[0] and names[1]:
            left, right, names, order = right, left, names[::-1], _MIRRORED[order]
        if names[0]:
            limit = str(right.value) if isinstance(right, Integer) else ""
            limit = parameters.get(right.name, "") if isinstance(right, Register) else limit
            found[at] = IndexBound(order, left, right, type_name, " ".join(sorted(names[0])), limit)
    return found


def _of(name: str, indices: Mapping[str, Origins]) -> Origins:
    """The numbers of threads and blocks that a register is computed from."""
    return number_of(name) or indices.get(name, NONE)


def _indices(flow: ControlFlowGraph) -> Mapping[str, Origins]:
    """The registers that are computed from numbers of threads and blocks, without memory and floating point."""
    return find_origins(
        item
        for item in flow.statements
        if isinstance(item, Instruction)
        and info(item).result is ResultKind.PURE
        and info(item).memory is MemoryEffect.NONE
        and not any(word.startswith(("f", "bf", "tf")) for word in item.modifiers)
    )


def _parameters(flow: ControlFlowGraph) -> dict[str, str]:
    """The registers that hold a kernel's parameter as it is, as `args[2]`."""
    named = {name: parameter_of(item) for name, item in single_definitions(flow.statements).items()}
    return {name: parameter for name, parameter in named.items() if parameter}


def _guards(flow: ControlFlowGraph, deciding: set[int]) -> set[str]:
    """The predicates that guard an instruction, directly or through logic, but for those of loops."""
    ends = {flow.blocks[block].end - 1 for block in deciding}
    guards = {
        statement.guard.register
        for at, statement in enumerate(flow.statements)
        if statement.guard is not None and at not in ends
    }
    before = -1
    while len(guards) != before:
        before = len(guards)
        for statement in flow.statements:
            is_logic = isinstance(statement, Instruction) and statement.modifiers[-1:] == ("pred",)
            if is_logic and not guards.isdisjoint(effects.sets(statement)):
                guards.update(effects.reads(statement))
    return guards
