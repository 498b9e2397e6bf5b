"""Happens-before check of a row of threads, as subroutines of the module.

The threads access memory with a stride. A loop examines the cells of all of them before it changes any. If the quick
way of `cell_rules` does not suffice for each, nothing is changed, and the threads run one by one in the code that
checks each access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.structured import Cell, at, counted, i64, open_function
from gpuregress.virtual_gpu.builder.types import I1, I64, POINTER
from gpuregress.virtual_gpu.checks.cells.cell_access import READ, WRITE, CellAccess
from gpuregress.virtual_gpu.checks.cells.shadow_place import ShadowPlace, has_flags, load_word
from gpuregress.virtual_gpu.checks.race_rules import RaceRules
from gpuregress.virtual_gpu.runtime.checks import layout

CellTest: TypeAlias = Callable[[ir.IRBuilder, ir.Value, ShadowPlace], ir.Value]
"""(builder, cell, place) → whether a test holds."""


class RowAccess(Record):
    """The plain accesses that each thread of a row makes to an address of its own.

    Attributes:
        space: `shared` or `global`.
        step: bytes from a thread's address to that of the next one; not 0.
        count: bytes.
        reads_first: whether the first access is a read.
        writes: whether any is a write.
        reads_last: whether the last access is a read.
        is_incoherent: whether a read is through a cache that sees no writes of its launch.
    """

    space: str
    step: int
    count: int
    reads_first: bool
    writes: bool
    reads_last: bool
    is_incoherent: bool = False

    @property
    def name(self) -> str:
        """A part of the subroutines' names."""
        words = [("reads_first", self.reads_first), ("writes", self.writes), ("reads_last", self.reads_last)]
        words.append(("incoherent", self.is_incoherent))
        return ".".join([self.space, str(self.count), str(self.step), *(word for word, holds in words if holds)])


