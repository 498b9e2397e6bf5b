"""Lists of the concurrent accesses of a shadow cell, as subroutines of the module.

FastTrack keeps a vector of readers while reads are concurrent. Where accesses are plain, and every wait orders all
threads of a block or all lanes of a warp, two readers stand for that vector (`cell_rules`). Atomic operations do not
race with each other, and fences, mbarriers and barriers of some threads order some accesses and leave others. So
programs that have any of these keep all concurrent accesses: the newest in the cell, with a word beside it in the
second plane, and those before it as a list of nodes. A node stands for the lanes of a warp that accessed the cell
at one site with no wait between. An access that is ordered after another one of its kind takes its place, because what
is ordered after the later one is ordered after the earlier one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I32,
    I64,
    POINTER,
    Cell,
    at,
    i32,
    i64,
    while_nonzero,
)
from gpuregress.virtual_gpu.checks.happens_before import HappensBefore
from gpuregress.virtual_gpu.checks.shadow_cells import ShadowPlace, load_word, shadow_place, subroutine
from gpuregress.virtual_gpu.runtime.checks import layout

_LANE_BITS = 31 << layout.THREAD_SHIFT
_WARP_BITS = layout.THREAD_MASK & ~_LANE_BITS
_KIND_BITS = (1 << layout.SITE_SHIFT) - 1 & ~layout.HAS_EARLIER
"""Flags that tell how strong an access is, and of what kind."""


class Newest(Record):
    """The newest access of a list, as a cell keeps it.

    Attributes:
        epoch: without the mark of a list.
        mask: the lanes that it stands for, i32.
        head: the index of the node after it, 0 for none, i32.
        partner: the epoch of the access with which it stands for all of their kind, 0 for none, i64.
    """

    epoch: ir.Value
    mask: ir.Value
    head: ir.Value
    partner: ir.Value


def lane_bit(b: ir.IRBuilder, epoch: ir.Value) -> ir.Value:
    """The bit of an epoch's lane in a mask, i32."""
    lane = b.and_(b.lshr(epoch, i64(layout.THREAD_SHIFT)), i64(31))
    return b.shl(i32(1), b.trunc(lane, I32))


def opened(b: ir.IRBuilder, epoch: ir.Value, word: ir.Value, mark: int) -> Newest:
    """The newest access of a cell.

    Args:
        b: the builder.
        epoch: the cell's word.
        word: that of the second plane.
        mark: the bits of the epoch that tell whether the second word is in use.
    """
    marks = b.and_(epoch, i64(mark))
    is_pair = b.icmp_unsigned("==", marks, i64(layout.PAIRS[mark]))
    alone = b.or_(is_pair, b.icmp_unsigned("==", marks, i64(0)))
    mask = b.select(alone, lane_bit(b, epoch), b.trunc(word, I32))
    head = b.select(alone, i32(0), b.trunc(b.lshr(word, i64(32)), I32))
    return Newest(b.and_(epoch, i64(~mark)), mask, head, b.select(is_pair, word, i64(0)))


@contextmanager
def each_lane(b: ir.IRBuilder, epoch: ir.Value, mask: ir.Value) -> Iterator[ir.Value]:
    """Run the body for the epoch of each lane of a mask."""
    left = Cell(b, mask)
    bare = b.and_(epoch, i64(~_LANE_BITS))
    with while_nonzero(b, left) as lanes:
        lane = b.zext(b.cttz(lanes, ir.Constant(I1, 1)), I64)
        yield b.or_(bare, b.shl(lane, i64(layout.THREAD_SHIFT)))
        left.set(b.and_(lanes, b.sub(lanes, i32(1))), b)


