"""Check of an access: which shadow cells it touches, as subroutines of the module.

What is checked of a cell is in `cell_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from llvmlite import ir

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import I1, I64, POINTER, Cell, at, counted, i64
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks import heap_cells
from gpuregress.virtual_gpu.checks.cell_rules import CellRules
from gpuregress.virtual_gpu.checks.shadow_cells import (
    CLUSTER,
    READ,
    WRITE,
    CellAccess,
    ShadowPlace,
    has_flags,
    load_word,
    owner,
    region_row,
    shadow_place,
    subroutine,
)
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CLUSTER_SHIFT,
    LOCAL_WINDOW,
    MIDDLE,
    PARAM_WINDOW,
    REGION_SHIFT,
    SHARED_WINDOW,
)


class RaceRules:
    """The subroutines of one module.

    Args:
        unit: the module.
        shifts: state space → log2 of the bytes of a granule there.
        races: whether races are looked for.
        uninitialized: whether reads of memory that nobody has written are looked for.
        conflicts: whether two strong accesses are reported, too, where nothing orders them.

    Attributes:
        cells: the rules of one cell.
        shifts: as given, with that of a cluster's shared memory.
    """

    def __init__(
        self, unit: Unit, shifts: dict[str, int], *, races: bool, uninitialized: bool, conflicts: bool = False
    ) -> None:
        self.unit, self.races, self.uninitialized = unit, races, uninitialized
        self.cells = CellRules(unit, races=races, uninitialized=uninitialized, conflicts=conflicts)
        self.shifts = {**shifts, CLUSTER: shifts["shared"]}

    def access(
        self, access: CellAccess, space: str, b: ir.IRBuilder, *values: ir.Value, is_ordered: bool = False
    ) -> None:
        """The check `(machine, address, epoch)` of an access; a shared address is one in its window.

        Args:
            access: what is known of it.
            space: "" for a generic address.
            b: the builder.
            values: the parameters.
            is_ordered: whether barriers order a read of shared memory after all earlier and before all later writes.
        """
        if not self.races:
            access = replace(access, is_strong=False)
        name = access.name(space)
        if is_ordered:
            name += ".ordered"

        @subroutine(name, attributes=())
        def check(b: ir.IRBuilder, *values: ir.Value) -> None:
            if not is_ordered:
                {"shared": self._shared, "global": self._global, "": self._generic}[space](b, access, *values)
            elif self.uninitialized:
                self._note_initialized(b, access, self.shared_place(b, *values))

        check(b, *values)

    def _generic(
        self, b: ir.IRBuilder, access: CellAccess, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> None:
        slot = b.lshr(address, i64(REGION_SHIFT))
        is_shared = b.icmp_unsigned("==", slot, i64(SHARED_WINDOW >> REGION_SHIFT))
        with b.if_then(is_shared):
            self.access(access, "shared", b, machine, b.sub(address, i64(SHARED_WINDOW)), epoch)
            b.ret_void()
        for window in (LOCAL_WINDOW, PARAM_WINDOW):
            with b.if_then(b.icmp_unsigned("==", slot, i64(window >> REGION_SHIFT))):
                b.ret_void()
        self.access(access, "global", b, machine, address, epoch)
        b.ret_void()

    def _shared(
        self, b: ir.IRBuilder, access: CellAccess, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> None:
        where = self.shared_place(b, machine, address, epoch)
        if self.races:
            self._cells(b, access, where, ir.Constant(I1, 0))
        else:
            self._note_initialized(b, access, where)

    def _global(
        self, b: ir.IRBuilder, access: CellAccess, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> None:
        tagged, where = self.global_place(b, machine, address, epoch)
        with b.if_then(b.icmp_unsigned("==", tagged, i64(0)), likely=False):
            if self.unit.allocates:
                self._heap(access, b, machine, address, epoch)
            else:
                b.store(i64(1), at(b, field(b, machine, "checks", POINTER), layout.LAUNCH["heap_accesses"]))
            b.ret_void()
        with b.if_then(has_flags(b, tagged, layout.REGION_FLAGS), likely=True):
            b.ret_void()
        self._region(b, access, where, tagged)

    @subroutine(lambda _, access: access.name("region"), attributes=())
    def known_region(self, access: CellAccess, b: ir.IRBuilder, *values: ir.Value) -> None:
        """The check `(machine, address, epoch, words of the region's row)` of an access to a region that is watched."""
        machine, address, epoch, tagged, plane = values
        where = shadow_place(b, machine, plane, address, epoch, "global")
        self._region(b, access, replace(where, cells=b.and_(tagged, i64(~layout.REGION_FLAGS))), tagged)

    @subroutine(lambda _, access: access.name("first"), I1, attributes=("alwaysinline",))
    def first_access(self, access: CellAccess, b: ir.IRBuilder, *values: ir.Value) -> ir.Value:
        """Note a plain access if it is the first of the launch to all of its cells, and nothing is to be reported.

        The function `(address, epoch, the region's first cell, limit, is filled)` returns whether it was; see
        `RegionFlags`.
        """
        address, epoch, cells, limit, filled = values
        none = ir.Constant(POINTER, None)
        where = ShadowPlace(
            machine=none,
            plane=i64(0),
            address=address,
            epoch=epoch,
            oldest=limit,
            turn=limit,
            open=limit,
            space="global",
            cells=cells,
        )
        touched = list(self.each_cell(b, access, where))
        fine: ir.Value = ir.Constant(I1, 1)
        for cell, _ in touched:
            fine = b.and_(fine, self.cells.is_untouched(b, access, cell, where, filled))
            fine = b.and_(fine, b.not_(self.cells.has_list(b, cell)))
        with b.if_then(fine, likely=True):
            for cell, _ in touched:
                self.cells.note_alone(b, access, where, cell)
        return fine

    def _region(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, tagged: ir.Value) -> None:
        with b.if_then(has_flags(b, tagged, layout.RACE_FREE)):
            self._note_initialized(b, access, where)
            b.ret_void()
        self._cells(b, access, where, b.trunc(tagged, I1))

    @subroutine(lambda _, access: access.name("heap"))
    def _heap(self, access: CellAccess, b: ir.IRBuilder, machine: ir.Value, address: ir.Value, epoch: ir.Value) -> None:
        """The check `(machine, address, epoch)` of an access to the kernels' heap, or to memory without cells."""
        cell = heap_cells.heap_cell(self.unit, b, machine, address)
        with b.if_then(b.icmp_unsigned("==", cell, i64(0))):
            b.ret_void()
        launch = field(b, machine, "checks", POINTER)
        plane = load_word(b, heap_cells.heap_row(b, launch, heap_cells.class_number(b, address)), 8)
        where = shadow_place(b, machine, plane, address, epoch, "global")
        # Where the cells of a region would begin in which the access had this one.
        distance = b.ptrtoint(self.first_cell(b, replace(where, cells=i64(0))), I64)
        self._cells(b, access, replace(where, cells=b.sub(cell, distance)), ir.Constant(I1, 0))

    def shared_place(self, b: ir.IRBuilder, machine: ir.Value, address: ir.Value, epoch: ir.Value) -> ShadowPlace:
        """The place of an access to shared memory."""
        block, space = field(b, machine, "block_checks", POINTER), "shared"
        if self.unit.clustered:
            block, space = owner(b, machine, address), CLUSTER
        cells, plane = (load_word(b, block, layout.BLOCK[name]) for name in ("cells", "plane"))
        return replace(shadow_place(b, machine, plane, address, epoch, space), cells=cells)

    def global_place(
        self, b: ir.IRBuilder, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> tuple[ir.Value, ShadowPlace]:
        """The word of a region with its flags, and the place of an access there."""
        row = region_row(b, field(b, machine, "checks", POINTER), address)
        tagged, plane = load_word(b, row, 0), load_word(b, row, 8)
        cells = b.and_(tagged, i64(~layout.REGION_FLAGS))
        return tagged, replace(shadow_place(b, machine, plane, address, epoch, "global"), cells=cells)

    def first_cell(self, b: ir.IRBuilder, where: ShadowPlace) -> ir.Value:
        """A pointer to the first cell of an access."""
        offset = where.address
        if where.space == "global":
            offset = b.sub(b.and_(offset, i64((1 << REGION_SHIFT) - 1)), i64(MIDDLE))
        elif where.space == CLUSTER:
            offset = b.and_(offset, i64((1 << CLUSTER_SHIFT) - 1))
        number = b.lshr(offset, i64(self.shifts[where.space]))
        return b.inttoptr(b.add(where.cells, b.shl(number, i64(layout.CELL_SHIFT))), POINTER)

    def _note_initialized(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace) -> None:
        """Follow only what has been written: no races are possible, and the memory may not be initialised."""
        for cell, address in self.each_cell(b, access, where):
            if (access.action == READ or access.reads) and self.uninitialized:
                with b.if_then(self.cells.is_void(b, b.load(cell, typ=I64), where), likely=False):
                    arguments = (where.machine, cell, where.plane, address, where.epoch, ir.Constant(I1, 0))
                    self.cells.slow(access, where.space, b, *arguments)
            if access.action == WRITE:
                b.store(where.epoch, cell)

    def each_cell(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Each cell of an access, with its address."""
        first = self.first_cell(b, where)
        for index in range(max(1, access.count >> self.shifts[where.space])):
            cell = at(b, first, index << layout.CELL_SHIFT)
            yield cell, b.add(where.address, i64(index << self.shifts[where.space]))

    def _cells(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, filled: ir.Value) -> None:
        for cell, address in self.each_cell(b, access, where):
            self.cells.check(b, access, cell, where.at_address(address), filled)


# --- row rules --------------------------------------------------------------------------------------------------------
# Happens-before check of a row of threads, as subroutines of the module.
#
# The threads access memory with a stride. A loop examines the cells of all of them before it changes any. If the quick
# way of `cell_rules` does not suffice for each, nothing is changed, and the threads run one by one in the code that
# checks each access.

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

    @subroutine("check.is_initialized", I1)
    def is_initialized(
        self, b: ir.IRBuilder, machine: ir.Value, address: ir.Value, distance: ir.Value, count: ir.Value
    ) -> ir.Value:
        """`(machine, first address, distance, cells)` → whether the block has written shared memory there."""
        where = self._rules.shared_place(b, machine, address, i64(0))
        first = self._rules.first_cell(b, where)
        bad = Cell(b, i64(0))
        with counted(b, count) as number:
            write = b.load(at(b, first, b.mul(number, distance)), typ=I64)
            void = self._rules.cells.is_void(b, write, where)
            bad.set(b.or_(bad.get(b), b.zext(void, I64)), b)
        return b.icmp_unsigned("==", bad.get(b), i64(0))

    @subroutine(lambda _, access: f"check.row.{access.name}.test", I1, attributes=("noinline", "optsize"))
    def test(self, access: RowAccess, b: ir.IRBuilder, *values: ir.Value) -> ir.Value:
        """`(machine, first thread's address, its epoch, threads)` → whether the quick way suffices for all."""
        machine, address, epoch, count = values
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
                if access.reads_first and self._rules.uninitialized:
                    b.ret(self._all(b, access, first, where, count, self._is_written))
                else:
                    b.ret(yes)
            filled = b.trunc(tagged, I1)
        reads = access.reads_first or not access.writes
        actions = [READ] if reads else []
        if access.writes:
            actions.append(WRITE)

        def is_quick(b: ir.IRBuilder, cell: ir.Value, place: ShadowPlace) -> ir.Value:
            answer: ir.Value = yes
            for action in actions:
                is_stale = access.is_incoherent and action == READ
                single = CellAccess(action, is_strong=False, reads=False, count=access.count, is_incoherent=is_stale)
                answer = b.and_(answer, self._rules.cells.quick(b, single, cell, place, filled)[0])
            return answer

        if access.space == "global" or not self._rules.cells.flies:

            def is_untouched(b: ir.IRBuilder, cell: ir.Value, place: ShadowPlace) -> ir.Value:
                single = CellAccess(READ, is_strong=False, reads=False, count=access.count)
                return self._rules.cells.is_untouched(b, single, cell, place, filled if reads else yes)

            # As a rule it is so, and tells it in a fourth of the steps.
            with b.if_then(self._all(b, access, first, where, count, is_untouched), likely=True):
                self._forget_lists(b, access, first, where, count)
                b.ret(yes)
        return self._all(b, access, first, where, count, is_quick)

    @subroutine(lambda _, access: f"check.row.{access.name}.note", attributes=("noinline", "optsize"))
    def note(self, access: RowAccess, b: ir.IRBuilder, *values: ir.Value) -> None:
        """`(machine, first thread's address, epoch of its write, of its read, threads)`: note the accesses of all."""
        machine, address, written, read, count = values
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
