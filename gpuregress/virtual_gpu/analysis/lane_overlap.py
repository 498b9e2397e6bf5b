"""Overlap test of two accesses in a warp: the address of each lane, and which lanes are active."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.branch_sides import BranchSides, branch_sides
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, Dominance
from gpuregress.virtual_gpu.analysis.lane_values import (
    CONSTANT,
    LANES,
    WIDTH,
    Atom,
    LaneGraph,
    Lanes,
    LaneValue,
    LaneValues,
    are_equal,
    constant,
    iterations,
    of_atom,
    plus,
    substituted,
    varies,
)
from gpuregress.virtual_gpu.analysis.pointers import PointsTo
from gpuregress.virtual_gpu.parallel.affine import NEGATED
from gpuregress.virtual_gpu.ptx.modifiers import is_synchronizing, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Instruction, Register, Statement, Symbol
from gpuregress.virtual_gpu.runtime.footprint_ir import Operation

# --- distances --------------------------------------------------------------------------------------------------------
# Distances of two addresses, for each two lanes: bounds, and rules that exclude 0.

Pairs: TypeAlias = npt.NDArray[np.bool_]
"""For each lane (row) of the earlier access and each lane (column) of the later one, something about both."""
Bounds: TypeAlias = npt.NDArray[np.int64]

_FAR = 1 << 60
_ZERO = np.zeros(LANES, np.int64)
_LANES_THERE = np.maximum(np.arange(LANES)[:, None], np.arange(LANES)[None, :]) + 1
"""The threads that a row has at least if it has both lanes."""


def is_zero(left: LaneValue, right: LaneValue) -> bool:
    """Whether two values are equal."""
    return not any(lanes_.any() for lanes_ in plus(left, right, -1).values())


def varying_part(value: LaneValue) -> tuple[Atom, int] | None:
    """The one atom of a value that varies, and its factor, the same in all lanes; None where it is not so."""
    parts = [monomial for monomial in value if varies(monomial)]
    if len(parts) != 1 or len(parts[0]) != 1 or not are_equal(value[parts[0]]):
        return None
    return parts[0][0], int(value[parts[0]][0])


def bases(value: LaneValue) -> set[str]:
    """The variables and parameters to whose address a value adds an offset; none where they are not known."""
    names = {
        monomial[0].name for monomial, factors in value.items() if len(monomial) == 1 and (abs(factors) == 1).all()
    }
    variables = {name for name in names if name.startswith("variable.")}
    if variables or not all(name.startswith("param.") for name in names):
        return variables  # What is not known may be an address, and a parameter an offset.
    return names


def _terms(left: LaneValue, right: LaneValue, *, crosswise: bool = True) -> Iterator[tuple[tuple[Atom, ...], Bounds]]:
    """The constant and the other monomials of `left - right` that are not 0; those that vary, for both apart."""
    for monomial in left.keys() | right.keys():
        factors, subtracted = left.get(monomial, _ZERO), right.get(monomial, _ZERO)
        column = factors[:, None] if crosswise else factors
        if varies(monomial):
            if factors.any():
                yield monomial, column + 0 * subtracted
            if subtracted.any():
                yield monomial, 0 * column - subtracted
        elif monomial == CONSTANT or not _cancel(factors, subtracted):
            yield monomial, column - subtracted


def _cancel(a: Lanes, b: Lanes) -> bool:
    """Whether two coefficients are one number, the same in all lanes: those of most monomials are."""
    return bool(a[0] == b[0]) and a.tobytes() == b.tobytes() and are_equal(a)


def bounds(left: LaneValue, right: LaneValue) -> tuple[Bounds, Bounds]:
    """Lower and upper bounds of `left - right`, for each lane of one and each of the other."""
    return _bounds(_terms(left, right), _LANES_THERE)


def bounds_in_lane(left: LaneValue, right: LaneValue) -> tuple[Bounds, Bounds]:
    """Lower and upper bounds of `left - right`, each in the same lane: the diagonals of `bounds`."""
    return _bounds(_terms(left, right, crosswise=False), _LANES_THERE.diagonal())


def _bounds(terms: Iterator[tuple[tuple[Atom, ...], Bounds]], there: Bounds) -> tuple[Bounds, Bounds]:
    """The bounds of a sum of terms; `there`: the threads that a row has at least."""
    low, high = np.zeros_like(there), np.zeros_like(there)
    for monomial, factors in terms:
        if monomial == CONSTANT:
            low, high = low + factors, high + factors
            continue
        least = _least(monomial, there)
        if least is None:
            unknown = factors != 0
            if unknown.all():
                return np.full_like(there, -_FAR), np.full_like(there, _FAR)
            low, high = np.where(unknown, -_FAR, low), np.where(unknown, _FAR, high)
            continue
        product = factors * least
        positive, negative = factors > 0, factors < 0
        low, high = np.where(positive, low + product, low), np.where(negative, high + product, high)
        low, high = np.where(negative, -_FAR, low), np.where(positive, _FAR, high)
    return np.where(low < -_FAR // 2, -_FAR, low), np.where(high > _FAR // 2, _FAR, high)


def _least(monomial: tuple[Atom, ...], there: Bounds) -> Bounds | int | None:
    """The lower bound of a monomial where both lanes are there; None where there is none."""
    least: Bounds | int = 1
    for atom in monomial:
        if atom.least is None:
            return None
        least = least * (there if atom == WIDTH else atom.least)
    return least


def never_equal(left: LaneValue, right: LaneValue, counts: tuple[int, int]) -> Pairs:
    """Where two addresses differ modulo the common divisor of all that is not known, or by the step of a row."""
    constants: Bounds = np.zeros((LANES, LANES), np.int64)
    others = []
    for monomial, factors in _terms(left, right):
        if monomial == CONSTANT:
            constants = factors
        elif factors.any():
            others.append((monomial, factors))
    if not others:
        return np.zeros((LANES, LANES), np.bool_)
    divisor = np.gcd.reduce([abs(factors) for _, factors in others])
    remainder = constants % np.maximum(divisor, 1)
    apart: Pairs = (divisor > 0) & (remainder >= counts[1]) & (remainder <= divisor - counts[0])
    apart |= _between_strides(others, constants, max(counts))
    apart |= _in_other_rows(others, constants, max(counts))
    return apart


def _between_strides(others: list[tuple[tuple[Atom, ...], Bounds]], constants: Bounds, count: int) -> Pairs:
    """Where all that is not known is a multiple of the block's width, and the rest is less: a grid-stride loop."""
    if not all(WIDTH in key for key, _ in others):
        return np.zeros((LANES, LANES), np.bool_)
    element = int(np.gcd.reduce([np.gcd.reduce(abs(factors), axis=None) for _, factors in others]))
    apart: Pairs = (abs(constants) >= count) & (abs(constants) <= element * _LANES_THERE - count)
    return apart


