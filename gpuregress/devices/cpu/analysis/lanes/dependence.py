"""Dependence test between the lanes of a warp: accesses that they must make in step.

On a card a converged warp makes each access in all its lanes before it makes the next one. Here a lane runs to its next
wait before the next lane begins. Both give the same bytes unless two accesses with no wait between them depend on each
other: one of them writes, and a lane that runs earlier reaches with the later one what a lane that runs later reaches
with the earlier one. Before the later one of such a pair the lanes of the warp have to wait for each other.

It is assumed that two pointers among a kernel's parameters do not point into the same buffer, but for those that are
known to be the same (they have the same first byte here), that a parameter that
multiplies a row's number is a pitch that no column exceeds, and that what `malloc` returns is the lane's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.devices.cpu.analysis.dominance import Dominance
from gpuregress.devices.cpu.analysis.lanes.branch_sides import BranchSides, branch_sides
from gpuregress.devices.cpu.analysis.lanes.contested import ContestedStores, Slices, group_of, ordered_statements
from gpuregress.devices.cpu.analysis.lanes.distances import (
    Pairs,
    bases,
    bounds,
    bounds_in_lane,
    is_zero,
    never_equal,
    varying_part,
)
from gpuregress.devices.cpu.analysis.lanes.values import (
    CONSTANT,
    LANES,
    Atom,
    LaneGraph,
    LaneValue,
    LaneValues,
    constant,
    iterations,
    of_atom,
    plus,
    substituted,
)
from gpuregress.devices.cpu.analysis.points_to import PointsTo
from gpuregress.devices.cpu.ptx.modifiers import is_synchronizing, lanes, space_of, type_of
from gpuregress.devices.cpu.ptx.opcode_table import Control, MemoryEffect, Wait, info
from gpuregress.devices.cpu.ptx.tree import Address, Call, Instruction, Label, Register, Statement, Symbol
from gpuregress.devices.cpu.ptx.types import size
from gpuregress.devices.cpu.runtime.footprint_ir import COMPARISONS, Operation

_MOST_BLOCKS = 600
_MOST_TESTS = 20_000
_OPCODES = frozenset(["ld", "ldu", "st", "atom", "red"])
_COMMUTING = frozenset(["add", "min", "max", "and", "or", "xor"])
_WAITS = frozenset([Wait.BLOCK, Wait.CLUSTER, Wait.MASK, Wait.CONVERGED, Wait.WARP])
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Crossed = int
"""Header of the outermost loop around two accesses of which an iteration has ended between them; -1: none has."""


class _Publication(IntEnum):
    """How far a thread has gone to let others know of a write: it fences, then makes an atomic access."""

    NONE = 0
    FENCED = 1
    TOLD = 2


_Reaching = tuple[int, Crossed, _Publication]
"""An access since the last wait."""

_LATER_LANE = np.arange(LANES)[:, None] > np.arange(LANES)[None, :]
_OTHER_LANE = ~np.eye(LANES, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class LaneDependence:
    """The dependences between the lanes of a warp in one kernel.

    Attributes:
        steps: statements before which the lanes of a warp have to wait for each other.
        exchanges: a statement that writes, and one with which another lane may read that with no wait between. It is
            none where an atomic operation behind a fence may tell the reader, as at a lock, or where both are atomic.
        assumes_rows: whether the answer holds only for warps of the width that was asked for.
        contested: the stores that lanes may make to one address. If there are any, steps allow every order of lanes.
        assumes_distinct: whether the answer may be another one where two parameters hold the same address.
    """

    steps: frozenset[int] = frozenset()
    exchanges: frozenset[tuple[int, int]] = frozenset()
    assumes_rows: bool = False
    contested: ContestedStores = field(default_factory=ContestedStores)
    assumes_distinct: bool = False


def lane_dependence(
    flow: ControlFlowGraph,
    parameters: dict[str, int],
    private: frozenset[str],
    width: int,
    *,
    last_first: bool,
    any_order: bool = False,
) -> LaneDependence:
    """Find the accesses of a kernel before which the lanes of a warp have to wait for each other.

    Args:
        flow: control flow of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.
        private: names of its local variables.
        width: threads of a warp along x; see `LaneValues`.
        last_first: whether the last lane runs first.
        any_order: whether the lanes may run in any order.
    """
    accesses = _accesses(flow, parameters, private)
    if len(flow.blocks) > _MOST_BLOCKS:
        return LaneDependence()
    assumes_distinct = _are_apart(accesses)
    if not _may_depend(accesses):
        return LaneDependence(assumes_distinct=assumes_distinct)
    graph = Dominance(flow)
    if not graph.is_reducible:
        return LaneDependence()
    found = _Search(graph, parameters, accesses, width, _order(last_first, any_order)).result()
    return replace(found, assumes_distinct=assumes_distinct)


def _order(last_first: bool, any_order: bool) -> Pairs:  # noqa: FBT001 - named at its only call
    """The pairs of lanes of which the first may run after the second."""
    if any_order:
        return _OTHER_LANE
    return _LATER_LANE.T if last_first else _LATER_LANE


@dataclass(frozen=True, slots=True)
class _Access:
    """An access to memory that other lanes may reach.

    Attributes:
        index: the statement.
        address: where.
        count: bytes.
        space: `shared`, `global`, or "" for a generic address.
        objects: first bytes of parameters and names of variables that it may reach; None where they are not known.
        writes, reads: what it does; an atomic operation does both.
        commutes: name of the atomic operation, where neither its order nor its result matters; else "".
        is_synchronizing: whether it is an atomic operation, or a relaxed, acquiring or releasing access.
        is_polled: whether it is repeated until another thread has written what it waits for.
    """

    index: int
    address: Address
    count: int
    space: str
    objects: frozenset[int | str] | None
    writes: bool
    reads: bool
    commutes: str = ""
    is_synchronizing: bool = False
    is_polled: bool = False

    def may_meet(self, other: _Access) -> bool:
        """Whether both may reach the same object, and at least one writes, in an order that matters."""
        if not (self.writes or other.writes) or (self.commutes and self.commutes == other.commutes):
            return False
        if self.space and other.space and self.space != other.space:
            return False
        return self.objects is None or other.objects is None or not self.objects.isdisjoint(other.objects)


def _accesses(flow: ControlFlowGraph, parameters: dict[str, int], private: frozenset[str]) -> dict[int, _Access]:
    candidates = [
        (index, item)
        for index, item in enumerate(flow.statements)
        if isinstance(item, Instruction) and _is_access(item)
    ]
    if not any(info(item).memory is not MemoryEffect.READ for _, item in candidates):
        return {}
    sources = PointsTo(flow.statements, parameters)
    allocates = any(isinstance(item, Call) and item.callee == Symbol("malloc") for item in flow.statements)
    used = frozenset(name for item in flow.statements for name in effects.reads(item))
    accesses = {}
    for index, item in candidates:
        effect = info(item).memory
        address = next((operand for operand in item.operands if isinstance(operand, Address)), None)
        found = None if address is None else sources.of(address.base)
        objects = None if found is None else frozenset(found)
        if address is None or (objects is None and allocates) or (objects is not None and objects <= private):
            continue
        count = lanes(item) * size(type_of(item))
        writes, reads = effect is not MemoryEffect.READ, effect is not MemoryEffect.WRITE
        commutes = _commuting(item, used) if writes and reads else ""
        accesses[index] = _Access(
            index,
            address,
            count,
            space_of(item),
            objects,
            writes,
            reads,
            commutes,
            is_synchronizing(item),
            index in flow.polled,
        )
    return accesses


def _is_fence(item: Statement) -> bool:
    """Whether a statement orders a thread's accesses for other threads. PTX ISA manual, 9.7.13.4 "membar/fence"."""
    return isinstance(item, Instruction) and item.opcode in ("membar", "fence") and "proxy" not in item.modifiers


