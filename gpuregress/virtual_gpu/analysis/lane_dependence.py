"""Dependence test between the lanes of a warp, and the steps in which they make accesses.

On a GPU a converged warp makes each access in all its lanes before it makes the next one. Here a lane runs to its next
wait before the next lane begins. Both give the same bytes unless two accesses with no wait between them depend on each
other: one of them writes, and a lane that runs earlier reaches with the later one what a lane that runs later reaches
with the earlier one. Before the later one of such a pair the lanes of the warp have to wait for each other.

It is assumed that two pointers among a kernel's parameters do not point into the same buffer, but for those that are
known to be the same (they have the same first byte here), that a parameter that
multiplies a row's number is a pitch that no column exceeds, and that what `malloc` returns is the lane's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from itertools import chain

import numpy as np
from msgspec import field

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, Dominance
from gpuregress.virtual_gpu.analysis.lane_overlap import (
    Crossed,
    LaneAccess,
    LaneSite,
    OverlapTest,
    Pairs,
    are_apart,
    find_accesses,
    may_depend,
)
from gpuregress.virtual_gpu.analysis.lane_values import LANES, varies
from gpuregress.virtual_gpu.ptx.modifiers import lay_out, space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import (
    Call,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Operand,
    Register,
    Statement,
    Vector,
)
from gpuregress.virtual_gpu.runtime.program import Schedule

# --- contested --------------------------------------------------------------------------------------------------------
# Stores by which several lanes of a warp may write one address, and what keeps their lanes in order.
#
# CUDA leaves open which lane's value stays. An H200 kept the same one in every run. A warp stores 128 bytes at a time:
# 8 bytes by one half after the other, 16 bytes by one quarter after the other. The lowest lane of the last part stays.
# It is so for every width and vector, in global and shared memory. A schedule that runs the lanes in the groups of
# `ContestedStores`, each from its last lane to its first, keeps the same ones.

_OF_THREAD = ("%tid", "%laneid")
_AT_A_TIME = 128
"""Bytes that a warp stores at a time."""


class ContestedStores(Record):
    """The stores of one kernel that lanes of a warp may make to one address.

    Attributes:
        groups: statement -> the lanes of a group, whose lowest lane wins over the others of its group, and whose last
            group wins over the others of the warp.
        ordered: the statements whose results show the order of the lanes, which is that of their numbers on a GPU.
    """

    groups: Mapping[int, int] = field(default_factory=dict)
    ordered: frozenset[int] = frozenset()

    def group(self, statements: Collection[int]) -> int:
        """The lanes of the groups in which some statements should run; 0 where the order is that of the lanes."""
        if not self.ordered.isdisjoint(statements):
            return 0
        return min((self.groups[index] for index in self.groups.keys() & statements), default=0)

    def renumbered(self, numbers: Mapping[int, int]) -> ContestedStores:
        """Return the same after statements have got other numbers."""
        groups = {numbers[index]: group for index, group in self.groups.items()}
        return ContestedStores(groups, frozenset(numbers[index] for index in self.ordered))


def group_of(count: int) -> int:
    """The lanes that store so many bytes each at a time."""
    return min(LANES, _AT_A_TIME // count)


def ordered_statements(statements: tuple[Statement, ...]) -> frozenset[int]:
    """The statements whose results show the order of the lanes: most atomic operations, and calls."""
    used = effects.registers_read(statements)
    return frozenset(index for index, item in enumerate(statements) if _shows_order(item, used))


def _shows_order(item: Statement, used: set[str]) -> bool:
    if not isinstance(item, Instruction):
        return isinstance(item, Call)
    if info(item).memory is not MemoryEffect.UPDATE:
        return False
    return not effects.commutative_operation(item) or not used.isdisjoint(effects.sets(item))


class Slices:
    """Backward slices of a kernel's registers.

    Args:
        statements: the kernel's.
    """

    def __init__(self, statements: tuple[Statement, ...]) -> None:
        self._slices: dict[str, list[Instruction]] = {}
        self._effects: dict[str, set[MemoryEffect]] = {}
        self._definitions = effects.definitions(statements)

    def is_spread(self, name: str) -> bool:
        """Whether a register that may be the same in several lanes is meant to differ in all of them.

        It is the result of an atomic operation, a place that each lane was given; or a loop counts it from the number
        of the thread, and it is no data: a grid-stride loop.
        """
        memory_effects = self._memory_effects(name)
        if MemoryEffect.UPDATE in memory_effects:
            return True
        is_counted = is_of_thread = False
        for item in self._slice(name):
            is_counted |= any(len(self._definitions[result]) > 1 for result in effects.sets(item))
            is_of_thread |= any(source.startswith(_OF_THREAD) for source in effects.reads(item))
        return is_counted and is_of_thread and MemoryEffect.READ not in memory_effects

    def is_data(self, name: str) -> bool:
        """Whether a register depends on what was read from memory."""
        return MemoryEffect.READ in self._memory_effects(name)

    def _memory_effects(self, name: str) -> set[MemoryEffect]:
        """The effects of a register's slice on memory that is no parameter and no constant."""
        if name in self._effects:
            return self._effects[name]
        memory_effects: set[MemoryEffect] = set()
        for item in self._slice(name):
            effect = info(item).memory
            if effect is not MemoryEffect.NONE and space_of(item) not in ("param", "const"):
                memory_effects.add(effect)
        self._effects[name] = memory_effects
        return memory_effects

    def is_same(self, operand: Operand) -> bool:
        """Whether a value is certainly the same in all lanes: a constant, or a parameter."""
        if isinstance(operand, Register):
            return self._is_same(operand.name, 0)
        if isinstance(operand, Vector):
            return all(map(self.is_same, operand.elements))
        return isinstance(operand, Integer | Float)

    def _is_same(self, name: str, depth: int) -> bool:
        definitions = self._definitions.get(name, [])
        if len(definitions) != 1 or depth > LANES:
            return False
        item = definitions[0]
        if not isinstance(item, Instruction) or item.guard is not None:
            return False
        if info(item).memory is MemoryEffect.READ:
            return space_of(item) == "param" and not any(isinstance(source, Register) for source in item.operands[1:])
        if info(item).arithmetic not in (Arithmetic.COPY, Arithmetic.CONVERT):
            return False
        return all(self._is_same(source, depth + 1) for source in effects.reads(item))

    def _slice(self, name: str) -> list[Instruction]:
        """The instructions that a register depends on; an atomic operation is its own end."""
        if name in self._slices:
            return self._slices[name]

        def defined(register: str) -> list[Instruction]:
            return [item for item in self._definitions.get(register, ()) if isinstance(item, Instruction)]

        def operands(register: str) -> Iterator[str]:
            for item in defined(register):
                if info(item).memory is not MemoryEffect.UPDATE:
                    yield from effects.reads(item)

        self._slices[name] = list(chain.from_iterable(map(defined, reachable_from([name], operands))))
        return self._slices[name]