class AccessLists:
    """The subroutines of one module.

    Args:
        order: tells whether accesses are ordered.
        keeps_each: whether no access may stand for those of other warps or blocks, because each pair is asked for.
    """

    def __init__(self, order: HappensBefore, *, keeps_each: bool = False) -> None:
        self._order, self._keeps_each = order, keeps_each

    @contextmanager
    def each(self, b: ir.IRBuilder, machine: ir.Value, newest: Newest) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Run the body for each entry of a list, the newest first: its epoch and its mask."""
        epoch, mask, index = Cell(b, newest.epoch), Cell(b, newest.mask), Cell(b, newest.head)
        partner, going = Cell(b, newest.partner), Cell(b, i32(1))
        with while_nonzero(b, going):
            yield epoch.get(b), mask.get(b)
            number, other = index.get(b), partner.get(b)
            going.set(i32(0), b)
            with b.if_then(b.icmp_unsigned("!=", other, i64(0))):
                epoch.set(other, b)
                mask.set(lane_bit(b, other), b)
                partner.set(i64(0), b)
                going.set(i32(1), b)
            with b.if_then(b.icmp_unsigned("!=", number, i32(0))):
                node = _node(b, machine, number)
                epoch.set(b.load(node, typ=I64), b)
                mask.set(b.load(at(b, node, 8), typ=I32), b)
                index.set(b.load(at(b, node, 12), typ=I32), b)
                going.set(i32(1), b)

    @subroutine("check.list.push", I32)
    def push(self, b: ir.IRBuilder, machine: ir.Value, head: ir.Value, epoch: ir.Value, mask: ir.Value) -> ir.Value:
        """`(machine, head, epoch, mask)` → the new head: an access joins a list.

        It takes the place of an earlier one of its warp, if that is of the same kind and of no further lanes.
        """
        launch = field(b, machine, "checks", POINTER)
        turn = load_word(b, field(b, machine, "block_checks", POINTER), layout.BLOCK["turn"])
        has_turns = b.icmp_unsigned("!=", load_word(b, launch, layout.LAUNCH["has_turns"]), i64(0))
        index = Cell(b, head)
        same_bits = i64(_WARP_BITS | _KIND_BITS)
        with while_nonzero(b, index) as number:
            node = _node(b, machine, number)
            known = b.load(node, typ=I64)
            # Other blocks, and earlier turns of this one, are after those of this turn.
            index.set(i32(0), b)
            is_near = b.icmp_unsigned(">=", known, turn)
            with b.if_then(b.or_(is_near, has_turns)):
                index.set(b.load(at(b, node, 12), typ=I32), b)
                is_same = b.icmp_unsigned("==", b.and_(b.xor(known, epoch), same_bits), i64(0))
                further = b.and_(b.load(at(b, node, 8), typ=I32), b.not_(mask))
                with b.if_then(b.and_(is_same, b.icmp_unsigned("==", further, i32(0)))):
                    own = Cell(b, ir.Constant(I1, 1))
                    with b.if_then(b.not_(is_near)):
                        earlier = self._order.block_of(b, launch, b.lshr(known, i64(layout.STAMP_SHIFT)))
                        later = self._order.block_of(b, launch, b.lshr(epoch, i64(layout.STAMP_SHIFT)))
                        own.set(b.icmp_unsigned("==", earlier, later), b)
                    with b.if_then(own.get(b)):
                        b.store(epoch, node)
                        b.store(mask, at(b, node, 8))
                        b.ret(head)
        fresh = self._allocate(b, machine)
        with b.if_then(b.icmp_unsigned("==", fresh, i32(0)), likely=False):
            b.ret(head)
        node = _node(b, machine, fresh)
        b.store(epoch, node)
        b.store(mask, at(b, node, 8))
        b.store(head, at(b, node, 12))
        return fresh

    @subroutine("check.list.allocate", I32)
    def _allocate(self, b: ir.IRBuilder, machine: ir.Value) -> ir.Value:
        """`(machine)` → the index of a free node; 0 where there is none, which is noted."""
        launch = field(b, machine, "checks", POINTER)
        free = load_word(b, launch, layout.LAUNCH["free_node"])
        with b.if_then(b.icmp_unsigned("!=", free, i64(0))):
            number = b.trunc(free, I32)
            behind = b.load(at(b, _node(b, machine, number), 12), typ=I32)
            b.store(b.zext(behind, I64), at(b, launch, layout.LAUNCH["free_node"]))
            b.ret(number)
        count = load_word(b, launch, layout.LAUNCH["node_count"])
        full = b.icmp_unsigned(">=", count, load_word(b, launch, layout.LAUNCH["node_capacity"]))
        with b.if_then(full, likely=False):
            b.store(i64(1), at(b, launch, layout.LAUNCH["lost_accesses"]))
            b.ret(i32(0))
        b.store(b.add(count, i64(1)), at(b, launch, layout.LAUNCH["node_count"]))
        return b.trunc(count, I32)

    @subroutine("check.list.free")
    def free(self, b: ir.IRBuilder, machine: ir.Value, head: ir.Value) -> None:
        """`(machine, head)`: the nodes of a list are free."""
        with b.if_then(b.icmp_unsigned("==", head, i32(0))):
            b.ret_void()
        launch = field(b, machine, "checks", POINTER)
        last, index = Cell(b, head), Cell(b, head)
        with while_nonzero(b, index) as number:
            last.set(number, b)
            index.set(b.load(at(b, _node(b, machine, number), 12), typ=I32), b)
        first = b.trunc(load_word(b, launch, layout.LAUNCH["free_node"]), I32)
        b.store(first, at(b, _node(b, machine, last.get(b)), 12))
        b.store(b.zext(head, I64), at(b, launch, layout.LAUNCH["free_node"]))

    @subroutine("check.list.forget")
    def forget(self, b: ir.IRBuilder, machine: ir.Value, cell: ir.Value, plane: ir.Value) -> None:
        """`(machine, cell, plane)`: of a cell whose accesses are all ordered, only the newest ones stay."""
        second = at(b, cell, plane)
        for slot in (
            _Slot(cell, second, layout.WRITE_LIST),
            _Slot(at(b, cell, 8), at(b, second, 8), layout.READER_LIST),
        ):
            known = load_word(b, slot.epoch, 0)
            self._free_list(b, machine, slot)
            b.store(b.and_(known, i64(~slot.mark)), slot.epoch)

    def is_repeated(self, b: ir.IRBuilder, epoch: ir.Value, newest: ir.Value, word: ir.Value, mark: int) -> ir.Value:
        """Whether the newest access is the same one, made by the thread already with no wait of its own since.

        Args:
            b: the builder.
            epoch: of the access.
            newest: the cell's word.
            word: that of the second plane.
            mark: that of the list.
        """
        known = opened(b, newest, word, mark)
        same = b.icmp_unsigned("==", b.and_(b.xor(known.epoch, epoch), i64(~(_LANE_BITS | mark))), i64(0))
        return b.and_(same, b.icmp_unsigned("!=", b.and_(known.mask, lane_bit(b, epoch)), i32(0)))

    @subroutine(lambda _, space: f"check.list.read.{space}")
    def note_read(self, space: str, b: ir.IRBuilder, *values: ir.Value) -> None:
        """`(machine, cell, plane, address, epoch)`: a cell of a space is read."""
        machine, cell, plane, address, epoch = values
        place = shadow_place(b, machine, plane, address, epoch, space)
        self._note(b, place, _Slot(at(b, cell, 8), at(b, at(b, cell, plane), 8), layout.READER_LIST))

    @subroutine(lambda _, space, is_strong, **__: f"check.list.write.{space}{'.strong' * is_strong}", attributes=())
    def note_write(
        self, space: str, b: ir.IRBuilder, *values: ir.Value, is_strong: bool, is_exempt: Callable[..., ir.Value]
    ) -> None:
        """`(machine, cell, plane, address, epoch)`: a cell is written.

        Args:
            space: of the cell.
            b: the builder.
            values: the parameters.
            is_strong: whether the write is.
            is_exempt: builds whether a plain write does not race with an earlier one though nothing orders them:
                (builder, the earlier epoch, its own) → i1.
        """
        machine, cell, plane, address, epoch = values
        place = shadow_place(b, machine, plane, address, epoch, space)
        second = at(b, cell, plane)
        slot = _Slot(cell, second, layout.WRITE_LIST)
        readers = _Slot(at(b, cell, 8), at(b, second, 8), layout.READER_LIST)
        if is_strong:
            # Its readers stay: a strong write of another thread, which nothing orders after it, may race with them.
            reader = load_word(b, readers.epoch, 0)
            touched = b.icmp_unsigned("!=", reader, i64(0))
            with b.if_then(b.and_(touched, place.is_all_old(b, reader)), likely=False):
                self._clear(b, place, readers)
            self._note(b, place, slot)
            return
        self._clear(b, place, readers)
        known = load_word(b, cell, 0)
        written = b.and_(known, i64(~layout.WRITE_LIST))
        # Where the newest is ordered before it, one after that may not be.
        has_more = b.icmp_unsigned("!=", b.and_(known, i64(layout.WRITE_LIST)), i64(0))
        stays = b.and_(b.or_(self._order.is_unordered(b, place, written), has_more), is_exempt(b, written, epoch))
        with b.if_else(stays, likely=False) as (kept, alone):
            with kept:
                self._note(b, place, slot)
            with alone:
                self._clear(b, place, slot)
                b.store(epoch, cell)

    def _note(self, b: ir.IRBuilder, place: ShadowPlace, slot: _Slot) -> None:
        """Make an access the newest of a list."""
        machine, mark = place.machine, slot.mark
        is_write = mark == layout.WRITE_LIST
        own = place.epoch if is_write else place.reader(b)
        known, word = load_word(b, slot.epoch, 0), load_word(b, slot.word, 0)
        with b.if_then(place.is_all_old(b, known)):
            self._clear(b, place, slot)
            b.store(own, slot.epoch)
            b.ret_void()
        newest, bit = opened(b, known, word, mark), lane_bit(b, own)
        is_exposed = b.icmp_unsigned("==", b.and_(known, i64(layout.WRITE_LIST)), i64(layout.WRITE_LIST))
        exposed = i64(0)
        if is_write:
            exposed = b.select(is_exposed, i64(layout.EXPOSED), i64(0))
        is_same = b.icmp_unsigned("==", b.and_(b.xor(newest.epoch, own), i64(~_LANE_BITS)), i64(0))
        with b.if_then(b.and_(is_same, b.icmp_unsigned("==", newest.partner, i64(0)))):
            slot.store(b, b.or_(own, exposed), b.or_(newest.mask, bit), newest.head)
            b.ret_void()
        if not self._keeps_each:
            self._pair(b, place, slot, (newest, own, exposed))
        apart, tested = Cell(b, ir.Constant(I1, 0)), newest.mask
        if not self._order.orders_lanes_of_others:
            warp = b.and_(b.xor(newest.epoch, own), i64(_WARP_BITS))
            lowest = b.and_(newest.mask, b.sub(i32(0), newest.mask))
            tested = b.select(b.icmp_unsigned("==", warp, i64(0)), newest.mask, lowest)
        with each_lane(b, newest.epoch, tested) as other:
            apart.set(b.or_(apart.get(b), self._order.is_unordered(b, place, other)), b)
        # What an access races with depends on how strong it is, so only one of its kind stands for another.
        differs = b.icmp_unsigned("!=", b.and_(b.xor(newest.epoch, own), i64(_KIND_BITS & ~mark)), i64(0))
        joins = b.or_(apart.get(b), differs)
        if self._order.orders_blocks and place.space != "shared":
            # A strong one of a block or cluster may race with accesses of a block that one of another does not.
            weak = (layout.WIDE, layout.WIDE) if is_write else (layout.STRONG | layout.NARROW, layout.STRONG)
            is_weak = b.icmp_unsigned("!=", b.and_(newest.epoch, i64(weak[0])), i64(weak[1]))
            joins = b.or_(joins, b.and_(is_weak, self._is_of_another_block(b, place, newest.epoch)))
        head = Cell(b, newest.head)
        with b.if_then(b.icmp_unsigned("!=", newest.partner, i64(0))):
            lane = lane_bit(b, newest.partner)
            head.set(self.push(b, machine, i32(0), newest.partner, lane), b)
        with b.if_then(joins):
            head.set(self.push(b, machine, head.get(b), newest.epoch, newest.mask), b)
        if is_write and self._keeps_each:
            self._drop_exchanged(b, machine, head, (newest, own, exposed), apart.get(b))
        if is_write:
            usual = i64(self._order.strong_for_all(place.space))
            narrow = b.icmp_unsigned("!=", b.and_(newest.epoch, usual), usual)
            exposed = b.or_(exposed, b.select(b.and_(joins, narrow), i64(layout.EXPOSED), i64(0)))
        slot.store(b, b.or_(own, exposed), bit, head.get(b))

    def _drop_exchanged(
        self,
        b: ir.IRBuilder,
        machine: ir.Value,
        head: Cell,
        accesses: tuple[Newest, ir.Value, ir.Value],
        apart: ir.Value,
    ) -> None:
        """Drop the writes before a strong one that may change places with the newest of them, which is reported.

        Args:
            b: the builder.
            machine: the launch's.
            head: of the list.
            accesses: the newest one until now; the epoch of the access; the list's `layout.EXPOSED`.
            apart: whether nothing orders the two, i1.
        """
        newest, own, exposed = accesses
        both = b.and_(newest.epoch, own)
        wide = b.icmp_unsigned("==", b.and_(both, i64(layout.WIDE)), i64(layout.WIDE))
        commutes = b.icmp_unsigned("!=", b.and_(both, i64(layout.SAME_VALUE)), i64(0))
        drops = b.and_(b.and_(apart, wide), b.not_(commutes))
        with b.if_then(b.and_(drops, b.icmp_unsigned("==", exposed, i64(0)))):
            self.free(b, machine, head.get(b))
            head.set(i32(0), b)

    def _pair(
        self, b: ir.IRBuilder, place: ShadowPlace, slot: _Slot, accesses: tuple[Newest, ir.Value, ir.Value]
    ) -> None:
        """Let two accesses stand for all of their kind, if whoever comes next is unordered with one of the two.

        They are of two blocks that no thread of the launch orders, or of two warps since the last barrier where each
        wait orders all threads of a block or the lanes of one warp.

        Args:
            b: the builder; it returns where that is done, or was done already.
            place: of the access.
            slot: of the list.
            accesses: the newest one until now; the epoch of the access; the list's `layout.EXPOSED`.
        """
        newest, own, exposed = accesses
        kind = layout.STRONG if slot.mark == layout.READER_LIST else layout.WIDE
        usual = i64(0 if slot.mark == layout.READER_LIST else layout.WIDE)
        is_usual = b.icmp_unsigned("==", b.and_(own, i64(kind)), usual)
        is_usual = b.and_(is_usual, b.icmp_unsigned("==", b.and_(newest.epoch, i64(kind)), usual))
        is_usual = b.and_(is_usual, b.icmp_unsigned("==", exposed, i64(0)))
        if place.space == "shared" and self._order.is_whole:
            is_other = b.icmp_unsigned("!=", b.and_(b.xor(newest.epoch, own), i64(_WARP_BITS)), i64(0))
        elif place.space == "global" and not self._order.orders_blocks:
            is_other = self._is_of_another_block(b, place, newest.epoch)
        else:
            return
        with b.if_then(b.and_(is_usual, b.icmp_unsigned("!=", newest.partner, i64(0)))):
            b.ret_void()
        with b.if_then(b.and_(is_usual, is_other)):
            self.free(b, place.machine, newest.head)
            b.store(b.or_(own, i64(layout.PAIRS[slot.mark])), slot.epoch)
            b.store(newest.epoch, slot.word)
            b.ret_void()

    def _is_of_another_block(self, b: ir.IRBuilder, place: ShadowPlace, other: ir.Value) -> ir.Value:
        """Whether an epoch of this launch is of another block, and not of an earlier turn of the running one."""
        launch = field(b, place.machine, "checks", POINTER)
        is_earlier = b.icmp_unsigned("<", other, place.turn)
        found = Cell(b, is_earlier)
        has_turns = b.icmp_unsigned("!=", load_word(b, launch, layout.LAUNCH["has_turns"]), i64(0))
        with b.if_then(b.and_(is_earlier, has_turns), likely=False):
            whose = self._order.block_of(b, launch, b.lshr(other, i64(layout.STAMP_SHIFT)))
            own = load_word(b, place.block(b), layout.BLOCK["number"])
            found.set(b.icmp_unsigned("!=", whose, own), b)
        return found.get(b)

    def _clear(self, b: ir.IRBuilder, place: ShadowPlace, slot: _Slot) -> None:
        """Forget all accesses of a slot."""
        self._free_list(b, place.machine, slot)
        b.store(i64(0), slot.epoch)

    def _free_list(self, b: ir.IRBuilder, machine: ir.Value, slot: _Slot) -> None:
        """Give back the nodes of a list; what is of an earlier launch has none any more."""
        known = load_word(b, slot.epoch, 0)
        marks = b.and_(known, i64(slot.mark))
        is_pair = b.icmp_unsigned("==", marks, i64(layout.PAIRS[slot.mark]))
        marked = b.and_(b.icmp_unsigned("!=", marks, i64(0)), b.not_(is_pair))
        launch = field(b, machine, "checks", POINTER)
        current = b.icmp_unsigned(">=", known, load_word(b, launch, layout.LAUNCH["oldest"]))
        with b.if_then(b.and_(marked, current)):
            head = b.trunc(b.lshr(load_word(b, slot.word, 0), i64(32)), I32)
            self.free(b, machine, head)


class _Slot(Record):
    """Where a cell keeps a list.

    Attributes:
        epoch: a pointer to the newest access.
        word: a pointer to its mask and the head of the list.
        mark: bits of the epoch that are set where the word is in use.
    """

    epoch: ir.Value
    word: ir.Value
    mark: int

    def store(self, b: ir.IRBuilder, epoch: ir.Value, mask: ir.Value, head: ir.Value) -> None:
        """Keep a newest access, marked where it is not alone."""
        alone = b.and_(
            b.icmp_unsigned("==", mask, lane_bit(b, epoch)),
            b.icmp_unsigned("==", head, i32(0)),
        )
        # Alone, the marks would be those of a pair: where there are no nodes left, nothing is after it.
        bare, marked = b.and_(epoch, i64(~self.mark)), b.or_(epoch, i64(layout.IN_USE[self.mark]))
        b.store(b.select(alone, bare, marked), self.epoch)
        b.store(b.or_(b.zext(mask, I64), b.shl(b.zext(head, I64), i64(32))), self.word)


def _node(b: ir.IRBuilder, machine: ir.Value, number: ir.Value) -> ir.Value:
    """A pointer to a node."""
    launch = field(b, machine, "checks", POINTER)
    nodes = b.inttoptr(load_word(b, launch, layout.LAUNCH["nodes"]), POINTER)
    return at(b, nodes, b.shl(b.zext(number, I64), i64(layout.NODE_SHIFT)))
