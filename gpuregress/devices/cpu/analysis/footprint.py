"""Which bytes of global memory a kernel may touch, as formulas of a launch: whether blocks may run on several cores.

They may, with the same bytes as one after the other, where no block touches what another one writes. `split` works that
out for each launch, from the formulas made here. What is not understood here makes the answer "unknown": one core.
"""

from __future__ import annotations

from typing import Any

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.analysis.control_flow import Flow
from gpuregress.devices.cpu.analysis.control_flow_graph import Graph, Loop
from gpuregress.devices.cpu.analysis.pointer_provenance import Sources
from gpuregress.devices.cpu.analysis.uniformity import PURE
from gpuregress.devices.cpu.analysis.value_graph import Values, operands
from gpuregress.devices.cpu.ptx.memory_access import element_type, lanes, space_of
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Label, Statement, TextureAddress, Vector
from gpuregress.devices.cpu.ptx.types import size

Footprint = dict[str, Any]
"""Plain JSON. A condition is [node of a predicate, what it must be].

nodes: as `values` has them.
loops: by the block of each loop's head, what must hold at the end of a round for another one to follow.
joins: by block, by the block before: what must hold for a thread to come this way.
has_loops: whether the kernel has any.
accesses: ["write", bytes, node of the address, offset, conditions];
    ["read", bytes, node or null, offset, conditions, what is read, or null];
        that is: variables, and first bytes of the parameters whose buffers are read;
    ["texture", first byte of the handle's parameter];
    ["surface", bytes, first byte of the handle's parameter, nodes of the coordinates, bounds, conditions].
"""

_HARMLESS = PURE | frozenset((
    "bra", "brx", "ret", "exit", "trap", "bar", "barrier", "shfl", "vote", "match", "redux", "activemask", "elect",
    "txq", "suq", "mma", "ldmatrix", "stmatrix", "movmatrix", "dp2a", "dp4a", "fns", "szext", "prefetch", "prefetchu",
    "vabsdiff2", "vabsdiff4", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmax2", "vmax4", "vmin2", "vmin4", "vset2",
    "vset4", "vsub2", "vsub4",
))  # fmt: skip
_ORDERED = frozenset(["volatile", "relaxed", "acquire", "release", "mmio", "acq_rel"])
_BOUNDS = ("trap", "clamp", "zero")
_PLAIN_SURFACES = frozenset(["1d", "2d", "3d"])
_MOST_BLOCKS = 600
_MOST_CONDITIONS = 12


def footprint(flow: Flow, parameters: dict[str, int]) -> Footprint | None:
    """What a kernel reads and writes in global memory.

    Args:
        flow: its control flow.
        parameters: the parameters' names → their first byte in the parameter space.

    Returns:
        None where blocks may talk to each other, or a write is not understood.
    """
    if len(flow.blocks) > _MOST_BLOCKS or not _may_be_told(flow):
        return None
    graph = Graph(flow)
    return _Collector(graph, parameters).collect() if graph.understood else None


def _may_be_told(flow: Flow) -> bool:
    """Whether there is nothing that blocks could see each other by, or that counts across blocks."""
    return all(isinstance(item, Label) or _is_plain(item) for item in flow.statements)


def _is_plain(statement: Statement) -> bool:
    if not isinstance(statement, Instruction):
        return False
    if any("clock" in name or "timer" in name for name in effects.reads(statement)):
        return False
    opcode = statement.opcode
    if opcode in ("atom", "red"):
        return space_of(statement) == "shared"
    if opcode in ("ld", "st"):
        return _ORDERED.isdisjoint(statement.modifiers)
    if opcode in ("membar", "fence"):
        return "cta" in statement.modifiers
    return opcode in _HARMLESS or opcode in ("tex", "tld4", "suld", "sust")