# --- dependence -------------------------------------------------------------------------------------------------------

_MOST_BLOCKS = 600
_MOST_TESTS = 20_000
_WAITS = frozenset([Wait.BLOCK, Wait.CLUSTER, Wait.MASK, Wait.CONVERGED, Wait.WARP])


class _Publication(IntEnum):
    """How far a thread has gone to let others know of a write: it fences, then makes an atomic access.

    Then it has acquired what others told, or may have.
    """

    NONE = 0
    FENCED = 1
    TOLD = 2
    ANSWERED = 3


_Reaching = tuple[int, Crossed, _Publication]
"""An access since the last wait."""

_LATER_LANE = np.arange(LANES)[:, None] > np.arange(LANES)[None, :]
_OTHER_LANE = ~np.eye(LANES, dtype=np.bool_)


class LaneDependence(Record):
    """The dependences between the lanes of a warp in one kernel.

    Attributes:
        steps: statements before which the lanes of a warp have to wait for each other.
        exchanges: a statement that writes, and one with which another lane may read that with no wait between. It is
            none where an atomic operation after a fence may tell the reader, as at a lock, and the reader acquires what
            was told, or where both are atomic.
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
    accesses = find_accesses(flow, parameters, private)
    if len(flow.blocks) > _MOST_BLOCKS:
        return LaneDependence()
    assumes_distinct = are_apart(accesses)
    if not may_depend(accesses):
        return LaneDependence(assumes_distinct=assumes_distinct)
    graph = Dominance(flow)
    if not graph.is_reducible:
        return LaneDependence()
    # The pairs of lanes of which the first may run after the second.
    order = _LATER_LANE.T if last_first else _LATER_LANE
    if any_order:
        order = _OTHER_LANE
    dependence = _Search(graph, parameters, accesses, width, order).result()
    return replace(dependence, assumes_distinct=assumes_distinct)


def _is_fence(item: Statement) -> bool:
    """Whether a statement orders a thread's accesses for other threads. PTX ISA manual, 9.7.13.4 "membar/fence"."""
    return isinstance(item, Instruction) and item.opcode in ("membar", "fence") and "proxy" not in item.modifiers