def _commuting(item: Instruction, used: frozenset[str]) -> str:
    """The operation of an atomic instruction whose order cannot be noticed: on integers, its result unread."""
    operation = next((word for word in item.modifiers if word in _COMMUTING), "")
    is_float = any(word.startswith(("f", "bf")) for word in item.modifiers)
    return operation if not is_float and used.isdisjoint(effects.sets(item)) else ""


def _is_access(statement: Instruction) -> bool:
    if statement.opcode not in _OPCODES or "nc" in statement.modifiers:
        return False
    return space_of(statement) in ("", "global", "shared") and {"async", "shared::cluster"}.isdisjoint(
        statement.modifiers
    )


def _may_depend(accesses: dict[int, _Access]) -> bool:
    """Whether there are two different accesses, or one in a loop, that may meet; a quick test for most kernels."""
    written = [item for item in accesses.values() if item.writes]
    return any(item.may_meet(other) for item in written for other in accesses.values())


def _are_apart(accesses: dict[int, _Access]) -> bool:
    """Whether a buffer is written, and one that may be the same by another parameter is accessed."""
    everything = [item for item in accesses.values() if item.space != "shared"]
    pointers = {(item.writes, item.objects) for item in everything if item.objects is not None}
    return any(writes and mine.isdisjoint(theirs) for writes, mine in pointers for _, theirs in pointers)