def _in_other_rows(others: list[tuple[tuple[Atom, ...], Bounds]], constants: Bounds, count: int) -> Pairs:
    """Where two addresses are in different rows of an array whose pitch is a parameter: no column is beyond it."""
    nowhere = np.zeros((LANES, LANES), np.bool_)
    pitch: Bounds | None = None
    for monomial, factors in others:
        if any(atom.name.startswith("param.") for atom in monomial):
            if pitch is not None or varies(monomial):
                return nowhere
            pitch = abs(factors)
        elif not all(atom.varies or atom.name.startswith("iterations.") for atom in monomial):
            return nowhere  # It is no column.
    if pitch is None:
        return nowhere
    apart: Pairs = (pitch >= count) & (abs(constants) < LANES * pitch)
    return apart


# --- accesses ---------------------------------------------------------------------------------------------------------
# Accesses of a kernel to memory that other lanes of the warp may reach.

_OPCODES = frozenset(["ld", "ldu", "st", "atom", "red"])


class LaneAccess(Record):
    """An access to memory that other lanes may reach.

    Attributes:
        index: the statement.
        address: where.
        count: bytes.
        space: `shared`, `global`, or "" for a generic address.
        objects: first bytes of parameters and names of variables that it may reach; None where they are not known.
        writes, reads: what it does; an atomic operation does both.
        commutes: kind of the atomic operation, `min.s32`, where neither its order nor its result matters; else "".
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

    def may_meet(self, other: LaneAccess) -> bool:
        """Whether both may reach the same object, and at least one writes, in an order that matters."""
        if not (self.writes or other.writes) or (self.commutes and self.commutes == other.commutes):
            return False
        if self.space and other.space and self.space != other.space:
            return False
        return self.objects is None or other.objects is None or not self.objects.isdisjoint(other.objects)


def find_accesses(flow: ControlFlowGraph, parameters: dict[str, int], private: frozenset[str]) -> dict[int, LaneAccess]:
    """Find the accesses of a kernel that other lanes may meet, by their statements.

    Args:
        flow: control flow of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.
        private: names of its local variables.
    """
    candidates = {index: item for index, item in enumerate(flow.statements) if _is_access(item)}
    if all(info(item).memory is MemoryEffect.READ for item in candidates.values()):
        return {}
    sources = PointsTo(flow.statements, parameters)
    allocates = any(isinstance(item, Call) and item.callee == Symbol("malloc") for item in flow.statements)
    used = effects.registers_read(flow.statements)
    accesses = {}
    for index, item in candidates.items():
        address = effects.address_of(item)
        if address is None:
            continue
        origins = sources.of(address.base)
        objects = None if origins is None else frozenset(origins)
        if objects is None and allocates:
            continue  # It may be the lane's own.
        if objects is not None and objects <= private:
            continue
        effect = info(item).memory
        commutes = ""
        if effect is MemoryEffect.UPDATE and used.isdisjoint(effects.sets(item)):
            commutes = effects.commutative_operation(item)
        accesses[index] = LaneAccess(
            index=index,
            address=address,
            count=lanes(item) * size(type_of(item)),
            space=space_of(item),
            objects=objects,
            writes=effect is not MemoryEffect.READ,
            reads=effect is not MemoryEffect.WRITE,
            commutes=commutes,
            is_synchronizing=is_synchronizing(item),
            is_polled=index in flow.polled,
        )
    return accesses


def _is_access(statement: Statement) -> TypeGuard[Instruction]:
    if not isinstance(statement, Instruction) or statement.opcode not in _OPCODES:
        return False
    if not {"nc", "async", "shared::cluster"}.isdisjoint(statement.modifiers):
        return False
    return space_of(statement) in ("", "global", "shared")


def may_depend(accesses: dict[int, LaneAccess]) -> bool:
    """Whether there are two different accesses, or one in a loop, that may meet; a quick test for most kernels."""
    written = [item for item in accesses.values() if item.writes]
    return any(item.may_meet(other) for item in written for other in accesses.values())


def are_apart(accesses: dict[int, LaneAccess]) -> bool:
    """Whether a buffer is written, and one that may be the same by another parameter is accessed."""
    everything = [item for item in accesses.values() if item.space != "shared"]
    pointers = {(item.writes, item.objects) for item in everything if item.objects is not None}
    return any(writes and objects.isdisjoint(others) for writes, objects in pointers for _, others in pointers)


# --- overlap ----------------------------------------------------------------------------------------------------------

Crossed = int
"""Header of the outermost loop around two accesses of which an iteration has ended between them; -1: none has."""


@dataclass(slots=True)
class LaneSite:
    """An access with what is known of it.

    Attributes:
        access: the access.
        block: of the control-flow graph.
        value: its address.
        bases: the variables and parameters whose addresses its own is relative to.
        active: the lanes that may make it.
    """

    access: LaneAccess
    block: int
    value: LaneValue
    bases: set[str]
    active: npt.NDArray[np.bool_]


class OverlapTest:
    """The accesses of one kernel, each in all lanes of a warp.

    Args:
        graph: the kernel's dominator tree and loops.
        parameters: name of each parameter -> its first byte in the parameter space.
        accesses: statement -> its access.
        width: threads of a warp along x; see `LaneValues`.

    Attributes:
        assumes_rows: whether an answer so far holds only for warps of that width.
    """

    def __init__(
        self, graph: Dominance, parameters: dict[str, int], accesses: dict[int, LaneAccess], width: int
    ) -> None:
        self._graph, self._flow, self._accesses = graph, graph.flow, accesses
        self._values = LaneGraph(graph, parameters)
        self._nodes = {index: self._values.read(item.address.base, index) for index, item in accesses.items()}
        self._guards = self._read_guards()
        self._conditions = self._read_conditions()
        self._exits = self._read_exits()
        self._sides = self._read_sides()
        self._values.complete()
        self._lanes = LaneValues(graph, self._values, width)
        self._uniform_loops = {header: all(map(self._lanes.is_shared, nodes)) for header, nodes in self._exits.items()}
        self._sites: dict[int, LaneSite] = {}
        self.assumes_rows = False

    @property
    def is_overfull(self) -> bool:
        """Whether the kernel has too many values to tell anything."""
        return self._values.overfull

    # --- reading the graph --------------------------------------------------------------------------------------------

    def _read_guards(self) -> dict[int, tuple[int, bool]]:
        """Statement, but for branches -> the predicate of its guard, and the value with which it is made."""
        guards = {}
        for number in self._graph.reachable:
            for index in self._flow.indices(number):
                item = self._flow.statements[index]
                if item.guard is not None and (isinstance(item, Call) or info(item).control is Control.NEXT):
                    guards[index] = self._values.read(Register(item.guard.register), index), not item.guard.negated
        return guards

    def _read_conditions(self) -> dict[int, list[tuple[int, bool]]]:
        """Access -> the predicates that its lanes must fulfil."""
        conditions: dict[int, list[tuple[int, bool]]] = {}
        for index in self._accesses:
            conditions[index] = []
            number = self._flow.block_at(index)
            if number not in self._graph.reachable:
                continue
            for before, after in self._graph.edges_above(number):
                decided = self._graph.condition(before, after)
                if decided is not None:
                    predicate, holds = decided
                    conditions[index].append((self._values.at_end(predicate, before), holds))
            if index in self._guards:
                conditions[index].append(self._guards[index])
        return conditions

    def _predicate(self, number: int, successor: int) -> int:
        """The node of an edge's predicate; 0, which is unknown, where no predicate decides."""
        decided = self._graph.condition(number, successor)
        return 0 if decided is None else self._values.at_end(decided[0], number)

    def _read_exits(self) -> dict[int, list[int]]:
        """Header -> the predicates that end its loop."""
        exits: dict[int, list[int]] = {}
        for header, loop in self._graph.loops.items():
            exits[header] = []
            for number in loop.blocks:
                for successor in self._flow.blocks[number].successors:
                    if successor not in loop.blocks:
                        exits[header].append(self._predicate(number, successor))
        return exits

    def _read_sides(self) -> list[tuple[BranchSides, int]]:
        """The branches, each with its predicate."""
        branches = []
        for sides in branch_sides(self._graph):
            successor = self._flow.blocks[sides.branch].successors[0]
            branches.append((sides, self._predicate(sides.branch, successor)))
        return branches

    def divergent_sides(self) -> list[BranchSides]:
        """The branches whose predicate may differ between lanes."""
        return [sides for sides, predicate in self._sides if not self._lanes.is_shared(predicate)]

    # --- one access ---------------------------------------------------------------------------------------------------

    def site(self, index: int) -> LaneSite:
        """An access, as its block sees it."""
        if index not in self._sites:
            access, block = self._accesses[index], self._flow.block_at(index)
            value = plus(self._at_block(self._lanes.of(self._nodes[index]), block), constant(access.address.offset))
            active = np.ones(LANES, np.bool_)
            for node, holds in self._conditions[index]:
                active &= self._possible(node, block, holds=holds)
            self._sites[index] = LaneSite(access, block, value, bases(value), active)
        return self._sites[index]

    def is_made_by_all_of(self, index: int, before: int, crossed: Crossed) -> bool:
        """Whether the guard of a statement holds in all lanes that made an access on the way to it."""
        if index not in self._guards:
            return True
        predicate, holds = self._guards[index]
        if crossed < 0 and (predicate, holds) in self._conditions[before]:
            return True
        left_out = self._possible(predicate, self._flow.block_at(index), holds=not holds)
        return not (self.site(before).active & left_out).any()

    def _at_block(self, value: LaneValue, block: int) -> LaneValue:
        """The value as a block sees it: after a loop that lanes may leave at different iterations, it varies.

        So it does after a header whose loop is not known.
        """
        loops = self._graph.loops

        def after_loops(atom: Atom) -> LaneValue | None:
            for header in atom.headers:
                is_inside = header in loops and block in loops[header].blocks
                if not is_inside and not self._uniform_loops.get(header):
                    return of_atom(Atom(f"{atom.name}.left", atom.least, varies=True))
            return None

        return substituted(value, after_loops) or of_atom(Atom("lost", None, varies=True))

    def _possible(self, node: int, block: int, *, holds: bool) -> npt.NDArray[np.bool_]:
        """The lanes in which a predicate may have a value."""
        everyone = np.ones(LANES, np.bool_)
        item = self._values.nodes[self._values.follow(node)]
        if not isinstance(item, Operation):
            return everyone
        if item.operator == "not":
            return self._possible(item.operands[0], block, holds=not holds)
        if item.operator in ("and", "or"):
            first, second = (self._possible(operand, block, holds=holds) for operand in item.operands)
            must_both = (item.operator == "and") == holds
            return first & second if must_both else first | second
        if not item.is_comparison:
            return everyone
        left, right = (self._at_block(self._lanes.of(operand), block) for operand in item.operands)
        low, high = bounds_in_lane(left, right)
        operator = item.operator if holds else NEGATED[item.operator]
        possible: dict[str, npt.NDArray[np.bool_]] = {
            "==": (low <= 0) & (high >= 0),
            "!=": (low != 0) | (high != 0),
            "<": low < 0,
            "<=": low <= 0,
            ">": high > 0,
            ">=": high >= 0,
        }
        return possible[operator]

    # --- two accesses -------------------------------------------------------------------------------------------------

    def overlap(self, first: LaneSite, second: LaneSite, crossed: Crossed, *, certainly: bool = True) -> Pairs:
        """Where two accesses may overlap; `certainly`: of two stores only where they do for certain."""
        if first.bases and second.bases and first.bases.isdisjoint(second.bases):
            return np.zeros((LANES, LANES), np.bool_)
        self.assumes_rows = True
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

    def _are_split_partners(self, first: LaneSite, second: LaneSite) -> bool:
        """Whether two accesses reach elements `i` and `i ^ mask`, of which a condition lets one lane have both."""
        if not self._lanes.partners:
            return False
        first_part, second_part = varying_part(first.value), varying_part(second.value)
        if first_part == second_part and first_part is not None and first_part[0].name in self._lanes.partners:
            return is_zero(first.value, second.value)
        return self._splits(first, second) or self._splits(second, first)

    def _splits(self, site: LaneSite, partner: LaneSite) -> bool:
        """Whether one access reaches `i`, the other one `i ^ mask`, and both happen on one side of `i < i ^ mask`."""
        part = varying_part(partner.value)
        if part is None or part[0].name not in self._lanes.partners or varying_part(site.value) is not None:
            return False
        atom, factor = part
        partner_of = self._lanes.partners[atom.name]
        moved = plus(plus(partner.value, of_atom(atom), -factor), partner_of, factor)
        side = self._side(site, atom, partner_of)
        return is_zero(moved, site.value) and side != 0 and side == self._side(partner, atom, partner_of)

    def _side(self, site: LaneSite, atom: Atom, partner_of: LaneValue) -> int:
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
            sign = 1 if item.operator.startswith(">") == holds else -1
            if is_zero(left, of_atom(atom)) and is_zero(right, partner_of):
                return sign
            if is_zero(right, of_atom(atom)) and is_zero(left, partner_of):
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