def _releases(item: Statement) -> bool:
    """Whether a statement publishes what its thread did before, without a fence of its own.

    PTX ISA manual, 8.7 "Release and Acquire Patterns"; 9.7.13.15.13 "mbarrier.arrive", which releases by default.
    """
    if not isinstance(item, Instruction):
        return False
    words = item.modifiers
    if item.opcode == "mbarrier":
        return "relaxed" not in words and ("arrive" in words or "arrive_drop" in words)
    return item.opcode in ("st", "atom", "red") and ("release" in words or "acq_rel" in words)


def _may_acquire(item: Statement) -> bool:
    """Whether a statement that is no access waits for what another thread released, or may do so in a function."""
    if not isinstance(item, Instruction):
        return isinstance(item, Call)
    return item.opcode == "mbarrier" and not {"test_wait", "try_wait"}.isdisjoint(item.modifiers)


class _Search:
    def __init__(
        self,
        graph: Dominance,
        parameters: dict[str, int],
        accesses: dict[int, LaneAccess],
        width: int,
        order: Pairs,
    ) -> None:
        self._graph, self._flow, self._accesses = graph, graph.flow, accesses
        self._order = order
        self._slices = Slices(graph.flow.statements)
        self._overlaps = OverlapTest(graph, parameters, accesses, width)
        self._tested: dict[tuple[int, int, Crossed], tuple[bool, bool]] = {}
        self._steps: set[int] = set()
        self._exchanges: set[tuple[int, int]] = set()
        self._contested = ContestedStores()

    def result(self) -> LaneDependence:
        if self._overlaps.is_overfull:
            return LaneDependence()
        self._contested = self._contested_stores()
        if self._contested.groups:
            self._order = _OTHER_LANE
        self._solve()
        if self._steps:
            self._add_joins()
        return LaneDependence(
            frozenset(self._steps), frozenset(self._exchanges), self._overlaps.assumes_rows, self._contested
        )

    def _before_sides(self) -> dict[int, set[_Reaching]]:
        """First block of a side that runs after another one -> the accesses of that other one."""
        before: dict[int, set[_Reaching]] = {}
        for sides in self._overlaps.divergent_sides():
            if sides.second is None:
                continue
            accesses = before.setdefault(sides.second, set())
            for index in self._accesses:
                if self._flow.block_at(index) in sides.first:
                    accesses.add((index, -1, _Publication.NONE))
        return before

    def _add_joins(self) -> None:
        """Let lanes that may have gone on at different steps meet where their ways join."""
        joins = {sides.join: sides.between for sides in self._overlaps.divergent_sides() if sides.join is not None}
        changed = True
        while changed:
            changed = False
            stepping = {self._flow.block_at(index) for index in self._steps}
            for join, between in joins.items():
                index = self._first_instruction(join)
                if index is not None and index not in self._steps and not stepping.isdisjoint(between):
                    self._steps.add(index)
                    changed = True

    def _first_instruction(self, number: int) -> int | None:
        """The first statement of a block that does something; None where lanes only leave or spin there."""
        if number in self._flow.waiting_blocks:
            return None
        for index in self._flow.indices(number):
            first = self._flow.statements[index]
            if isinstance(first, Label):
                continue
            is_end = isinstance(first, Call) or info(first).control is Control.LEAVE or self._is_wait(index)
            return None if is_end else index
        return None

    # --- stores to one address ----------------------------------------------------------------------------------------

    def _contested_stores(self) -> ContestedStores:
        """The stores of which nothing shows that each lane has an address of its own."""
        groups: dict[int, int] = {}
        assumes_rows = self._overlaps.assumes_rows
        slices = self._slices
        for index, access in self._accesses.items():
            statement = self._flow.statements[index]
            assert isinstance(statement, Instruction)
            is_reachable = self._flow.block_at(index) in self._graph.reachable
            if access.reads or not is_reachable or slices.is_same(statement.operands[1]):
                continue
            base, site = access.address.base, self._overlaps.site(index)
            meets = site.active[:, None] & site.active[None, :] & _OTHER_LANE
            is_spread = isinstance(base, Register) and slices.is_spread(base.name)
            if (meets & self._overlaps.overlap(site, site, -1, certainly=is_spread)).any():
                groups[index] = group_of(access.count)
                assumes_rows = True
            assumes_rows |= not any("tid.y" in atom.name for atom in chain.from_iterable(site.value))
        self._overlaps.assumes_rows = assumes_rows
        if not groups:
            return ContestedStores()
        return ContestedStores(groups, ordered_statements(self._flow.statements))

    # --- accesses since the last wait ---------------------------------------------------------------------------------

    def _solve(self) -> None:
        before: dict[int, set[_Reaching]] = {number: set() for number in self._graph.reachable}
        pending = set(self._graph.reachable)
        for number, accesses in self._before_sides().items():
            before[number] |= accesses
        while pending and len(self._tested) < _MOST_TESTS:
            number = min(pending)
            pending.discard(number)
            reaching = self._through(number, set(before[number]))
            for successor in dict.fromkeys(self._flow.blocks[number].successors):
                loop = self._graph.loops.get(successor)
                moved = reaching
                if loop is not None and number in loop.blocks:
                    moved = {
                        (index, self._crossing(index, crossed, successor), told) for index, crossed, told in reaching
                    }
                if not moved <= before[successor]:
                    before[successor] |= moved
                    pending.add(successor)

    def _crossing(self, index: int, crossed: Crossed, header: int) -> Crossed:
        """What an access has after it when an iteration of a loop ends."""
        blocks = self._graph.loops[header].blocks
        if self._flow.block_at(index) not in blocks or (crossed >= 0 and header in self._graph.loops[crossed].blocks):
            return crossed
        return header

    def _through(self, number: int, reaching: set[_Reaching]) -> set[_Reaching]:
        """The accesses since the last wait at the end of a block; finds those before which lanes have to wait."""
        may_step = number not in self._flow.waiting_blocks  # lanes that spin get turns anyway
        for index in self._flow.indices(number):
            if self._is_wait(index):
                reaching = set()
            if _releases(self._flow.statements[index]):
                reaching = self._released(index, reaching)
            if _is_fence(self._flow.statements[index]):
                reaching = {(before, crossed, max(told, _Publication.FENCED)) for before, crossed, told in reaching}
            if index not in self._accesses:
                if _may_acquire(self._flow.statements[index]):
                    reaching = _answered(reaching)
                continue
            must_step = self._must_step(index, reaching) or self._has_other_groups(index, reaching)
            if index in self._steps or (must_step and may_step):
                self._steps.add(index)
                reaching = set()
            if self._accesses[index].is_synchronizing and self._accesses[index].writes:
                reaching = {(before, crossed, _told(publication)) for before, crossed, publication in reaching}
            if self._may_acquire(index):
                reaching = _answered(reaching)
            reaching.add((index, -1, _Publication.NONE))
        return reaching

    def _released(self, index: int, reaching: set[_Reaching]) -> set[_Reaching]:
        """Mark the writes of lanes that release them there."""
        released: set[_Reaching] = set()
        for before, crossed, told in reaching:
            is_told = self._overlaps.is_made_by_all_of(index, before, crossed)
            released.add((before, crossed, max(told, _Publication.TOLD) if is_told else told))
        return released

    def _may_acquire(self, index: int) -> bool:
        """Whether an access may read what another thread wrote to tell of its writes."""
        access, statement = self._accesses[index], self._flow.statements[index]
        assert isinstance(statement, Instruction)
        is_told = access.is_synchronizing or access.is_polled or "volatile" in statement.modifiers
        return is_told and access.reads and statement.opcode != "red"

    def _has_other_groups(self, index: int, reaching: set[_Reaching]) -> bool:
        """Whether lanes have to run in other groups at a store than at one before it."""
        groups = self._contested.groups
        if index not in groups:
            return False
        return any(groups.get(before, groups[index]) != groups[index] for before, *_ in reaching)

    def _is_wait(self, index: int) -> bool:
        statement = self._flow.statements[index]
        if not isinstance(statement, Instruction) or statement.guard is not None or "arrive" in statement.modifiers:
            return False
        return info(statement).wait in _WAITS

    def _must_step(self, index: int, reaching: set[_Reaching]) -> bool:
        later = self._accesses[index]
        must_step = False
        for before, crossed, publication in sorted(reaching):
            earlier = self._accesses[before]
            if not earlier.may_meet(later):
                continue
            depends, meets = self._test(before, index, crossed)
            must_step = must_step or depends
            if publication is _Publication.ANSWERED or later.is_polled:
                continue
            # Two such accesses are no data race, and whoever makes them expects any order of the lanes.
            if earlier.is_synchronizing and later.is_synchronizing:
                continue
            if meets and earlier.writes and later.reads:
                self._exchanges.add((before, index))
        return must_step

    # --- two accesses -------------------------------------------------------------------------------------------------

    def _test(self, before: int, index: int, crossed: Crossed) -> tuple[bool, bool]:
        """Whether the order of two accesses matters, and whether two lanes may meet there in any order."""
        key = (before, index, crossed)
        if key not in self._tested:
            first, second = self._overlaps.site(before), self._overlaps.site(index)
            active = first.active[:, None] & second.active[None, :]
            certainly = crossed >= 0 or not self._may_overwrite(first, second)
            meets = active & _OTHER_LANE & self._overlaps.overlap(first, second, crossed, certainly=certainly)
            self._tested[key] = bool((meets & self._order).any()), bool(meets.any())
        return self._tested[key]

    def _may_overwrite(self, first: LaneSite, second: LaneSite) -> bool:
        """Whether a store goes where data says, and the other one to an address that is known: one clears a table."""
        return self._clears(first, second) or self._clears(second, first)

    def _clears(self, known: LaneSite, other: LaneSite) -> bool:
        base = other.access.address.base
        is_data = isinstance(base, Register) and self._slices.is_data(base.name)
        return is_data and not any(map(varies, known.value))