class _Collector:
    def __init__(self, graph: Graph, parameters: dict[str, int]) -> None:
        self._graph = graph
        self._values = Values(graph, parameters)
        self._sources = Sources(graph.flow.statements, parameters)
        self._conditions: dict[int, list[list[Any]]] = {}
        self._ways: dict[tuple[int, int], list[list[Any]]] = {}
        self._rounds: dict[int, list[list[Any]]] = {}

    def collect(self) -> Footprint | None:
        """The footprint; None where an access is not understood."""
        found = []
        for number in sorted(self._graph.reachable):
            block = self._graph.flow.blocks[number]
            for index in range(block.start, block.end):
                statement = self._graph.flow.statements[index]
                if isinstance(statement, Instruction) and statement.opcode in (
                    "ld",
                    "st",
                    "tex",
                    "tld4",
                    "suld",
                    "sust",
                ):
                    entry = self._entry(statement, index, number)
                    if entry is None:
                        return None
                    found += [entry] if entry else []
        self._ask_for_conditions()
        self._values.settle()
        return None if self._values.overfull else self._written_down(found)

    # --- accesses -----------------------------------------------------------------------------------------------------

    def _entry(self, item: Instruction, index: int, number: int) -> list[Any] | None:
        """An access; empty where it touches no global memory; None where it may touch anything."""
        if item.opcode not in ("ld", "st"):
            return self._texture(item, index, number)
        if space_of(item) in ("shared", "local", "param", "const"):
            return []
        address = item.operands[1 if item.opcode == "ld" else 0]
        if not isinstance(address, Address):
            return None
        count = lanes(item) * size(element_type(item))
        node = self._values.read(address.base, index)
        if item.opcode == "st":
            return ["write", count, node, address.offset, number]
        return ["read", count, node, address.offset, number, self._sources.of(address.base)]

    def _texture(self, item: Instruction, index: int, number: int) -> list[Any] | None:
        address = item.operands[0 if item.opcode == "sust" else -1 if item.opcode == "suld" else 1]
        if not isinstance(address, TextureAddress):
            return None
        handle = self._values.read(address.base, index)
        if item.opcode != "sust":
            return ["texture", handle]
        if "b" not in item.modifiers or _PLAIN_SURFACES.isdisjoint(item.modifiers):
            return None
        if "a1d" in item.modifiers or "a2d" in item.modifiers:
            return None  # The layer comes first among the coordinates.
        places = address.coordinates.elements if isinstance(address.coordinates, Vector) else (address.coordinates,)
        bounds = next((word for word in item.modifiers if word in _BOUNDS), "trap")
        count = lanes(item) * size(element_type(item))
        return ["surface", count, handle, [self._values.read(place, index) for place in places], bounds, number]

    # --- conditions ---------------------------------------------------------------------------------------------------

    def _ask_for_conditions(self) -> None:
        """Reads the predicates of all edges, before the values are settled."""
        graph = self._graph
        for number in sorted(graph.reachable):
            self._conditions[number] = self._along(graph.edges_above(number))
            if len(graph.before[number]) > 1:
                for before in graph.before[number]:
                    edges = [*graph.edges_above(before), (before, number)]
                    self._ways[number, before] = self._along(edges)
        for head, loop in graph.loops.items():
            if loop.latch is None:
                continue
            inside = [edge for edge in graph.edges_above(loop.latch) if edge[1] in loop.blocks and edge[1] != head]
            self._rounds[head] = self._along([*inside, (loop.latch, head)])

    def _along(self, edges: list[tuple[int, int]]) -> list[list[Any]]:
        found = []
        for before, number in edges:
            decided = self._graph.condition(before, number)
            if decided is not None:
                found.append([self._values.at_end(decided[0], before), decided[1]])
        return found

    # --- writing it down ----------------------------------------------------------------------------------------------

    def _written_down(self, entries: list[list[Any]]) -> Footprint | None:
        writer = _Writer(self._values)
        accesses: list[list[Any]] = []
        for entry in entries:
            of_texture = entry[0] in ("texture", "surface")
            written = self._texture_written(writer, *entry) if of_texture else self._access_written(writer, *entry)
            if written is None:
                return None
            if written not in accesses:
                accesses.append(written)
        return self._whole(writer, accesses)

    def _texture_written(self, writer: _Writer, kind: str, *rest: Any) -> list[Any] | None:
        handle = self._values.nodes[self._values.follow(rest[0 if kind == "texture" else 1])]
        if handle[0] != "p":
            return None
        if kind == "texture":
            return [kind, handle[1]]
        count, _, places, bounds, number = rest
        return [kind, count, handle[1], [writer.number(node) for node in places], bounds, self._useful(writer, number)]

    def _access_written(
        self, writer: _Writer, kind: str, count: int, node: int, offset: int, number: int, *more: Any
    ) -> list[Any] | None:
        if self._values.nodes[self._values.follow(node)] != ["?"]:
            return [kind, count, writer.number(node), offset, self._useful(writer, number), *more]
        return None if kind == "write" or more == (None,) else [kind, count, None, offset, [], *more]

    def _whole(self, writer: _Writer, accesses: list[list[Any]]) -> Footprint:
        joins: dict[str, dict[str, Any]] = {}
        loops: dict[str, Any] = {}
        done = 0
        while done < len(writer.nodes):
            row = writer.nodes[done]
            if row[0] == "join" and str(row[1]) not in joins:
                ways = [(before, self._ways[row[1], before]) for before in self._graph.before[row[1]]]
                joins[str(row[1])] = {str(before): writer.conditions(items) for before, items in ways}
            elif row[0] == "round" and str(row[1]) not in loops:
                loop = self._graph.loops[row[1]]
                items = [item for item in self._rounds[row[1]] if self._of_this_round(item[0], loop)]
                loops[str(row[1])] = [writer.conditions(items), self._useful(writer, loop.head)]
            done += 1
        return {
            "nodes": writer.nodes,
            "loops": loops,
            "joins": joins,
            "accesses": accesses,
            "has_loops": bool(self._graph.loops),
        }

    def _useful(self, writer: _Writer, number: int) -> list[list[Any]]:
        return writer.conditions(self._conditions[number])

    def _of_this_round(self, node: int, loop: Loop) -> bool:
        """Whether a condition speaks of a loop's own rounds: not of joins or loops inside, nor of what is not known."""
        pending, seen = [node], set[int]()
        while pending:
            node = self._values.follow(pending.pop())
            row = self._values.nodes[node]
            if node in seen:
                continue
            seen.add(node)
            if row[0] == "?":
                return False
            if row[0] in ("join", "round") and row[1] in loop.blocks and row[1:2] + row[:1] != [loop.head, "round"]:
                return False
            if row[0] != "round" or row[1] != loop.head:
                pending += operands(row)
        return True


