"""Parts that are called apart are: random formulas, loops, joins and guards against all threads enumerated."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gpuregress.devices.cpu.parallel import partition
from gpuregress.devices.cpu.parallel.affine_expressions import Knowledge, NotUnderstoodError, Sum
from gpuregress.devices.cpu.parallel.dependence import Apart, Places
from gpuregress.devices.cpu.runtime.memory import AddressSpace
from gpuregress.devices.cpu.runtime.textures import Textures
from gpuregress.records import Dim3
from tests.devices.cpu import enumerated

FIRST, SECOND = 0, 8
"""Where the parameters are: two buffers, then numbers of four bytes."""
NUMBERS = (16, 20, 24)
LOOP, AFTER = 10, 20
"""The head of the loop that there may be, and the join behind it."""


class Formulas:
    """Makes a footprint's nodes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.nodes: list[list[Any]] = []

    def new(self, *row: Any) -> int:
        if list(row) not in self.nodes:
            self.nodes.append(list(row))
        return self.nodes.index(list(row))

    def leaf(self) -> int:
        draw = self.draw
        kind = draw(st.sampled_from(["tid.x", "ctaid.x", "ctaid.y", "global", "number", "parameter"]))
        if kind == "number":
            return self.new("c", draw(st.sampled_from([0, 1, 2, 3, 4, 7, 8, 16, -1, -4, 1 << 30, (1 << 32) // 3 + 1])))
        if kind == "parameter":
            return self.new("p", draw(st.sampled_from(NUMBERS)), 4)
        if kind == "global":
            return self.new(
                "+", self.new("*", self.new("x", "ctaid.x"), self.new("x", "ntid.x")), self.new("x", "tid.x")
            )
        return self.new("x", kind)

    def index(self, depth: int) -> int:
        """32 bits."""
        draw = self.draw
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            return self.leaf()
        kind = draw(
            st.sampled_from(
                ["+", "+", "+", "-", "*", "*", "<<", ">>", "&", "|", "^", "/", "%", "hi", "min", "max", "?:"]
            )
        )
        left = self.index(depth - 1)
        if kind in ("+", "-", "min", "max"):
            right = self.index(depth - 1)
            signs = [draw(st.booleans()), 32] if kind in ("min", "max") else []
            return self.new(kind, *signs, left, right)
        if kind == "?:":
            return self.new(kind, self.condition(1), left, self.index(depth - 1))
        right = self.new("c", draw(st.sampled_from([1, 2, 3, 4, 7, 8, 16])))
        if kind == "*":
            return self.new(kind, left, draw(st.sampled_from([right, self.new("p", NUMBERS[0], 4)])))
        return self.new(kind, *([32] if kind in ("<<", "&", "|", "^") else [draw(st.booleans()), 32]), left, right)

    def condition(self, depth: int) -> int:
        draw = self.draw
        if depth and draw(st.integers(0, 3)) == 0:
            return self.new(draw(st.sampled_from(["and", "or"])), self.condition(0), self.condition(0))
        order = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
        return self.new("cmp", order, draw(st.booleans()), 32, self.index(1), self.leaf())

    def bound(self, value: int) -> int:
        """What a loop's value is compared with: the same in all rounds, or not."""
        kind = self.draw(st.sampled_from(["", "", "&", "?:", "min"]))
        if kind == "&":
            return self.new("&", 32, value, self.new("c", self.draw(st.sampled_from([7, 5]))))
        if kind == "min":
            return self.new("min", True, 32, value, self.leaf())
        if kind == "?:":
            return self.new("?:", self.new("cmp", "<", True, 32, value, self.leaf()), self.leaf(), self.leaf())
        return self.index(1)

    def address(self, index: int) -> int:
        buffer = self.new("p", self.draw(st.sampled_from([FIRST, FIRST, FIRST, SECOND])), 8)
        wide = self.new("widen", self.draw(st.booleans()), index)
        return self.new("+", buffer, self.new("*", wide, self.new("c", 4)))


@st.composite
def footprints(draw: st.DrawFn) -> dict[str, Any]:
    """A loop, perhaps, a join behind it, and accesses to four bytes in it or behind it."""
    make = Formulas(draw)
    loops: dict[str, Any] = {}
    joins: dict[str, Any] = {}
    indexes = [make.index(3), make.index(2)]
    if draw(st.booleans()):
        step = draw(
            st.sampled_from([make.new("c", 1), make.new("c", 4), make.new("c", -1), make.new("p", NUMBERS[1], 4)])
        )
        value = make.new("round", LOOP, indexes[0], [[1, step]])
        following = make.new("+", value, step)
        other = make.new("round", LOOP, make.index(1), [[1, make.new("c", draw(st.sampled_from([1, -1, 8])))]])
        tested = draw(st.sampled_from([following, following, other]))
        order = draw(st.sampled_from(["<", "<", "!=", ">", "<="]))
        again = [[make.new("cmp", order, draw(st.booleans()), 32, tested, make.bound(other)), True]]
        if draw(st.booleans()):
            again.append([make.new("cmp", "<", True, 32, draw(st.sampled_from([value, other])), make.leaf()), True])
        before = [[make.condition(1), True]] if draw(st.booleans()) else []
        loops[str(LOOP)] = [again, before]
        left = [
            [*before, [again[0][0], False]] if len(again) == 1 else before,
            [[before[0][0], False]] if before else [[make.new("c", 0), True]],
        ]
        joins[str(AFTER)] = {"1": left[0], "2": left[1]}
        joined = make.new("join", AFTER, [[1, following], [2, indexes[0]]])
        indexes = [value, other, joined, make.new("+", joined, make.index(1))]
    accesses: list[list[Any]] = []
    for kind in ["write", *draw(st.lists(st.sampled_from(["write", "read"]), max_size=2))]:
        node = make.address(draw(st.sampled_from(indexes)))
        conditions = [[make.condition(1), draw(st.booleans())] for _ in range(draw(st.integers(0, 2)))]
        entry = [kind, draw(st.sampled_from([4, 4, 8])), node, draw(st.sampled_from([0, 4, -4, 2])), conditions]
        accesses.append(entry if kind == "write" else [*entry, [FIRST, SECOND]])
    return {"nodes": make.nodes, "loops": loops, "joins": joins, "accesses": accesses, "has_loops": bool(loops)}


@settings(max_examples=400, deadline=None)
@given(
    footprint=footprints(),
    grid=st.sampled_from([(4, 1, 1), (6, 1, 1), (2, 3, 1), (3, 2, 1), (8, 1, 1), (3, 3, 1), (2, 1, 3)]),
    block=st.sampled_from([(4, 1, 1), (2, 1, 1), (8, 1, 1)]),
    numbers=st.tuples(*[st.sampled_from([0, 1, 2, 4, 8, 9, 16, 30, 32, -1, 1 << 29, (1 << 32) // 3 + 1])] * 3),
    count=st.sampled_from([2, 3]),
)
def test_what_is_called_apart_is(
    footprint: dict[str, Any], grid: Dim3, block: Dim3, numbers: tuple[int, ...], count: int
) -> None:
    space = AddressSpace()
    buffers = [space.allocate(name, 4096).address for name in "ab"]
    parameters = struct.pack("<QQiii", *buffers, *numbers)
    total = grid[0] * grid[1] * grid[2]
    cuts = [number * total // count for number in range(count + 1)]
    try:
        apart = Apart(footprint, partition._ranges(grid, block), parameters, Places(space, Textures(), {}))
    except NotUnderstoodError:
        event("not understood")
        return
    called_apart = apart.parts([partition._boxes(first, end, grid) for first, end in pairwise(cuts)])
    event("called apart" if called_apart else "not apart")
    if called_apart:
        try:
            assert not enumerated.clash(footprint, parameters, grid, block, cuts)
        except enumerated.EndlessError:
            event("endless")


@pytest.mark.parametrize(
    ("step", "end", "is_apart"), [(1 << 28, 1 << 30, True), (1 << 28, (1 << 31) - 1, False), (5, 70, False)]
)
def test_a_counter_that_wraps_bounds_no_rounds(step: int, end: int, is_apart: bool) -> None:  # noqa: FBT001 - a parameter
    """One counter must stay below an end, which it does once it wraps; another one is written at."""
    nodes: list[list[Any]] = [
        ["x", "ctaid.x"],
        ["c", step],
        ["round", LOOP, 0, [[1, 1]]],
        ["+", 2, 1],
        ["c", end],
        ["cmp", "<", True, 32, 3, 4],
        ["c", 1],
        ["c", 0],
        ["round", LOOP, 7, [[1, 6]]],
        ["c", 20],
        ["cmp", "<", True, 32, 8, 9],
        ["*", 0, 12],
        ["c", 12],
        ["+", 11, 8],
        ["widen", True, 13],
        ["c", 4],
        ["*", 14, 15],
        ["p", FIRST, 8],
        ["+", 17, 16],
    ]
    footprint = {
        "nodes": nodes,
        "loops": {str(LOOP): [[[5, True], [10, True]], []]},
        "joins": {},
        "accesses": [["write", 4, 18, 0, []]],
        "has_loops": True,
    }
    space, grid, block = AddressSpace(), (4, 1, 1), (1, 1, 1)
    parameters = struct.pack("<QQiii", space.allocate("a", 4096).address, 0, 0, 0, 0)
    assert enumerated.clash(footprint, parameters, grid, block, [0, 2, 4]) is not is_apart
    assert _called_apart(footprint, parameters, grid, block, [0, 2, 4], space) is is_apart


def _called_apart(
    footprint: dict[str, Any], parameters: bytes, grid: Dim3, block: Dim3, cuts: list[int], space: AddressSpace
) -> bool:
    try:
        apart = Apart(footprint, partition._ranges(grid, block), parameters, Places(space, Textures(), {}))
    except NotUnderstoodError:
        return False
    return apart.parts([partition._boxes(first, end, grid) for first, end in pairwise(cuts)])


@settings(max_examples=300, deadline=None)
@given(
    constraints=st.lists(st.tuples(*[st.integers(-4, 4)] * 4), max_size=4),
    asked=st.tuples(*[st.integers(-6, 6)] * 4),
    ranges=st.tuples(*[st.tuples(st.integers(-3, 2), st.integers(0, 4))] * 3),
)
def test_bounds_hold_for_all_numbers(
    constraints: list[tuple[int, ...]], asked: tuple[int, ...], ranges: tuple[tuple[int, int], ...]
) -> None:
    known = Knowledge({name: (low, low + size) for name, (low, size) in zip("abc", ranges, strict=True)})
    for row in constraints:
        known.constrain(_sum(row))
    allowed = [
        values
        for values in _product([range(low, low + size + 1) for low, size in ranges])
        if all(_at(row, values) <= 0 for row in constraints)
    ]
    assert known.possible() or not allowed
    for values in allowed:
        assert known.least(_sum(asked)) <= _at(asked, values) <= known.most(_sum(asked))


def _sum(row: tuple[int, ...]) -> Sum:
    return Sum(row[0], {name: factor for name, factor in zip("abc", row[1:], strict=True) if factor})


def _at(row: tuple[int, ...], values: tuple[int, ...]) -> int:
    return row[0] + sum(factor * value for factor, value in zip(row[1:], values, strict=True))


def _product(ranges: list[range]) -> list[tuple[int, ...]]:
    return [(a, b, c) for a in ranges[0] for b in ranges[1] for c in ranges[2]]


@given(
    grid=st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)),
    ends=st.tuples(st.integers(0, 80), st.integers(0, 80)),
)
def test_boxes_are_the_blocks_of_a_part(grid: tuple[int, int, int], ends: tuple[int, int]) -> None:
    first, end = sorted(min(item, grid[0] * grid[1] * grid[2]) for item in ends)
    if first == end:
        return
    found = [
        x + grid[0] * (y + grid[1] * z)
        for box in partition._boxes(first, end, grid)
        for z in range(box["ctaid.z"][0], box["ctaid.z"][1] + 1)
        for y in range(box["ctaid.y"][0], box["ctaid.y"][1] + 1)
        for x in range(box["ctaid.x"][0], box["ctaid.x"][1] + 1)
    ]
    assert found == list(range(first, end))