def _told(publication: _Publication) -> _Publication:
    """How far a write is published after an atomic access of its thread: without a fence it is not."""
    return _Publication.NONE if publication is _Publication.NONE else max(publication, _Publication.TOLD)


def _answered(reaching: set[_Reaching]) -> set[_Reaching]:
    """Mark the writes that were told: what the thread reads from now on may be what others told."""
    answered: set[_Reaching] = set()
    for before, crossed, publication in reaching:
        is_told = publication is _Publication.TOLD
        answered.add((before, crossed, _Publication.ANSWERED if is_told else publication))
    return answered


# --- warp steps -------------------------------------------------------------------------------------------------------
# Waits that make the lanes of a warp access memory in step, inserted where the test cannot exclude a dependence. A GPU
# runs a converged warp one instruction after the other, each in all its lanes, and code without `__syncwarp` may rely
# on it.


_ACCESSES = frozenset(["ld", "ldu", "st", "atom", "red"])
_SEEN = frozenset(["", "global", "shared"])
"""Spaces of memory that threads share; "": a generic address."""


class SteppedKernel(Record):
    """A kernel with its steps.

    Attributes:
        function: its syntax tree.
        dependence: of its lanes, by the numbers of its statements.
    """

    function: Function
    dependence: LaneDependence


def with_warp_steps(function: Function, schedule: Schedule) -> SteppedKernel:
    """Insert a step before each access that depends on an earlier one of another lane of the warp."""
    flow = ControlFlowGraph(function)
    offsets, _ = lay_out(function.parameters)
    private = frozenset(item.name for item in function.variables if item.space == "local")
    offsets = with_aliases(offsets, schedule.aliases)
    dependence = lane_dependence(
        flow, offsets, private, schedule.warp_width, last_first=schedule.last_first, any_order=schedule.permuted
    )
    steps = dependence.steps
    if schedule.in_step:
        steps |= _accesses(flow)
    body: list[Statement] = []
    moved: dict[int, int] = {}
    for index, statement in enumerate(flow.statements):
        if index in steps and isinstance(statement, Instruction):
            body.append(replace(statement, opcode="bar", modifiers=("warp", "step"), operands=(), guard=None))
        moved[index] = len(body)
        body.append(statement)
    exchanges = frozenset((moved[write], moved[read]) for write, read in dependence.exchanges)
    renumbered = replace(
        dependence,
        steps=frozenset(moved[index] for index in steps),
        exchanges=exchanges,
        contested=dependence.contested.renumbered(moved),
    )
    return SteppedKernel(replace(function, body=tuple(body)) if steps else function, renumbered)


def _accesses(flow: ControlFlowGraph) -> frozenset[int]:
    """The accesses to memory that other threads see, but for those in loops that spin.

    A lane that waits for another one of its warp there must go on alone, as it does on a GPU since Volta.
    """
    accesses: set[int] = set()
    for index, item in enumerate(flow.statements):
        if not isinstance(item, Instruction) or item.opcode not in _ACCESSES or space_of(item) not in _SEEN:
            continue
        if flow.block_at(index) not in flow.spinning_blocks:
            accesses.add(index)
    return frozenset(accesses)


def with_aliases(offsets: dict[str, int], aliases: tuple[tuple[int, int], ...]) -> dict[str, int]:
    """The first bytes of parameters, with that of an earlier one for each parameter that holds the same address."""
    same = dict(aliases)
    return {name: same.get(first, first) for name, first in offsets.items()}
