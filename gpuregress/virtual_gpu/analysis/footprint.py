"""Memory footprint of a kernel: its accesses to global memory, as expressions of the launch.

Blocks may run on several cores, with the same bytes as one after the other, where no block touches what another one
writes: `parallel.partition` decides that for each launch. An access that cannot be expressed leaves the kernel without
a footprint: one core.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, Dominance, Loop
from gpuregress.virtual_gpu.analysis.pointers import PointsTo
from gpuregress.virtual_gpu.analysis.value_graph import UNKNOWN, ValueGraph
from gpuregress.virtual_gpu.ptx.modifiers import is_ordered, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Label, Statement, TextureAddress, elements
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Access,
    Condition,
    Conditions,
    Footprint,
    Induction,
    LoopConditions,
    Node,
    Operation,
    ParameterValue,
    Phi,
    Read,
    SurfaceWrite,
    TextureRead,
    Unknown,
    Write,
)

_BOUNDS = ("trap", "clamp", "zero")
_PLAIN_SURFACES = frozenset(["1d", "2d", "3d"])
_MOST_BLOCKS = 600
_MOST_CONDITIONS = 12


def footprint(flow: ControlFlowGraph, parameters: dict[str, int]) -> Footprint | None:
    """Compute the footprint of a kernel.

    Args:
        flow: control flow of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.

    Returns:
        None where blocks may communicate, or a write cannot be expressed.
    """
    if len(flow.blocks) > _MOST_BLOCKS or not _has_independent_blocks(flow):
        return None
    graph = Dominance(flow)
    return _Collector(graph, parameters).collect() if graph.is_reducible else None


def _has_independent_blocks(flow: ControlFlowGraph) -> bool:
    """Whether no instruction communicates between blocks, or depends on when other blocks run."""
    return all(map(_is_plain, flow.statements))


def _is_plain(statement: Statement) -> bool:
    if not isinstance(statement, Instruction):
        return isinstance(statement, Label)
    if any("clock" in name or "timer" in name for name in effects.reads(statement)):
        return False
    facts = info(statement)
    if facts.crosses_blocks or facts.memory is MemoryEffect.COPY:
        return False
    if facts.memory is MemoryEffect.NONE:
        return True
    if facts.memory is MemoryEffect.UPDATE or facts.is_aligned:
        return _space(statement) == "shared"
    return not is_ordered(statement)


def _is_global(item: Instruction) -> bool:
    """Whether an instruction may read or write global memory."""
    return info(item).memory in {MemoryEffect.READ, MemoryEffect.WRITE} and _space(item) in {"", "global"}


def _space(instruction: Instruction) -> str:
    return info(instruction).space or space_of(instruction)


class _Collector:
    """Collects the accesses of one kernel.

    The nodes of the value graph are complete only when all of them have been read: until then an access has the
    numbers that the graph gives to nodes, and no conditions.
    """

    def __init__(self, graph: Dominance, parameters: dict[str, int]) -> None:
        self._graph = graph
        self._values = ValueGraph(graph, parameters)
        self._sources = PointsTo(graph.flow.statements, parameters)
        self._block_conditions: dict[int, list[Condition]] = {}
        self._edge_conditions: dict[tuple[int, int], list[Condition]] = {}
        self._repeat_conditions: dict[int, list[Condition]] = {}

    def collect(self) -> Footprint | None:
        """Return the footprint; None where an access cannot be expressed."""
        accesses: list[tuple[Access, int]] = []
        for number in sorted(self._graph.reachable):
            for index in self._graph.flow.indices(number):
                statement = self._graph.flow.statements[index]
                if not isinstance(statement, Instruction) or not _is_global(statement):
                    continue
                access = self._access(statement, index)
                if access is None:
                    return None
                accesses.append((access, number))
        self._read_conditions()
        self._values.complete()
        return None if self._values.overfull else self._footprint(accesses)

    # --- accesses -----------------------------------------------------------------------------------------------------

    def _access(self, item: Instruction, index: int) -> Access | None:
        """The access of an instruction; None where it may touch anything."""
        is_write = info(item).memory is MemoryEffect.WRITE
        address = item.operands[0 if is_write else 1]
        if isinstance(address, TextureAddress):
            return self._texture_access(item, address, index)
        if not isinstance(address, Address):
            return None
        count = lanes(item) * size(type_of(item))
        node = self._values.read(address.base, index)
        if is_write:
            return Write(count, node, address.offset, ())
        buffers = self._sources.of(address.base)
        return Read(count, node, address.offset, (), None if buffers is None else tuple(buffers))

    def _texture_access(self, item: Instruction, address: TextureAddress, index: int) -> Access | None:
        handle = self._values.read(address.base, index)
        if info(item).memory is MemoryEffect.READ:
            return TextureRead(handle)
        if "b" not in item.modifiers or _PLAIN_SURFACES.isdisjoint(item.modifiers):
            return None
        if "a1d" in item.modifiers or "a2d" in item.modifiers:
            return None  # The layer comes first among the coordinates.
        bounds = "trap"
        for word in item.modifiers:
            if word in _BOUNDS:
                bounds = word
                break
        return SurfaceWrite(
            size=lanes(item) * size(type_of(item)),
            handle=handle,
            coordinates=tuple(self._values.read(part, index) for part in elements(address.coordinates)),
            bounds=bounds,
            conditions=(),
        )

    # --- conditions ---------------------------------------------------------------------------------------------------

    def _read_conditions(self) -> None:
        """Ask for the predicates of all edges, before the value graph is completed."""
        graph = self._graph
        for number in sorted(graph.reachable):
            self._block_conditions[number] = self._along(graph.edges_above(number))
            if len(graph.predecessors[number]) > 1:
                for before in graph.predecessors[number]:
                    edges = [*graph.edges_above(before), (before, number)]
                    self._edge_conditions[number, before] = self._along(edges)
        for header, loop in graph.loops.items():
            if loop.latch is None:
                continue
            others = loop.blocks - {header}
            inside = [edge for edge in graph.edges_above(loop.latch) if edge[1] in others]
            self._repeat_conditions[header] = self._along([*inside, (loop.latch, header)])

    def _along(self, edges: list[tuple[int, int]]) -> list[Condition]:
        conditions = []
        for before, number in edges:
            decided = self._graph.condition(before, number)
            if decided is not None:
                conditions.append(Condition(self._values.at_end(decided[0], before), decided[1]))
        return conditions

    # --- the footprint ------------------------------------------------------------------------------------------------

    def _footprint(self, accesses: list[tuple[Access, int]]) -> Footprint | None:
        renumbering = _Renumbering(self._values)
        renumbered: dict[Access, None] = {}
        for access, number in accesses:
            final = self._renumbered(renumbering, access, self._block_conditions[number])
            if final is None:
                return None
            renumbered[final] = None
        joins: dict[int, dict[int, Conditions]] = {}
        loops: dict[int, LoopConditions] = {}
        # Conditions of joins and loops add nodes to those that are looked at here.
        for node in renumbering.nodes:
            if isinstance(node, Phi) and node.block not in joins:
                joins[node.block] = {}
                for before in self._graph.predecessors[node.block]:
                    joins[node.block][before] = renumbering.conditions(self._edge_conditions[node.block, before])
            elif isinstance(node, Induction) and node.block not in loops:
                loop = self._graph.loops[node.block]
                repeat = [item for item in self._repeat_conditions[node.block] if self._is_own(item.predicate, loop)]
                enter = self._block_conditions[loop.head]
                loops[node.block] = LoopConditions(renumbering.conditions(repeat), renumbering.conditions(enter))
        return Footprint(tuple(renumbering.nodes), loops, joins, tuple(renumbered), bool(self._graph.loops))

    def _renumbered(self, renumbering: _Renumbering, access: Access, conditions: list[Condition]) -> Access | None:
        """The access with final numbers and conditions; None where it may touch anything."""
        if isinstance(access, TextureRead | SurfaceWrite):
            handle = self._value(access.handle)
            if not isinstance(handle, ParameterValue):
                return None
            if isinstance(access, TextureRead):
                return TextureRead(handle.offset)
            coordinates = tuple(renumbering.number(node) for node in access.coordinates)
            conditions_ = renumbering.conditions(conditions)
            return replace(access, handle=handle.offset, coordinates=coordinates, conditions=conditions_)
        if access.address is not None and self._value(access.address) != UNKNOWN:
            address = renumbering.number(access.address)
            return replace(access, address=address, conditions=renumbering.conditions(conditions))
        return None if isinstance(access, Write) or access.buffers is None else replace(access, address=None)

    def _value(self, node: int) -> Node:
        return self._values.nodes[self._values.follow(node)]

    def _is_own(self, node: int, loop: Loop) -> bool:
        """Whether a condition depends on a loop's own iterations only: on no inner join or loop, on nothing unknown."""
        pending, seen = [node], set[int]()
        while pending:
            number = self._values.follow(pending.pop())
            if number in seen:
                continue
            seen.add(number)
            value = self._values.nodes[number]
            if isinstance(value, Unknown):
                return False
            is_own = isinstance(value, Induction) and value.block == loop.head
            if isinstance(value, Phi | Induction) and value.block in loop.blocks and not is_own:
                return False
            if not is_own:
                pending += value.operands
        return True


