"""Check of an access: which shadow cells it touches, as subroutines of the module.

What is checked of a cell is in `cell_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import at, i64, open_function
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.builder.types import I1, I64, POINTER
from gpuregress.virtual_gpu.checks import heap_cells
from gpuregress.virtual_gpu.checks.cells.cell_access import READ, WRITE, CellAccess
from gpuregress.virtual_gpu.checks.cells.cell_rules import CellRules
from gpuregress.virtual_gpu.checks.cells.shadow_place import (
    CLUSTER,
    ShadowPlace,
    has_flags,
    load_word,
    owner,
    region_row,
    shadow_place,
)
from gpuregress.virtual_gpu.checks.subroutines import subroutine
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

    def function(self, name: str, result: ir.Type, types: tuple[ir.Type, ...]) -> tuple[ir.Function, bool]:
        """A private function of the module that may be inlined, and whether it has just been declared."""
        return subroutine(self.unit.module, name, result, types, may_be_inlined=True)

    def access(self, access: CellAccess, space: str, *, is_ordered: bool = False) -> ir.Function:
        """The check `(machine, address, epoch)` of an access; a shared address is one in its window.

        Args:
            access: what is known of it.
            space: "" for a generic address.
            is_ordered: whether barriers order a read of shared memory behind all earlier and before all later writes.
        """
        if not self.races:
            access = replace(access, is_strong=False)
        name = access.name(space) + ".ordered" * is_ordered
        function, is_new = self.function(name, ir.VoidType(), (POINTER, I64, I64))
        if is_new and is_ordered:
            b = open_function(function)
            if self.uninitialized:
                machine, address, epoch = function.args
                self._note_initialized(b, access, self.shared_place(b, machine, address, epoch))
            b.ret_void()
        elif is_new:
            b = open_function(function)
            {"shared": self._shared, "global": self._global, "": self._generic}[space](b, access, *function.args)
        return function

    def _generic(
        self, b: ir.IRBuilder, access: CellAccess, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> None:
        slot = b.lshr(address, i64(REGION_SHIFT))
        is_shared = b.icmp_unsigned("==", slot, i64(SHARED_WINDOW >> REGION_SHIFT))
        with b.if_then(is_shared):
            b.call(self.access(access, "shared"), (machine, b.sub(address, i64(SHARED_WINDOW)), epoch))
            b.ret_void()
        for window in (LOCAL_WINDOW, PARAM_WINDOW):
            with b.if_then(b.icmp_unsigned("==", slot, i64(window >> REGION_SHIFT))):
                b.ret_void()
        b.call(self.access(access, "global"), (machine, address, epoch))
        b.ret_void()

    def _shared(
        self, b: ir.IRBuilder, access: CellAccess, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> None:
        where = self.shared_place(b, machine, address, epoch)
        if self.races:
            self._cells(b, access, where, ir.Constant(I1, 0))
        else:
            self._note_initialized(b, access, where)
        b.ret_void()

    def _global(
        self, b: ir.IRBuilder, access: CellAccess, machine: ir.Value, address: ir.Value, epoch: ir.Value
    ) -> None:
        tagged, where = self.global_place(b, machine, address, epoch)
        with b.if_then(b.icmp_unsigned("==", tagged, i64(0)), likely=False):
            if self.unit.allocates:
                b.call(self._heap(access), (machine, address, epoch))
            else:
                b.store(i64(1), at(b, field(b, machine, "checks", POINTER), layout.LAUNCH["heap_accesses"]))
            b.ret_void()
        with b.if_then(has_flags(b, tagged, layout.REGION_FLAGS), likely=True):
            b.ret_void()
        self._region(b, access, where, tagged)

    def known_region(self, access: CellAccess) -> ir.Function:
        """The check `(machine, address, epoch, words of the region's row)` of an access to a region that is watched."""
        function, is_new = self.function(access.name("region"), ir.VoidType(), (POINTER, I64, I64, I64, I64))
        if is_new:
            machine, address, epoch, tagged, plane = function.args
            b = open_function(function)
            where = shadow_place(b, machine, plane, address, epoch, "global")
            self._region(b, access, replace(where, cells=b.and_(tagged, i64(~layout.REGION_FLAGS))), tagged)
        return function

    def first_access(self, access: CellAccess) -> ir.Function:
        """Note a plain access if it is the first of the launch to all of its cells, and nothing is to be reported.

        The function `(address, epoch, the region's first cell, limit, is filled)` returns whether it was; see
        `RegionFlags`.
        """
        types = (I64, I64, I64, I64, I1)
        function, is_new = self.function(access.name("first"), I1, types)
        if is_new:
            function.attributes.add("alwaysinline")
            address, epoch, cells, limit, filled = function.args
            b = open_function(function)
            none = ir.Constant(POINTER, None)
            where = ShadowPlace(none, i64(0), address, epoch, limit, limit, limit, "global", cells)
            touched = list(self.each_cell(b, access, where))
            fine: ir.Value = ir.Constant(I1, 1)
            for cell, _ in touched:
                fine = b.and_(fine, self.cells.is_untouched(b, access, cell, where, filled))
                fine = b.and_(fine, b.not_(self.cells.has_list(b, cell)))
            with b.if_then(fine, likely=True):
                for cell, _ in touched:
                    self.cells.note_alone(b, access, where, cell)
            b.ret(fine)
        return function

    def _region(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, tagged: ir.Value) -> None:
        with b.if_then(has_flags(b, tagged, layout.RACE_FREE)):
            self._note_initialized(b, access, where)
            b.ret_void()
        self._cells(b, access, where, b.trunc(tagged, I1))
        b.ret_void()

    def _heap(self, access: CellAccess) -> ir.Function:
        """The check `(machine, address, epoch)` of an access to the kernels' heap, or to memory without cells."""
        function, is_new = self.function(access.name("heap"), ir.VoidType(), (POINTER, I64, I64))
        if not is_new:
            return function
        function.attributes.add("noinline")
        machine, address, epoch = function.args
        b = open_function(function)
        cell = b.call(heap_cells.heap_cell(self.unit), (machine, address))
        with b.if_then(b.icmp_unsigned("==", cell, i64(0))):
            b.ret_void()
        launch = field(b, machine, "checks", POINTER)
        plane = load_word(b, heap_cells.heap_row(b, launch, heap_cells.class_number(b, address)), 8)
        where = shadow_place(b, machine, plane, address, epoch, "global")
        # Where the cells of a region would begin in which the access had this one.
        distance = b.ptrtoint(self.first_cell(b, replace(where, cells=i64(0))), I64)
        self._cells(b, access, replace(where, cells=b.sub(cell, distance)), ir.Constant(I1, 0))
        b.ret_void()
        return function

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
                    no = ir.Constant(I1, 0)
                    slow = self.cells.slow(access, where.space)
                    b.call(slow, (where.machine, cell, where.plane, address, where.epoch, no))
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
            self.cells.check(b, access, cell, where, address, filled)