class _Writer:
    """Numbers the nodes that are needed anew."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._numbers: dict[int, int] = {}
        self.nodes: list[list[Any]] = []

    def number(self, node: int) -> int:
        """A node's new number."""
        node = self._values.follow(node)
        if node not in self._numbers:
            needed, pending = {node: None}, [node]
            while pending:
                for item in map(self._values.follow, operands(self._values.nodes[pending.pop()])):
                    if item not in self._numbers and item not in needed:
                        needed[item] = None
                        pending.append(item)
            for item in needed:
                self._numbers[item] = len(self.nodes)
                self.nodes.append([])
            for item in needed:
                self.nodes[self._numbers[item]] = self._renumbered(self._values.nodes[item])
        return self._numbers[node]

    def conditions(self, items: list[list[Any]]) -> list[list[Any]]:
        """Those that say something, with new numbers; the nearest ones where there are many."""
        useful = [item for item in items if self._says_something(item[0])]
        found: list[list[Any]] = []
        for node, wanted in useful[-_MOST_CONDITIONS:]:
            entry = [self.number(node), wanted]
            if entry not in found:
                found.append(entry)
        return found

    def _says_something(self, node: int) -> bool:
        row = self._values.nodes[self._values.follow(node)]
        if row[0] in ("and", "or", "not"):
            return any(self._says_something(item) for item in row[1:])
        if row[0] != "cmp":
            return False
        return all(self._values.nodes[self._values.follow(item)][0] != "?" for item in row[4:])

    def _renumbered(self, row: list[Any]) -> list[Any]:
        def new(node: int) -> int:
            return self._numbers[self._values.follow(node)]

        if row[0] == "join":
            return ["join", row[1], [[before, new(value)] for before, value in row[2]]]
        if row[0] == "round":
            return ["round", row[1], new(row[2]), [[sign, new(value)] for sign, value in row[3]]]
        count = len(operands(row))
        return [*row[: len(row) - count], *map(new, row[len(row) - count :])]