class _Renumbering:
    """The nodes that a footprint needs, numbered from 0."""

    def __init__(self, values: ValueGraph) -> None:
        self._values = values
        self._numbers: dict[int, int] = {}
        self.nodes: list[Node] = []

    def number(self, node: int) -> int:
        """Return a node's final number; the nodes that it depends on get theirs, too."""
        node = self._values.follow(node)
        if node not in self._numbers:
            needed, pending = [node], [node]
            self._numbers[node] = len(self.nodes)
            while pending:
                for item in map(self._values.follow, self._values.nodes[pending.pop()].operands):
                    if item not in self._numbers:
                        self._numbers[item] = len(self.nodes) + len(needed)
                        needed.append(item)
                        pending.append(item)
            self.nodes += [self._renumbered(self._values.nodes[item]) for item in needed]
        return self._numbers[node]

    def conditions(self, items: Iterable[Condition]) -> Conditions:
        """Return those that restrict anything, with final numbers; the innermost ones where there are many."""
        useful = [item for item in items if self._is_useful(item.predicate)]
        renumbered = (Condition(self.number(item.predicate), item.holds) for item in useful[-_MOST_CONDITIONS:])
        return tuple(dict.fromkeys(renumbered))

    def _is_useful(self, node: int) -> bool:
        value = self._values.nodes[self._values.follow(node)]
        if not isinstance(value, Operation):
            return False
        if value.operator in ("and", "or", "not"):
            return any(self._is_useful(item) for item in value.operands)
        operands = [self._values.nodes[self._values.follow(item)] for item in value.operands]
        return value.is_comparison and UNKNOWN not in operands

    def _renumbered(self, node: Node) -> Node:
        if isinstance(node, Operation | Phi | Induction):
            return replace(node, operands=tuple(self._numbers[self._values.follow(item)] for item in node.operands))
        return node
