"""Parts that the dependence test calls independent: random footprints against all threads enumerated."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu.parallel import partition
from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch, NotAffineError
from gpuregress.virtual_gpu.parallel.dependence import DependenceTest
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Condition,
    Conditions,
    Constant,
    Coordinate,
    Footprint,
    Induction,
    LoopConditions,
    Node,
    Operation,
    ParameterValue,
    Phi,
    Read,
    Write,
)
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.textures import Textures
from tests.virtual_gpu.parallel import enumerated

FIRST, SECOND = 0, 8
"""Where the parameters are: two buffers, then numbers of four bytes."""
NUMBERS = (16, 20, 24)
UNSIZED = frozenset(["+", "-", "*", "widen", "select", "and", "or"])
LOOP, AFTER = 10, 20
"""The head of the loop that there may be, and the join behind it."""


class Formulas:
    """Makes a footprint's nodes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.nodes: list[Node] = []

    def new(self, node: Node) -> int:
        if node not in self.nodes:
            self.nodes.append(node)
        return self.nodes.index(node)

    def operation(self, operator: str, *operands: int, signed: bool = False) -> int:
        return self.new(Operation(operator, operands, 0 if operator in UNSIZED else 32, signed))

    def constant(self, *values: int) -> int:
        return self.new(Constant(self.draw(st.sampled_from(values))))

    def leaf(self) -> int:
        kind = self.draw(st.sampled_from(["tid.x", "ctaid.x", "ctaid.y", "global", "number", "parameter"]))
        if kind == "number":
            return self.constant(0, 1, 2, 3, 4, 7, 8, 16, -1, -4, 1 << 30, (1 << 32) // 3 + 1)
        if kind == "parameter":
            return self.new(ParameterValue(self.draw(st.sampled_from(NUMBERS)), 4))
        if kind == "global":
            block, size, thread = (self.new(Coordinate(name)) for name in ("ctaid.x", "ntid.x", "tid.x"))
            return self.operation("+", self.operation("*", block, size), thread)
        return self.new(Coordinate(kind))

    def index(self, depth: int) -> int:
        """32 bits."""
        draw = self.draw
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            return self.leaf()
        operators = ["+", "+", "+", "-", "*", "*", "<<", ">>", "&", "|", "^", "/", "%", "hi", "min", "max", "select"]
        operator = draw(st.sampled_from(operators))
        left = self.index(depth - 1)
        if operator in ("+", "-"):
            return self.operation(operator, left, self.index(depth - 1))
        if operator in ("min", "max"):
            return self.operation(operator, left, self.index(depth - 1), signed=draw(st.booleans()))
        if operator == "select":
            return self.operation(operator, self.condition(1), left, self.index(depth - 1))
        right = self.constant(1, 2, 3, 4, 7, 8, 16)
        if operator == "*":
            right = draw(st.sampled_from([right, self.new(ParameterValue(NUMBERS[0], 4))]))
        signed = operator in (">>", "/", "%", "hi") and draw(st.booleans())
        return self.operation(operator, left, right, signed=signed)

    def condition(self, depth: int) -> int:
        draw = self.draw
        if depth and draw(st.integers(0, 3)) == 0:
            return self.operation(draw(st.sampled_from(["and", "or"])), self.condition(0), self.condition(0))
        operator = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
        return self.operation(operator, self.index(1), self.leaf(), signed=draw(st.booleans()))

    def bound(self, value: int) -> int:
        """The side that a loop's value is compared with: invariant, or not."""
        operator = self.draw(st.sampled_from(["", "", "&", "select", "min"]))
        if operator == "&":
            return self.operation("&", value, self.constant(7, 5))
        if operator == "min":
            return self.operation("min", value, self.leaf(), signed=True)
        if operator == "select":
            less = self.operation("<", value, self.leaf(), signed=True)
            return self.operation("select", less, self.leaf(), self.leaf())
        return self.index(1)

    def address(self, index: int) -> int:
        buffer = self.new(ParameterValue(self.draw(st.sampled_from([FIRST, FIRST, FIRST, SECOND])), 8))
        wide = self.operation("widen", index, signed=self.draw(st.booleans()))
        return self.operation("+", buffer, self.operation("*", wide, self.constant(4)))


@st.composite
def footprints(draw: st.DrawFn) -> Footprint:
    """A loop, perhaps, a join behind it, and accesses to four bytes in it or behind it."""
    make = Formulas(draw)
    loops: dict[int, LoopConditions] = {}
    joins: dict[int, dict[int, Conditions]] = {}
    indexes = [make.index(3), make.index(2)]
    if draw(st.booleans()):
        step = draw(st.sampled_from([make.constant(1, 4, -1), make.new(ParameterValue(NUMBERS[1], 4))]))
        value = make.new(Induction(LOOP, (1,), (indexes[0], step)))
        following = make.operation("+", value, step)
        other = make.new(Induction(LOOP, (1,), (make.index(1), make.constant(1, -1, 8))))
        tested = draw(st.sampled_from([following, following, other]))
        operator, signed = draw(st.sampled_from(["<", "<", "!=", ">", "<="])), draw(st.booleans())
        compared = make.operation(operator, tested, make.bound(other), signed=signed)
        repeat: Conditions = (Condition(compared, holds=True),)
        if draw(st.booleans()):
            inner = make.operation("<", draw(st.sampled_from([value, other])), make.leaf(), signed=True)
            repeat += (Condition(inner, holds=True),)
        enter = (Condition(make.condition(1), holds=True),) if draw(st.booleans()) else ()
        loops[LOOP] = LoopConditions(repeat, enter)
        left = (*enter, Condition(repeat[0].predicate, holds=False)) if len(repeat) == 1 else enter
        skipped = Condition(enter[0].predicate, holds=False) if enter else Condition(make.new(Constant(0)), holds=True)
        joins[AFTER] = {1: left, 2: (skipped,)}
        joined = make.new(Phi(AFTER, (1, 2), (following, indexes[0])))
        indexes = [value, other, joined, make.operation("+", joined, make.index(1))]
    accesses: list[Write | Read] = []
    for kind in ["write", *draw(st.lists(st.sampled_from(["write", "read"]), max_size=2))]:
        node, size = make.address(draw(st.sampled_from(indexes))), draw(st.sampled_from([4, 4, 8]))
        conditions = tuple(Condition(make.condition(1), draw(st.booleans())) for _ in range(draw(st.integers(0, 2))))
        offset = draw(st.sampled_from([0, 4, -4, 2]))
        write = Write(size, node, offset, conditions)
        accesses.append(write if kind == "write" else Read(size, node, offset, conditions, (FIRST, SECOND)))
    return Footprint(tuple(make.nodes), loops, joins, tuple(accesses), bool(loops))


@settings(max_examples=150, deadline=None)
@given(
    footprint=footprints(),
    grid=st.sampled_from([(4, 1, 1), (6, 1, 1), (2, 3, 1), (3, 2, 1), (8, 1, 1), (3, 3, 1), (2, 1, 3)]),
    block=st.sampled_from([(4, 1, 1), (2, 1, 1), (8, 1, 1)]),
    numbers=st.tuples(*[st.sampled_from([0, 1, 2, 4, 8, 9, 16, 30, 32, -1, 1 << 29, (1 << 32) // 3 + 1])] * 3),
    count=st.sampled_from([2, 3]),
)
def test_independent_parts_do_not_clash(
    footprint: Footprint, grid: Dim3, block: Dim3, numbers: tuple[int, ...], count: int
) -> None:
    space = AddressSpace()
    buffers = [space.allocate(name, 4096).address for name in "ab"]
    parameters = struct.pack("<QQiii", *buffers, *numbers)
    total = grid[0] * grid[1] * grid[2]
    cuts = [number * total // count for number in range(count + 1)]
    independent = _is_independent(footprint, parameters, grid, block, cuts, space)
    event("independent" if independent else "not independent")
    if independent:
        try:
            assert not enumerated.clash(footprint, parameters, grid, block, cuts)
        except enumerated.EndlessError:
            event("endless")


@pytest.mark.parametrize(
    ("step", "end", "independent"), [(1 << 28, 1 << 30, True), (1 << 28, (1 << 31) - 1, False), (5, 70, False)]
)
def test_a_counter_that_wraps_bounds_no_iterations(step: int, end: int, independent: bool) -> None:  # noqa: FBT001 - a parameter
    """One counter must stay below an end, which it does once it wraps; another one is written at."""
    nodes: tuple[Node, ...] = (
        Coordinate("ctaid.x"),
        Constant(step),
        Induction(LOOP, (1,), (0, 1)),
        Operation("+", (2, 1)),
        Constant(end),
        Operation("<", (3, 4), 32, signed=True),
        Constant(1),
        Constant(0),
        Induction(LOOP, (1,), (7, 6)),
        Constant(20),
        Operation("<", (8, 9), 32, signed=True),
        Operation("*", (0, 12)),
        Constant(12),
        Operation("+", (11, 8)),
        Operation("widen", (13,), signed=True),
        Constant(4),
        Operation("*", (14, 15)),
        ParameterValue(FIRST, 8),
        Operation("+", (17, 16)),
    )
    repeat = (Condition(5, holds=True), Condition(10, holds=True))
    loops = {LOOP: LoopConditions(repeat, ())}
    footprint = Footprint(nodes, loops, {}, (Write(4, 18, 0, ()),), has_loops=True)
    space, grid, block = AddressSpace(), (4, 1, 1), (1, 1, 1)
    parameters = struct.pack("<QQiii", space.allocate("a", 4096).address, 0, 0, 0, 0)
    assert enumerated.clash(footprint, parameters, grid, block, [0, 2, 4]) is not independent
    assert _is_independent(footprint, parameters, grid, block, [0, 2, 4], space) is independent


def _is_independent(
    footprint: Footprint, parameters: bytes, grid: Dim3, block: Dim3, cuts: list[int], space: AddressSpace
) -> bool:
    launch = KernelLaunch(None, grid, block, parameters, AddressMap(space, Textures(), {}))
    try:
        test = DependenceTest(footprint, launch)
    except NotAffineError:
        return False
    return test.is_independent([partition._boxes(first, end, grid) for first, end in pairwise(cuts)])
