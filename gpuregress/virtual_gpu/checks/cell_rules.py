"""Check of an access to one shadow cell, as subroutines of the module.

FastTrack (Flanagan and Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009) keeps the epoch of
the last write and, while reads are concurrent, a vector of readers. In programs with strong accesses, or with waits
that order some threads and leave others, a cell has lists of all concurrent accesses (`access_lists`). Elsewhere two
readers stand for the vector: those of different blocks rather than of different warps, those of different warps rather
than of different lanes. Whatever thread writes next, one of the two is as far from it as any reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import raw_call
from gpuregress.virtual_gpu.builder.structured import I1, POINTER, Cell, at, i32, i64
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.access_lists import AccessLists, each_lane, opened
from gpuregress.virtual_gpu.checks.happens_before import HappensBefore
from gpuregress.virtual_gpu.checks.shadow_cells import (
    READ,
    WRITE,
    CellAccess,
    ShadowPlace,
    load_word,
    shadow_place,
    subroutine,
)
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import CHECK_REPORT

# --- conflict rules ---------------------------------------------------------------------------------------------------
# Rules of races between two accesses of a shadow cell, and the report, as subroutines of the module.
#
# Two accesses race that overlap, one of them a write, if causality does not order them and they are not morally strong
# (PTX ISA manual, 8 "Memory Consistency Model").


class ConflictRules:
    """The rules of one module.

    Args:
        order: tells whether accesses are ordered.
        conflicts: whether two strong accesses are reported, too, where nothing orders them.
    """

    def __init__(self, order: HappensBefore, *, conflicts: bool) -> None:
        self._order, self._conflicts = order, conflicts

    def report_race(
        self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, other: ir.Value, *, is_other_write: bool
    ) -> ir.Value:
        """Report a race with an access that nothing orders before this one, unless both are strong enough.

        Returns:
            whether it was reported, i1.
        """
        kind: ir.Value = i64(layout.RACE)
        apart = self._order.is_unordered(b, where, other)
        if access.is_strong:
            exempt = self.is_exempt(b, where, other, is_other_write=is_other_write)
            if self._conflicts:
                kind = b.select(exempt, i64(layout.ORDERED_BY_LUCK), kind)
                exempt = b.and_(exempt, self._commute(b, other, where.epoch))
            apart = b.and_(apart, b.not_(exempt))
        if access.action == WRITE and not access.is_strong and is_other_write:
            same = self.is_of_one_value(b, other, where.epoch)
            with b.if_then(b.and_(apart, same), likely=False):
                launch = field(b, where.machine, "checks", POINTER)
                with b.if_then(b.icmp_unsigned("==", load_word(b, launch, layout.LAUNCH["same_value"]), i64(0))):
                    self.report(b, where, i64(layout.SAME_WRITES), other)
            apart = b.and_(apart, b.not_(same))
        if access.is_incoherent:
            kind = b.select(apart, kind, i64(layout.STALE))
            apart = b.icmp_unsigned(">=", other, where.oldest)
        with b.if_then(apart, likely=False):
            self.report(b, where, kind, other)
        return apart

    def is_exempt(self, b: ir.IRBuilder, where: ShadowPlace, other: ir.Value, *, is_other_write: bool) -> ir.Value:
        """Whether a strong access does not race with an earlier one, because that is strong for its thread, too."""
        both = b.icmp_unsigned("!=", b.and_(other, i64(layout.STRONG)), i64(0))
        if where.space == "shared":
            return both
        least = self._order.least_scope(b, where, other)
        scope = b.lshr(b.and_(where.epoch, i64(layout.LEVEL_MASK)), i64(layout.LEVEL_SHIFT))
        exempt = b.and_(both, b.icmp_unsigned(">=", scope, least))
        return b.and_(exempt, b.icmp_unsigned(">=", self._scope_of(b, other, is_write=is_other_write), least))

    @staticmethod
    def _scope_of(b: ir.IRBuilder, strong: ir.Value, *, is_write: bool) -> ir.Value:
        """The number of the scope of a strong access of a cell, i64."""
        if is_write:
            return b.lshr(b.and_(strong, i64(layout.LEVEL_MASK)), i64(layout.LEVEL_SHIFT))
        is_narrow, is_of_cluster = (
            b.icmp_unsigned("!=", b.and_(strong, i64(flag)), i64(0)) for flag in (layout.NARROW, layout.OF_CLUSTER)
        )
        narrow = b.select(is_of_cluster, i64(layout.SCOPES["cluster"]), i64(layout.SCOPES["cta"]))
        return b.select(is_narrow, narrow, i64(layout.SCOPES["gpu"]))

    def races_with_no_write(self, b: ir.IRBuilder, space: str, newest: ir.Value, epoch: ir.Value) -> ir.Value:
        """Whether a strong access and all writes of a list are strong for each other, whichever threads they are of."""
        usual = i64(self._order.strong_for_all(space))
        both = b.and_(b.and_(newest, epoch), usual)
        hidden = b.icmp_unsigned("!=", b.and_(newest, i64(layout.WRITE_LIST)), i64(layout.WRITE_LIST))
        return b.and_(hidden, b.icmp_unsigned("==", both, usual))

    def is_of_one_value(self, b: ir.IRBuilder, other: ir.Value, epoch: ir.Value) -> ir.Value:
        """Whether a plain write stores what memory held already, and an earlier write was no atomic operation."""
        is_plain = b.icmp_unsigned("==", b.and_(other, i64(layout.STRONG)), i64(0))
        return b.and_(is_plain, b.icmp_unsigned("!=", b.and_(epoch, i64(layout.SAME_VALUE)), i64(0)))

    def _commute(self, b: ir.IRBuilder, *epochs: ir.Value) -> ir.Value:
        """Whether two strong accesses are atomic operations of one kind, whose results nobody reads."""
        flags = i64(layout.STRONG | layout.SAME_VALUE)
        return b.and_(*(b.icmp_unsigned("==", b.and_(epoch, flags), flags) for epoch in epochs))

    def report(self, b: ir.IRBuilder, where: ShadowPlace, kind: ir.Value, other: ir.Value) -> None:
        """Report an access, with an earlier one or 0."""
        report(b, where.machine, kind, where.address, where.epoch, other)


@subroutine("check.report", attributes=("noinline", "cold"))
def report(b: ir.IRBuilder, machine: ir.Value, *words: ir.Value) -> None:
    """`(machine, kind, address, epoch, earlier epoch or 0)`: report an access."""
    launch = field(b, machine, "checks", POINTER)
    stopped = b.icmp_unsigned("!=", load_word(b, launch, layout.LAUNCH["stop"]), i64(0))
    with b.if_then(stopped):
        b.ret_void()
    for index, word in enumerate(words):
        b.store(word, at(b, launch, layout.REPORT + 8 * index))
    raw_call(b, machine, CHECK_REPORT, at(b, launch, layout.REPORT), machine)


# --- cell rules -------------------------------------------------------------------------------------------------------


class CellRules:
    """The subroutines of one module.

    Those of one cell take the machine, the cell, the distance of the second plane, the address, the epoch, and whether
    the contents are initialised.

    Args:
        unit: the module.
        races: whether races are looked for.
        uninitialized: whether reads of memory that nobody has written are looked for.
        conflicts: whether two strong accesses are reported, too, where nothing orders them.

    Attributes:
        keeps_all: whether cells have lists of all concurrent accesses.
        flies: whether asynchronous copies write shared memory.
    """

    def __init__(self, unit: Unit, *, races: bool, uninitialized: bool, conflicts: bool) -> None:
        self._unit, self._races, self._uninitialized, self._conflicts = unit, races, uninitialized, conflicts
        self.keeps_all = races and (conflicts or unit.orders_in_part or unit.has_strong_accesses)
        self.flies = unit.has_copies or unit.has_bulk_copies
        self._order = HappensBefore(unit)
        self._lists = AccessLists(self._order, keeps_each=conflicts)
        self._rules = ConflictRules(self._order, conflicts=conflicts)
        self.report = self._rules.report

    def check(self, b: ir.IRBuilder, access: CellAccess, cell: ir.Value, where: ShadowPlace, filled: ir.Value) -> None:
        """Check one cell, the quick way where that suffices."""
        if self.flies and where.space != "global":
            self._touched_cell(b, access, cell, where, filled)
            return
        with b.if_else(self.is_untouched(b, access, cell, where, filled), likely=True) as (quickest, other):
            with quickest:
                self.forget_list(b, cell, where)
                self.note_alone(b, access, where, cell)
            with other:
                arguments = (where.machine, cell, where.plane, where.address, where.epoch, filled)
                single = replace(access, count=1)
                if self.keeps_all and access.is_strong and access.action == WRITE:
                    with b.if_then(b.not_(self._has_pair(b, where, cell))):
                        self._touched(single, where.space, b, *arguments)
                else:
                    self._touched(single, where.space, b, *arguments)

    def note_alone(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, cell: ir.Value) -> None:
        """Note an access to a cell that holds nothing else that matters."""
        if access.action == READ:
            reader = where.reader(b) if access.is_strong else where.epoch
            b.store(reader, at(b, cell, 8))
        else:
            b.store(where.epoch, cell)
            b.store(i64(0), at(b, cell, 8))

    @staticmethod
    def _has_pair(b: ir.IRBuilder, where: ShadowPlace, cell: ir.Value) -> ir.Value:
        """Whether a strong write changes nothing, because two of its kind stand for all of them already."""
        write, reader = load_word(b, cell, 0), load_word(b, cell, 8)
        marks = b.and_(write, i64(layout.WIDE | layout.WRITE_LIST))
        holds = b.icmp_unsigned("==", marks, i64(layout.WIDE | layout.WRITE_PAIR))
        holds = b.and_(holds, b.icmp_unsigned("==", b.and_(where.epoch, i64(layout.WIDE)), i64(layout.WIDE)))
        return b.and_(holds, b.and_(b.not_(where.is_all_old(b, write)), where.is_all_old(b, reader)))

    def is_untouched(
        self, b: ir.IRBuilder, access: CellAccess, cell: ir.Value, where: ShadowPlace, filled: ir.Value
    ) -> ir.Value:
        """Whether a cell was not touched since the block's last barrier, or the launch's start, and may be read.

        A thread may write what it has just read itself. Where `has_list`, the lists are to be forgotten.
        """
        write, reader = load_word(b, cell, 0), load_word(b, cell, 8)
        holds = where.is_all_old(b, reader)
        if access.action == WRITE and not access.is_strong:
            rest = i64(~(layout.SITE_MASK | layout.SAME_VALUE))
            own = b.icmp_unsigned("==", b.and_(b.xor(reader, where.epoch), rest), i64(0))
            holds = b.or_(holds, own)
        holds = b.and_(holds, where.is_all_old(b, write))
        if (access.action == READ or access.reads) and self._uninitialized:
            holds = b.and_(holds, b.or_(filled, b.not_(self.is_void(b, write, where))))
        return holds

    def has_list(self, b: ir.IRBuilder, cell: ir.Value) -> ir.Value:
        """Whether a cell has a list of accesses, i1."""
        if not self.keeps_all:
            return ir.Constant(I1, 0)
        marks = ((0, layout.IN_USE[layout.WRITE_LIST]), (8, layout.IN_USE[layout.READER_LIST]))
        write, reader = (b.and_(load_word(b, cell, offset), i64(mark)) for offset, mark in marks)
        return b.icmp_unsigned("!=", b.or_(write, reader), i64(0))

    def forget_list(self, b: ir.IRBuilder, cell: ir.Value, where: ShadowPlace) -> None:
        """Forget the lists of a cell that is untouched, if it has any."""
        if self.keeps_all:
            with b.if_then(self.has_list(b, cell), likely=False):
                self._lists.forget(b, where.machine, cell, where.plane)

    @subroutine(lambda _, access, space: f"{access.name(space)}.touched")
    def _touched(self, access: CellAccess, space: str, b: ir.IRBuilder, *values: ir.Value) -> None:
        """The check of a cell that was touched since the last barrier; the parameters are those of the slow way."""
        # Out of line: what comes before it is so short that LLVM puts it where the access is.
        machine, cell, plane, address, epoch, filled = values
        where = shadow_place(b, machine, plane, address, epoch, space)
        self._touched_cell(b, access, cell, where, filled)

    def _touched_cell(
        self, b: ir.IRBuilder, access: CellAccess, cell: ir.Value, where: ShadowPlace, filled: ir.Value
    ) -> None:
        quick, noted, reader = self.quick(b, access, cell, where, filled)
        with b.if_else(quick, likely=True) as (fast, slow):
            with fast:
                if access.action == READ:
                    own = where.reader(b) if access.is_strong else where.epoch
                    b.store(b.select(noted, reader, own), at(b, cell, 8))
                else:
                    self.note_alone(b, access, where, cell)
            with slow:
                arguments = (where.machine, cell, where.plane, where.address, where.epoch, filled)
                self.slow(access, where.space, b, *arguments)

    def quick(
        self, b: ir.IRBuilder, access: CellAccess, cell: ir.Value, where: ShadowPlace, filled: ir.Value
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Whether the quick way suffices: all that the cell knows is ordered before the access, or of the same thread.

        Returns:
            that, i1; whether the cell has readers that stand for this one, too, i1; its reader, i64.
        """
        write, reader = load_word(b, cell, 0), load_word(b, cell, 8)
        epoch = where.epoch
        # A plain write before an atomic operation of the same thread, or block, is kept for those of others.
        is_update = access.action == WRITE and access.is_strong
        fine = where.is_all_old(b, write) if is_update else where.is_ordered(b, write)
        if access.is_incoherent:
            fine = b.icmp_unsigned("<", write, where.oldest)
        if self.keeps_all:
            fine = b.and_(fine, self._is_alone(b, write, layout.WRITE_LIST))
        if (access.action == READ or access.reads) and self._uninitialized:
            void = b.and_(self.is_void(b, write, where), b.not_(filled))
            fine = b.and_(fine, b.not_(void))
        if self.flies and where.space != "global":
            fine = b.and_(fine, b.not_(_is_in_flight(b, write, where.oldest)))
        level = b.and_(reader, i64(layout.LEVEL_MASK))
        if self.keeps_all:
            free = b.and_(where.is_ordered(b, reader), self._is_alone(b, reader, layout.LEVEL_MASK))
            if self._unit.has_products and access.action == READ and not access.is_strong:
                kinds = b.and_(b.xor(reader, epoch), i64(layout.ASYNCHRONOUS))
                is_kind = b.icmp_unsigned("==", kinds, i64(0))
                free = b.and_(free, b.or_(is_kind, where.is_all_old(b, reader)))
            if access.is_strong:
                # A plain reader before a strong one is kept for strong writes of others, a strong one for plain ones.
                free = b.and_(free, where.is_all_old(b, reader))
            many = b.icmp_unsigned("==", level, i64(layout.READER_PAIR))
            many = b.and_(many, b.not_(where.is_all_old(b, reader)))
            noted = many if access.action == READ and not access.is_strong else ir.Constant(I1, 0)
            return b.and_(fine, b.or_(noted, free)), noted, reader
        # A barrier orders what its block did; the other reader may be one of another block.
        alone = b.and_(where.is_ordered(b, reader), b.icmp_unsigned("==", level, i64(0)))
        free = b.or_(where.is_all_old(b, reader), alone)
        if access.action == READ:
            # Two readers of different warps are as far apart as threads of a block can be.
            far = b.icmp_unsigned(">=", level, i64(layout.SAME_BLOCK << layout.LEVEL_SHIFT))
            warp = b.icmp_unsigned("==", b.lshr(b.xor(reader, epoch), i64(layout.THREAD_SHIFT + 5)), i64(0))
            close = b.and_(warp, b.icmp_unsigned("!=", level, i64(0)))
            here = b.and_(b.icmp_unsigned(">=", reader, where.turn), b.not_(where.is_old(b, reader)))
            noted = b.and_(here, b.or_(far, close))
            return b.and_(fine, b.or_(noted, free)), noted, reader
        return b.and_(fine, free), ir.Constant(I1, 0), reader

    @staticmethod
    def _is_alone(b: ir.IRBuilder, newest: ir.Value, mark: int) -> ir.Value:
        """Whether there are no accesses but the newest one."""
        return b.icmp_unsigned("==", b.and_(newest, i64(mark)), i64(0))

    def is_void(self, b: ir.IRBuilder, write: ir.Value, where: ShadowPlace) -> ir.Value:
        """Whether nobody has written the cell: in shared memory, nobody of this block."""
        if where.space != "global":
            return b.icmp_unsigned("<", write, where.oldest)
        return b.icmp_unsigned("==", write, i64(0))

    # --- the slow way -------------------------------------------------------------------------------------------------

    @subroutine(lambda _, access, space: f"{replace(access, count=1).name(space)}.slow")
    def slow(self, access: CellAccess, space: str, b: ir.IRBuilder, *values: ir.Value) -> None:
        """The check of one cell in full: `(machine, cell, plane, address, epoch, is filled)`."""
        machine, cell, plane, address, epoch, filled = values
        where = shadow_place(b, machine, plane, address, epoch, space)
        second = at(b, cell, plane)
        write, reader = load_word(b, cell, 0), load_word(b, cell, 8)
        if (access.action == READ or access.reads) and self._uninitialized:
            void = b.and_(self.is_void(b, write, where), b.not_(filled))
            with b.if_then(void, likely=False):
                self.report(b, where, i64(layout.UNINITIALIZED), i64(0))
        is_write = access.action == WRITE
        if self.keeps_all:
            if access.is_strong == is_write:
                mark, place = (layout.WRITE_LIST, 0) if is_write else (layout.READER_LIST, 8)
                word = load_word(b, second, place)
                with b.if_then(self._lists.is_repeated(b, epoch, load_word(b, cell, place), word, mark)):
                    b.ret_void()
            self._examine_lists(b, access, where, cell)
            self._note_in_lists(b, access, where, cell)
            return
        if self._races:
            with self._unless_in_flight(b, where, write, write):
                self._rules.report_race(b, access, where, write, is_other_write=True)
            if is_write:
                self._rules.report_race(b, access, where, reader, is_other_write=False)
                with b.if_then(b.icmp_unsigned("!=", b.and_(reader, i64(layout.LEVEL_MASK)), i64(0))):
                    self._rules.report_race(b, access, where, load_word(b, second, 8), is_other_write=False)
        if is_write:
            b.store(epoch, cell)
            b.store(i64(0), at(b, cell, 8))
        else:
            self._note_read(b, where, cell, second, reader)

    def _examine_lists(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, cell: ir.Value) -> None:
        """Report the races of an access with those that the cell's lists have."""
        second = at(b, cell, where.plane)
        write, reader = load_word(b, cell, 0), load_word(b, cell, 8)
        arguments = (where.machine, where.plane, where.address, where.epoch)
        with self._unless_in_flight(b, where, write, b.and_(write, i64(~layout.WRITE_LIST))):
            self._examine(access, where.space, "writes", b, *arguments, write, load_word(b, second, 0))
        if access.action == WRITE:
            self._examine(access, where.space, "readers", b, *arguments, reader, load_word(b, second, 8))

    @contextmanager
    def _unless_in_flight(
        self, b: ir.IRBuilder, where: ShadowPlace, write: ir.Value, reported: ir.Value
    ) -> Iterator[None]:
        """Run the body unless an asynchronous copy to the cell has not arrived; that is reported instead."""
        if not self.flies or where.space == "global":
            yield
            return
        with b.if_else(_is_in_flight(b, write, where.oldest), likely=False) as (flying, still):
            with flying:
                self.report(b, where, i64(layout.UNARRIVED), reported)
            with still:
                yield

    @subroutine(lambda _, access, space, others: f"{replace(access, count=1).name(space)}.{others}")
    def _examine(self, access: CellAccess, space: str, others: str, b: ir.IRBuilder, *values: ir.Value) -> None:
        """`(machine, plane, address, epoch, newest, its word)`: report the races with the accesses of a list."""
        is_other_write = others == "writes"
        machine, plane, address, epoch, newest, word = values
        where = shadow_place(b, machine, plane, address, epoch, space)
        with b.if_then(where.is_all_old(b, newest)):
            b.ret_void()
        entries = opened(b, newest, word, layout.WRITE_LIST if is_other_write else layout.READER_LIST)
        skips = access.is_strong and not self._conflicts
        if skips and is_other_write:
            with b.if_then(self._rules.races_with_no_write(b, space, newest, epoch)):
                b.ret_void()
        # Of strong writes that may change places, each one and the next: then all may.
        is_told, chains = Cell(b, ir.Constant(I1, int(skips))), access.is_strong and is_other_write
        with self._lists.each(b, machine, entries) as (entry, mask):
            may_skip: ir.Value = ir.Constant(I1, 0)
            if skips or chains:
                may_skip = self._rules.is_exempt(b, where, entry, is_other_write=is_other_write)
            left = b.select(b.and_(may_skip, is_told.get(b)), i32(0), mask)
            with each_lane(b, entry, left) as other, b.if_then(b.not_(b.and_(may_skip, is_told.get(b)))):
                reported = self._rules.report_race(b, access, where, other, is_other_write=is_other_write)
                is_told.set(b.or_(is_told.get(b), reported), b)

    def _note_in_lists(self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, cell: ir.Value) -> None:
        values = (where.machine, cell, where.plane, where.address, where.epoch)
        if access.action == READ:
            self._lists.note_read(where.space, b, *values)
        else:
            is_exempt = self._rules.is_of_one_value
            self._lists.note_write(where.space, b, *values, is_strong=access.is_strong, is_exempt=is_exempt)

    def _note_read(
        self, b: ir.IRBuilder, where: ShadowPlace, cell: ir.Value, second: ir.Value, reader: ir.Value
    ) -> None:
        epoch = where.epoch
        apart = self._order.is_unordered(b, where, reader)
        held = b.lshr(b.and_(reader, i64(layout.LEVEL_MASK)), i64(layout.LEVEL_SHIFT))
        with b.if_else(apart) as (concurrent, ordered):
            with concurrent:
                warp = b.lshr(b.xor(reader, epoch), i64(layout.THREAD_SHIFT + 5))
                warps = b.icmp_unsigned("!=", b.and_(warp, i64(31)), i64(0))
                level = b.select(warps, i64(layout.SAME_BLOCK), i64(layout.SAME_WARP))
                if where.space != "shared":
                    # An earlier turn of this block counts as another block: farther than it is.
                    level = b.select(b.icmp_unsigned("<", reader, where.turn), i64(layout.OTHER_BLOCK), level)
                with b.if_then(b.icmp_unsigned(">", level, held)):
                    b.store(reader, at(b, second, 8))
                    b.store(b.or_(epoch, b.shl(level, i64(layout.LEVEL_SHIFT))), at(b, cell, 8))
            with ordered:
                other = Cell(b, i64(0))
                with b.if_then(b.icmp_unsigned("!=", held, i64(0))):
                    stays = self._order.is_unordered(b, where, load_word(b, second, 8))
                    other.set(b.select(stays, b.and_(reader, i64(layout.LEVEL_MASK)), i64(0)), b)
                b.store(b.or_(epoch, other.get(b)), at(b, cell, 8))


def _is_in_flight(b: ir.IRBuilder, write: ir.Value, oldest: ir.Value) -> ir.Value:
    """Whether an asynchronous copy to a cell has not arrived."""
    flies = b.icmp_unsigned("!=", b.and_(write, i64(layout.IN_FLIGHT)), i64(0))
    return b.and_(flies, b.icmp_unsigned(">=", write, oldest))