@dataclass(slots=True)
class _Site:
    """An access with what is known of it.

    Attributes:
        access: the access.
        block: of the control-flow graph.
        value: its address.
        bases: the variables and parameters whose addresses its own is relative to.
        active: the lanes that may make it.
    """

    access: _Access
    block: int
    value: LaneValue
    bases: set[str]
    active: npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Found:
    steps: set[int] = field(default_factory=set)
    exchanges: set[tuple[int, int]] = field(default_factory=set)


class _Search:
    def __init__(
        self,
        graph: Dominance,
        parameters: dict[str, int],
        accesses: dict[int, _Access],
        width: int,
        order: Pairs,
    ) -> None:
        self._graph, self._flow, self._accesses = graph, graph.flow, accesses
        self._order = order
        self._slices = Slices(graph.flow.statements)
        self._values = LaneGraph(graph, parameters)
        self._nodes = {index: self._values.read(item.address.base, index) for index, item in accesses.items()}
        self._conditions = self._read_conditions()
        self._exits = self._read_exits()
        self._sides = self._read_sides()
        self._values.complete()
        self._lanes = LaneValues(graph, self._values, width)
        self._uniform_loops = {header: all(map(self._lanes.is_shared, nodes)) for header, nodes in self._exits.items()}
        self._sites: dict[int, _Site] = {}
        self._tested: dict[tuple[int, int, Crossed], tuple[bool, bool]] = {}
        self._found = _Found()
        self._contested = ContestedStores()
        self._assumes_rows = False

    def result(self) -> LaneDependence:
        if self._values.overfull:
            return LaneDependence()
        self._contested = self._contested_stores()
        if self._contested.groups:
            self._order = _OTHER_LANE
        self._solve()
        if self._found.steps:
            self._add_joins()
        found = self._found
        return LaneDependence(frozenset(found.steps), frozenset(found.exchanges), self._assumes_rows, self._contested)

    # --- reading the graph --------------------------------------------------------------------------------------------

    def _read_conditions(self) -> dict[int, list[tuple[int, bool]]]:
        """Access -> the predicates that its lanes must fulfil."""
        conditions = {}
        for index in self._accesses:
            number = self._flow.block_at(index)
            edges = self._graph.edges_above(number) if number in self._graph.reachable else []
            decided = [(self._graph.condition(before, after), before) for before, after in edges]
            nodes = [(self._values.at_end(item[0], before), item[1]) for item, before in decided if item is not None]
            guard = self._flow.statements[index].guard
            if guard is not None and number in self._graph.reachable:
                nodes.append((self._values.read(Register(guard.register), index), not guard.negated))
            conditions[index] = nodes
        return conditions

    def _read_exits(self) -> dict[int, list[int]]:
        """Header -> the predicates that end its loop."""
        exits: dict[int, list[int]] = {}
        for header, loop in self._graph.loops.items():
            exits[header] = []
            for number in loop.blocks:
                for successor in self._flow.blocks[number].successors:
                    if successor not in loop.blocks:
                        decided = self._graph.condition(number, successor)
                        exits[header].append(0 if decided is None else self._values.at_end(decided[0], number))
        return exits

    def _read_sides(self) -> list[tuple[BranchSides, int]]:
        """The branches, each with its predicate."""
        found = []
        for sides in branch_sides(self._graph):
            decided = self._graph.condition(sides.branch, self._flow.blocks[sides.branch].successors[0])
            found.append((sides, 0 if decided is None else self._values.at_end(decided[0], sides.branch)))
        return found

    def _divergent_sides(self) -> list[BranchSides]:
        return [sides for sides, predicate in self._sides if not self._lanes.is_shared(predicate)]

    def _before_sides(self) -> dict[int, set[_Reaching]]:
        """First block of a side that runs after another one -> the accesses of that other one."""
        before: dict[int, set[_Reaching]] = {}
        for sides in self._divergent_sides():
            if sides.second is not None:
                made = {
                    (index, -1, _Publication.NONE)
                    for index in self._accesses
                    if self._flow.block_at(index) in sides.first
                }
                before.setdefault(sides.second, set()).update(made)
        return before

    def _add_joins(self) -> None:
        """Let lanes that may have gone on at different steps meet where their ways join."""
        joins = {sides.join: sides.between for sides in self._divergent_sides() if sides.join is not None}
        changed = True
        while changed:
            changed = False
            stepping = {self._flow.block_at(index) for index in self._found.steps}
            for join, between in joins.items():
                index = self._first_instruction(join)
                if index is not None and index not in self._found.steps and not stepping.isdisjoint(between):
                    self._found.steps.add(index)
                    changed = True

    def _first_instruction(self, number: int) -> int | None:
        """The first statement of a block that does something; None where lanes only leave or spin there."""
        block, statements = self._flow.blocks[number], self._flow.statements
        found = [index for index in range(block.start, block.end) if not isinstance(statements[index], Label)]
        if not found or number in self._flow.waiting_blocks:
            return None
        first = statements[found[0]]
        is_end = not isinstance(first, Instruction) or info(first).control is Control.LEAVE or self._is_wait(found[0])
        return None if is_end else found[0]

    def _site(self, index: int) -> _Site:
        if index not in self._sites:
            access, block = self._accesses[index], self._flow.block_at(index)
            value = plus(self._at_block(self._lanes.of(self._nodes[index]), block), constant(access.address.offset))
            active = np.ones(LANES, np.bool_)
            for node, holds in self._conditions[index]:
                active &= self._possible(node, block, holds=holds)
            self._sites[index] = _Site(access, block, value, bases(value), active)
        return self._sites[index]

    def _at_block(self, value: LaneValue, block: int) -> LaneValue:
        """The value as a block sees it: behind a loop that lanes may leave at different iterations, it varies.

        So it does behind a header whose loop is not known.
        """
        loops = self._graph.loops

        def seen(atom: Atom) -> LaneValue | None:
            lost = [
                header
                for header in atom.headers
                if not (header in loops and block in loops[header].blocks) and not self._uniform_loops.get(header)
            ]
            return of_atom(Atom(f"{atom.name}.left", atom.least, frozenset(), varies=True)) if lost else None

        return substituted(value, seen) or of_atom(Atom("lost", None, frozenset(), varies=True))

    def _possible(self, node: int, block: int, *, holds: bool) -> npt.NDArray[np.bool_]:
        """The lanes in which a predicate may have a value."""
        everyone = np.ones(LANES, np.bool_)
        item = self._values.nodes[self._values.follow(node)]
        if not isinstance(item, Operation):
            return everyone
        if item.operator == "not":
            return self._possible(item.operands[0], block, holds=not holds)
        if item.operator in ("and", "or"):
            parts = [self._possible(operand, block, holds=holds) for operand in item.operands]
            together = (item.operator == "and") == holds
            return parts[0] & parts[1] if together else parts[0] | parts[1]
        if item.operator not in COMPARISONS:
            return everyone
        left, right = (self._at_block(self._lanes.of(operand), block) for operand in item.operands)
        low, high = bounds_in_lane(left, right)
        operator = item.operator if holds else _OPPOSITE[item.operator]
        possible: dict[str, npt.NDArray[np.bool_]] = {
            "==": (low <= 0) & (high >= 0),
            "!=": (low != 0) | (high != 0),
            "<": low < 0,
            "<=": low <= 0,
            ">": high > 0,
            ">=": high >= 0,
        }
        return possible[operator]

    # --- stores to one address ----------------------------------------------------------------------------------------

    def _contested_stores(self) -> ContestedStores:
        """The stores of which nothing shows that each lane has an address of its own."""
        groups: dict[int, int] = {}
        assumes_rows = self._assumes_rows
        slices = self._slices
        for index, access in self._accesses.items():
            statement = self._flow.statements[index]
            assert isinstance(statement, Instruction)
            if access.reads or not self._flow_reaches(index) or slices.is_same(statement.operands[1]):
                continue
            base, site = access.address.base, self._site(index)
            meets = site.active[:, None] & site.active[None, :] & _OTHER_LANE
            is_spread = isinstance(base, Register) and slices.is_spread(base.name)
            if (meets & self._overlap(site, site, -1, certainly=is_spread)).any():
                groups[index] = group_of(access.count)
                assumes_rows = True
            assumes_rows |= not any("tid.y" in atom.name for monomial in site.value for atom in monomial)
        self._assumes_rows = assumes_rows
        return ContestedStores(groups, ordered_statements(self._flow.statements)) if groups else ContestedStores()

    def _flow_reaches(self, index: int) -> bool:
        return self._flow.block_at(index) in self._graph.reachable

    # --- accesses since the last wait ---------------------------------------------------------------------------------

    def _solve(self) -> None:
        before: dict[int, set[_Reaching]] = {number: set() for number in self._graph.reachable}
        pending = set(self._graph.reachable)
        for number, accesses in self._before_sides().items():
            before[number] |= accesses
        while pending and len(self._tested) < _MOST_TESTS:
            number = min(pending)
            pending.discard(number)
            block = self._flow.blocks[number]
            reaching = self._through(number, set(before[number]))
            for successor in dict.fromkeys(block.successors):
                loop = self._graph.loops.get(successor)
                ends = loop is not None and number in loop.blocks
                moved = reaching
                if ends:
                    moved = {
                        (index, self._crossing(index, crossed, successor), told) for index, crossed, told in reaching
                    }
                if not moved <= before[successor]:
                    before[successor] |= moved
                    pending.add(successor)

    def _crossing(self, index: int, crossed: Crossed, header: int) -> Crossed:
        """What an access has behind it when an iteration of a loop ends."""
        blocks = self._graph.loops[header].blocks
        if self._flow.block_at(index) not in blocks or (crossed >= 0 and header in self._graph.loops[crossed].blocks):
            return crossed
        return header

    def _through(self, number: int, reaching: set[_Reaching]) -> set[_Reaching]:
        """The accesses since the last wait at the end of a block; finds those before which lanes have to wait."""
        block = self._flow.blocks[number]
        for index in range(block.start, block.end):
            if self._is_wait(index):
                reaching = set()
            if _is_fence(self._flow.statements[index]):
                reaching = {(before, crossed, max(told, _Publication.FENCED)) for before, crossed, told in reaching}
            if index not in self._accesses:
                continue
            may_step = number not in self._flow.waiting_blocks  # lanes that spin get turns anyway
            must_step = self._must_step(index, reaching) or self._has_other_groups(index, reaching)
            if index in self._found.steps or (must_step and may_step):
                self._found.steps.add(index)
                reaching = set()
            if self._accesses[index].is_synchronizing and self._accesses[index].writes:
                reaching = {(before, crossed, told and _Publication.TOLD) for before, crossed, told in reaching}
            reaching.add((index, -1, _Publication.NONE))
        return reaching

    def _has_other_groups(self, index: int, reaching: set[_Reaching]) -> bool:
        """Whether lanes have to run in other groups at a store than at one before it."""
        groups = self._contested.groups
        return index in groups and any(groups.get(before, groups[index]) != groups[index] for before, *_ in reaching)

    def _is_wait(self, index: int) -> bool:
        statement = self._flow.statements[index]
        if not isinstance(statement, Instruction) or statement.guard is not None or "arrive" in statement.modifiers:
            return False
        return info(statement).wait in _WAITS

    def _must_step(self, index: int, reaching: set[_Reaching]) -> bool:
        later = self._accesses[index]
        found = False
        for before, crossed, publication in sorted(reaching):
            earlier = self._accesses[before]
            if not earlier.may_meet(later):
                continue
            depends, meets = self._test(before, index, crossed)
            found = found or depends
            # Two such accesses are no data race, and whoever makes them expects any order of the lanes.
            is_ordered = publication is _Publication.TOLD or later.is_polled
            is_ordered = is_ordered or (earlier.is_synchronizing and later.is_synchronizing)
            if meets and earlier.writes and later.reads and not is_ordered:
                self._found.exchanges.add((before, index))
        return found

    # --- two accesses -------------------------------------------------------------------------------------------------

    def _test(self, before: int, index: int, crossed: Crossed) -> tuple[bool, bool]:
        """Whether the order of two accesses matters, and whether two lanes may meet there in any order."""
        key = (before, index, crossed)
        if key not in self._tested:
            first, second = self._site(before), self._site(index)
            active = first.active[:, None] & second.active[None, :]
            certainly = crossed >= 0 or not self._may_overwrite(first, second)
            meets = active & _OTHER_LANE & self._overlap(first, second, crossed, certainly=certainly)
            self._tested[key] = bool((meets & self._order).any()), bool(meets.any())
        return self._tested[key]

    def _may_overwrite(self, first: _Site, second: _Site) -> bool:
        """Whether a store goes where data says, and the other one to an address that is known: one clears a table."""
        known = [not any(atom.varies for key in site.value for atom in key) for site in (first, second)]
        bases_ = [site.access.address.base for site in (first, second)]
        is_data = [isinstance(base, Register) and self._slices.is_data(base.name) for base in bases_]
        return (known[0] and is_data[1]) or (known[1] and is_data[0])

    def _overlap(self, first: _Site, second: _Site, crossed: Crossed, *, certainly: bool = True) -> Pairs:
        """Where two accesses may overlap; `certainly`: of two stores only where they do for certain."""
        if first.bases and second.bases and first.bases.isdisjoint(second.bases):
            return np.zeros((LANES, LANES), np.bool_)
        self._assumes_rows = True
        later = substituted(second.value, lambda atom: self._after(atom, crossed)) if crossed >= 0 else second.value
        if later is None:
            return np.ones((LANES, LANES), np.bool_)
        if crossed < 0 and self._are_split_partners(first, second):
            return np.zeros((LANES, LANES), np.bool_)
        low, high = bounds(first.value, later)
        if certainly and not (first.access.reads or second.access.reads):
            certain: Pairs = (low == high) & (low < second.access.count) & (high > -first.access.count)
            return certain
        apart: Pairs = (low >= second.access.count) | (high <= -first.access.count)
        return ~(apart | never_equal(first.value, later, (first.access.count, second.access.count)))

    def _are_split_partners(self, first: _Site, second: _Site) -> bool:
        """Whether two accesses reach elements `i` and `i ^ mask`, of which a condition lets one lane have both."""
        mine, theirs = (varying_part(item.value) for item in (first, second))
        if mine == theirs and mine is not None and mine[0].name in self._lanes.partners:
            return not plus(first.value, second.value, -1).keys() - {CONSTANT} and is_zero(first.value, second.value)
        for one, other, part in ((first, second, theirs), (second, first, mine)):
            if part is None or part[0].name not in self._lanes.partners or varying_part(one.value) is not None:
                continue
            atom, factor = part
            own, _ = self._lanes.partners[atom.name]
            moved = plus(plus(other.value, of_atom(atom), -factor), own, factor)
            sides = {self._side(item, atom, own) for item in (first, second)}
            if is_zero(moved, one.value) and len(sides) == 1 and 0 not in sides:
                return True
        return False

    def _side(self, site: _Site, atom: Atom, own: LaneValue) -> int:
        """1 or -1 where an access happens only in lanes whose partner `atom` is above or below; else 0."""
        pending = list(self._conditions[site.access.index])
        while pending:
            node, holds = pending.pop()
            item = self._values.nodes[self._values.follow(node)]
            if not isinstance(item, Operation):
                continue
            if item.operator == ("and" if holds else "or"):
                pending += [(operand, holds) for operand in item.operands]
            if item.operator not in ("<", ">", "<=", ">="):
                continue
            left, right = (self._lanes.of(operand) for operand in item.operands)
            operator = item.operator if holds else _OPPOSITE[item.operator]
            sign = 1 if operator.startswith(">") else -1
            if is_zero(left, of_atom(atom)) and is_zero(right, own):
                return sign
            if is_zero(right, of_atom(atom)) and is_zero(left, own):
                return -sign
        return 0

    def _after(self, atom: Atom, crossed: Crossed) -> LaneValue | None:
        """The value of an atom after iterations have ended; None where it stays."""
        blocks = self._graph.loops[crossed].blocks
        if blocks.isdisjoint(atom.headers):
            return None
        if atom == iterations(crossed):
            return plus(plus(of_atom(atom), constant(1)), of_atom(Atom(f"{atom.name}.more")))
        return of_atom(Atom(f"{atom.name}.later", atom.least))
