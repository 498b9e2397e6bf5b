"""Overlap test of two accesses in a warp: the address of each lane, and which lanes are active."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.analysis.dominance import Dominance
from gpuregress.virtual_gpu.analysis.lanes.accesses import LaneAccess
from gpuregress.virtual_gpu.analysis.lanes.branch_sides import BranchSides, branch_sides
from gpuregress.virtual_gpu.analysis.lanes.distances import (
    Pairs,
    bases,
    bounds,
    bounds_in_lane,
    is_zero,
    never_equal,
    varying_part,
)
from gpuregress.virtual_gpu.analysis.lanes.values import (
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
from gpuregress.virtual_gpu.ptx.tree import Register
from gpuregress.virtual_gpu.runtime.footprint_ir import COMPARISONS, Operation

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

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

    def _side(self, site: LaneSite, atom: Atom, own: LaneValue) -> int:
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