class RowRules:
    """The subroutines of one module.

    Args:
        rules: those of a single access.
    """

    def __init__(self, rules: RaceRules) -> None:
        self._rules = rules

    def is_initialized(self) -> ir.Function:
        """`(machine, first address, distance, cells)` → whether the block has written shared memory there."""
        function, is_new = self._rules.function("check.is_initialized", I1, (POINTER, I64, I64, I64))
        if is_new:
            function.attributes.add("noinline")
            machine, address, distance, count = function.args
            b = open_function(function)
            where = self._rules.shared_place(b, machine, address, i64(0))
            first = self._rules.first_cell(b, where)
            bad = Cell(b, i64(0))
            with counted(b, count) as number:
                write = b.load(at(b, first, b.mul(number, distance)), typ=I64)
                void = self._rules.cells.is_void(b, write, where)
                bad.set(b.or_(bad.get(b), b.zext(void, I64)), b)
            b.ret(b.icmp_unsigned("==", bad.get(b), i64(0)))
        return function

    def test(self, access: RowAccess) -> ir.Function:
        """`(machine, first thread's address, its epoch, threads)` → whether the quick way suffices for all."""
        function, is_new = self._rules.function(f"check.row.{access.name}.test", I1, (POINTER, I64, I64, I64))
        if not is_new:
            return function
        function.attributes.add("noinline")
        function.attributes.add("optsize")
        machine, address, epoch, count = function.args
        b = open_function(function)
        no, yes = ir.Constant(I1, 0), ir.Constant(I1, 1)
        filled: ir.Value = no
        if access.space == "shared":
            where = self._rules.shared_place(b, machine, address, epoch)
            first = self._rules.first_cell(b, where)
        else:
            tagged, where = self._rules.global_place(b, machine, address, epoch)
            with b.if_then(has_flags(b, tagged, layout.REGION_FLAGS)):
                b.ret(yes)
            with b.if_then(b.icmp_unsigned("==", tagged, i64(0)), likely=False):
                b.ret(no)
            first = self._rules.first_cell(b, where)
            with b.if_then(has_flags(b, tagged, layout.RACE_FREE)):
                holds = (
                    self._all(b, access, first, where, count, self._is_written)
                    if access.reads_first and self._rules.uninitialized
                    else yes
                )
                b.ret(holds)
            filled = b.trunc(tagged, I1)
        actions = [READ] * (access.reads_first or not access.writes) + [WRITE] * access.writes

        def is_quick(b: ir.IRBuilder, cell: ir.Value, place: ShadowPlace) -> ir.Value:
            answer: ir.Value = yes
            for action in actions:
                is_stale = access.is_incoherent and action == READ
                single = CellAccess(action, is_strong=False, reads=False, count=access.count, is_incoherent=is_stale)
                answer = b.and_(answer, self._rules.cells.quick(b, single, cell, place, filled)[0])
            return answer

        if access.space == "global" or not self._rules.cells.flies:
            reads = access.reads_first or not access.writes

            def is_untouched(b: ir.IRBuilder, cell: ir.Value, place: ShadowPlace) -> ir.Value:
                single = CellAccess(READ, is_strong=False, reads=False, count=access.count)
                return self._rules.cells.is_untouched(b, single, cell, place, filled if reads else yes)

            # As a rule it is so, and tells it in a fourth of the steps.
            with b.if_then(self._all(b, access, first, where, count, is_untouched), likely=True):
                self._forget_lists(b, access, first, where, count)
                b.ret(yes)
        b.ret(self._all(b, access, first, where, count, is_quick))
        return function

    def note(self, access: RowAccess) -> ir.Function:
        """`(machine, first thread's address, epoch of its write, of its read, threads)`: note the accesses of all."""
        types = (POINTER, I64, I64, I64, I64)
        function, is_new = self._rules.function(f"check.row.{access.name}.note", ir.VoidType(), types)
        if not is_new:
            return function
        function.attributes.add("noinline")
        function.attributes.add("optsize")
        machine, address, written, read, count = function.args
        b = open_function(function)
        if access.space == "shared":
            where = self._rules.shared_place(b, machine, address, read)
            first = self._rules.first_cell(b, where)
        else:
            tagged, where = self._rules.global_place(b, machine, address, read)
            with b.if_then(has_flags(b, tagged, layout.REGION_FLAGS)):
                b.ret_void()
            first = self._rules.first_cell(b, where)
            with b.if_then(has_flags(b, tagged, layout.RACE_FREE)):
                if access.writes:
                    with counted(b, count) as lane:
                        for cell in self._cells(b, access, first, lane):
                            b.store(b.add(written, b.shl(lane, i64(layout.THREAD_SHIFT))), cell)
                b.ret_void()
        with counted(b, count) as lane:
            thread = b.shl(lane, i64(layout.THREAD_SHIFT))
            own = b.add(read, thread)
            for cell in self._cells(b, access, first, lane):
                if access.writes:
                    b.store(b.add(written, thread), cell)
                    b.store(own if access.reads_last else i64(0), at(b, cell, 8))
                    continue
                single = CellAccess(READ, is_strong=False, reads=False, count=access.count)
                _, noted, reader = self._rules.cells.quick(b, single, cell, where.of_thread(own), ir.Constant(I1, 1))
                b.store(b.select(noted, reader, own), at(b, cell, 8))
        b.ret_void()
        return function

    def _all(
        self, b: ir.IRBuilder, access: RowAccess, first: ir.Value, where: ShadowPlace, count: ir.Value, holds: CellTest
    ) -> ir.Value:
        """Whether a test holds for each cell of the row."""
        bad = Cell(b, i64(0))
        with counted(b, count) as lane:
            place = where.of_thread(b.add(where.epoch, b.shl(lane, i64(layout.THREAD_SHIFT))))
            for cell in self._cells(b, access, first, lane):
                fails = b.not_(holds(b, cell, place))
                bad.set(b.or_(bad.get(b), b.zext(fails, I64)), b)
        return b.icmp_unsigned("==", bad.get(b), i64(0))

    def _forget_lists(
        self, b: ir.IRBuilder, access: RowAccess, first: ir.Value, where: ShadowPlace, count: ir.Value
    ) -> None:
        """Forget the lists of a row's cells, all of which are untouched."""
        if not self._rules.cells.keeps_all:
            return
        has_list = self._rules.cells.has_list
        has_none = self._all(b, access, first, where, count, lambda b, cell, _: b.not_(has_list(b, cell)))
        with b.if_then(b.not_(has_none), likely=False), counted(b, count) as lane:
            for cell in self._cells(b, access, first, lane):
                self._rules.cells.forget_list(b, cell, where)

    def _cells(self, b: ir.IRBuilder, access: RowAccess, first: ir.Value, lane: ir.Value) -> list[ir.Value]:
        """Pointers to the cells of one thread."""
        shift = self._rules.shifts[access.space]
        distance = (access.step >> shift) << layout.CELL_SHIFT
        start = at(b, first, b.mul(lane, i64(distance)))
        return [at(b, start, index << layout.CELL_SHIFT) for index in range(max(1, access.count >> shift))]

    def _is_written(self, b: ir.IRBuilder, cell: ir.Value, where: ShadowPlace) -> ir.Value:
        return b.not_(self._rules.cells.is_void(b, load_word(b, cell, 0), where))
