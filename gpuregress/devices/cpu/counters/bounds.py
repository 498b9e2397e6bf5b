"""Comparisons of an index with its limit: `if (i < n)`.

An index is a value that a thread's or a block's number is part of. Comparisons that decide about a loop are left out:
its iterations are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.analysis.control_flow_graph import ControlFlowGraph, single_definitions
from gpuregress.devices.cpu.ptx.opcode_table import MemoryEffect, ResultKind, info
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol

_NUMBERS = {
    "tid": "threadIdx",
    "ctaid": "blockIdx",
    "laneid": "lane",
    "warpid": "warp",
    "clusterid": "cluster",
    "cluster_ctaid": "block of the cluster",
}
_NONE: frozenset[str] = frozenset()
_ORDERS = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_TYPES = frozenset(["s16", "u16", "s32", "u32", "s64", "u64"])


@dataclass(frozen=True, slots=True)
class IndexBound:
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


def _of(name: str, indices: dict[str, frozenset[str]]) -> frozenset[str]:
    """The numbers of threads and blocks that a register is computed from."""
    special, _, axis = name.lstrip("%").partition(".")
    return frozenset([f"{_NUMBERS[special]}{axis and f'.{axis}'}"]) if special in _NUMBERS else indices.get(name, _NONE)


def _indices(flow: ControlFlowGraph) -> dict[str, frozenset[str]]:
    """The registers that are computed from numbers of threads and blocks, without memory and floating point."""
    found: dict[str, frozenset[str]] = {}
    pure = [
        item
        for item in flow.statements
        if isinstance(item, Instruction)
        and info(item).result is ResultKind.PURE
        and info(item).memory is MemoryEffect.NONE
        and not any(word.startswith(("f", "bf", "tf")) for word in item.modifiers)
    ]
    changed = True
    while changed:
        changed = False
        for statement in pure:
            sources = _NONE.union(*(_of(name, found) for name in effects.reads(statement)))
            for name in effects.sets(statement) if sources else ():
                if not sources <= found.get(name, _NONE):
                    found[name], changed = found.get(name, _NONE) | sources, True
    return found


def _parameters(flow: ControlFlowGraph) -> dict[str, str]:
    """The registers that hold a kernel's parameter as it is, as `args[2]`."""
    found: dict[str, str] = {}
    for name, item in single_definitions(flow.statements).items():
        if item.opcode == "ld" and "param" in item.modifiers:
            base = next((one.base for one in item.operands if isinstance(one, Address)), None)
            number = base.name.rpartition("_param_")[2] if isinstance(base, Symbol) else ""
            if number.isdigit():
                found[name] = f"args[{number}]"
    return found


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
