"""The check of a row of threads against those of its threads one after the other."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I1, I64, POINTER, open_function
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.access_check import RaceRules, RowAccess, RowRules
from gpuregress.virtual_gpu.checks.shadow_cells import READ, WRITE, CellAccess
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import BlockState, ShadowMemory
from gpuregress.virtual_gpu.runtime.machine_layout import SYSCALL, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace

THREADS, BYTES = 4, 128
KINDS = {"read": (True, False, True), "write": (False, True, False), "update": (True, True, False)}
KINDS |= {"write, then read": (False, True, True)}
ROWS = [
    RowAccess(space, step, count, *kind)
    for space, step, count in [("shared", 4, 4), ("shared", -8, 4), ("global", 8, 8), ("global", 4, 4)]
    for kind in KINDS.values()
]
FIRST = {4: 0, 8: 8, -8: 64}
"""The first thread's address, by the step."""
OLDEST, START, OPEN, NOW = 2, 3, 6, 8


def _exported(unit: Unit, name: str, call: Callable[..., ir.Value], count: int, result: ir.Type | None = None) -> str:
    """The name of a function that calls a subroutine with a machine and some numbers."""
    kind = ir.FunctionType(result or ir.VoidType(), [POINTER, *[I64] * count])
    function = ir.Function(unit.module, kind, name)
    b = open_function(function)
    answer = call(b, *function.args)
    if result is None:
        b.ret_void()
    else:
        b.ret(answer)
    return name


class Rules:
    """The compiled subroutines, and the state that they work on."""

    def __init__(self) -> None:
        unit = Unit(parse(".version 8.0\n.target sm_90\n.address_size 64\n"))
        unit.granules = {"shared": 2, "global": 2}
        rules = RaceRules(unit, unit.granules, races=True, uninitialized=True)
        rows = RowRules(rules)
        self.names, self.singles = {}, {}
        for row in ROWS:
            test = _exported(unit, f"test.{row.name}", partial(rows.test, row), 3, I1)
            note = _exported(unit, f"note.{row.name}", partial(rows.note, row), 4)
            self.names[row] = (test, note)
            for action in (READ, WRITE):
                check = partial(rules.access, _single(row, action), row.space)
                self.singles[row, action] = _exported(unit, f"{action}.{row.name}", check, 2)
        self.code = llvm_backend.LoadedCode(llvm_backend.compile_object(str(unit.module), is_optimised=False))
        self.space, self.shadow, self.block = AddressSpace(), ShadowMemory(), BlockState()
        self.region = self.space.allocate("x", BYTES)
        self.reports = 0
        self.machine = Machine(checks=self.shadow.address)
        self._callback = SYSCALL(self._report)
        self.machine.syscall = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _report(self, *_: object) -> int:
        self.reports += 1
        return 0

    def call(self, name: str, *arguments: int, answers: bool = False) -> bool:
        """Call a subroutine with the machine and numbers."""
        result = ctypes.c_bool if answers else None
        kind = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *[ctypes.c_uint64] * len(arguments))
        numbers = (value & (1 << 64) - 1 for value in arguments)
        return bool(kind(self.code.address(name))(ctypes.addressof(self.machine), *numbers))

    def prepare(self, space: str, flags: int, words: list[int]) -> npt.NDArray[np.uint64]:
        """Set the cells of a space; return them."""
        self.shadow.begin_launch(self.space.all(), 2, 1)
        self.block.prepare(BYTES, 2)
        self.machine.block_checks = self.block.address
        for name, stamp in (("start", START), ("open", OPEN), ("turn", START), ("quick", OPEN)):
            self.block._state[layout.BLOCK[name] // 8] = stamp << layout.STAMP_SHIFT
        self.shadow._set("oldest", OLDEST << layout.STAMP_SHIFT)
        self.shadow._table[self.region.number, 0] |= np.uint64(flags)
        cells = self.block._cells if space == "shared" else self.shadow._cells[self.region.number][2]
        cells[:] = np.resize(np.array(words, np.uint64), len(cells))
        self.reports = 0
        return cells


def _single(row: RowAccess, action: str) -> CellAccess:
    return CellAccess(action, is_strong=False, reads=False, count=row.count)


@pytest.fixture(scope="module")
def rules() -> Iterator[Rules]:
    built = Rules()
    yield built
    built.code.close()


def _epoch(stamp: int, thread: int, level: int) -> int:
    return stamp << layout.STAMP_SHIFT | thread << layout.THREAD_SHIFT | level << layout.LEVEL_SHIFT if stamp else 0


_WRITES = st.builds(_epoch, st.sampled_from([0, 1, 4, 4, 5, NOW]), st.integers(0, THREADS), st.just(0))
_READERS = st.builds(_epoch, st.sampled_from([0, 1, 4, NOW, NOW]), st.sampled_from([0, 1, 3, 40]), st.integers(0, 3))


@settings(max_examples=100, deadline=None)
@given(
    row=st.sampled_from(ROWS),
    flags=st.sampled_from([0, 0, layout.FILLED, layout.RACE_FREE, layout.REGION_FLAGS]),
    words=st.lists(st.tuples(_WRITES, _READERS), min_size=1, max_size=5),
)
def test_a_row_is_noted_as_its_threads_are(
    rules: Rules, row: RowAccess, flags: int, words: list[tuple[int, int]]
) -> None:
    start = FIRST[row.step] + (0 if row.space == "shared" else rules.region.address)
    flat = [word for pair in words for word in pair]
    test, note = rules.names[row]
    epoch = NOW << layout.STAMP_SHIFT
    cells = rules.prepare(row.space, flags, flat)
    before = cells.copy()
    holds = rules.call(test, start, epoch, THREADS, answers=True)
    assert np.array_equal(cells, before)
    if not holds:
        return
    rules.call(note, start, epoch, epoch, THREADS)
    noted = cells.copy()
    cells = rules.prepare(row.space, flags, flat)
    actions = [READ] * row.reads_first + [WRITE] * row.writes + [READ] * (row.reads_last and row.writes)
    for thread in range(THREADS):
        for action in actions:
            own = epoch | thread << layout.THREAD_SHIFT
            rules.call(rules.singles[row, action], start + thread * row.step, own)
    assert not rules.reports
    assert np.array_equal(noted, cells)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_fresh_memory_holds_unless_it_is_read(rules: Rules, row: RowAccess) -> None:
    start = FIRST[row.step] + (0 if row.space == "shared" else rules.region.address)
    for flags, word in ((0, 0), (0, 5 << layout.STAMP_SHIFT), (layout.REGION_FLAGS, 0)):
        rules.prepare(row.space, flags, [word, 0])
        expected = bool(word) or not row.reads_first or (row.space == "global" and bool(flags))
        assert rules.call(rules.names[row][0], start, NOW << layout.STAMP_SHIFT, THREADS, answers=True) is expected
