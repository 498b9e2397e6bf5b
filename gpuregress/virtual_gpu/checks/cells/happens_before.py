"""Happens-before order of two accesses, as subroutines of the module.

Barriers of the block, of some warps and of some lanes are looked up in what its threads know of each other
(`synchronization`), barriers of the cluster in its blocks' arrivals (`cluster_order`). Fences, releases and acquires
are left to Python (`runtime.checks.causality`), which is asked of the pairs that remain.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import Cell, at, element, i64, open_function, while_nonzero
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.builder.types import I1, I32, I64, POINTER
from gpuregress.virtual_gpu.checks import cluster_order
from gpuregress.virtual_gpu.checks.cells.shadow_place import CLUSTER, ShadowPlace, load_word
from gpuregress.virtual_gpu.checks.subroutines import subroutine
from gpuregress.virtual_gpu.runtime.checks import layout


class HappensBefore:
    """The subroutines of one module.

    Args:
        unit: the module.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.orders_blocks = unit.synchronizes or unit.clustered or unit.has_bulk_copies
        """Whether blocks of a launch may be ordered."""
        self.orders_lanes_of_others = unit.clustered
        """Whether some lanes of another warp may be ordered, and others not."""
        self.is_whole = not unit.orders_in_part
        """Whether each wait orders all threads of the block, or all lanes of a warp."""

    def strong_for_all(self, space: str) -> int:
        """Bits of a write that is strong for all threads that can access a state space."""
        return layout.STRONG if space == "shared" and not self._unit.clustered else layout.WIDE

    def is_unordered(self, b: ir.IRBuilder, where: ShadowPlace, other: ir.Value) -> ir.Value:
        """Whether no barrier orders an earlier access before one, i1."""
        apart = b.call(self.unordered(where.space), (where.machine, other, where.epoch))
        # What is older is not of this block's shared memory.
        return b.and_(apart, b.icmp_unsigned(">=", other, where.oldest)) if where.space == CLUSTER else apart

    def unordered(self, space: str) -> ir.Function:
        """`(machine, earlier epoch, epoch)` → whether no barrier of the block orders the two."""
        function, is_new = subroutine(self._unit.module, f"check.unordered.{space}", I1, (POINTER, I64, I64))
        if not is_new:
            return function
        machine, other, epoch = function.args
        b = open_function(function)
        no, yes = ir.Constant(I1, 0), ir.Constant(I1, 1)
        block = field(b, machine, "block_checks", POINTER)
        launch = field(b, machine, "checks", POINTER)
        oldest = load_word(b, block, layout.BLOCK["start"])
        if space != "shared":
            oldest = load_word(b, launch, layout.LAUNCH["oldest"])
        with b.if_then(b.icmp_unsigned("<", other, oldest)):
            b.ret(no)
        own, their = (b.lshr(b.and_(one, i64(layout.THREAD_MASK)), i64(layout.THREAD_SHIFT)) for one in (epoch, other))
        stamp = b.lshr(other, i64(layout.STAMP_SHIFT))
        if space != "shared":
            with b.if_then(b.icmp_unsigned("<", other, load_word(b, block, layout.BLOCK["turn"]))):
                with b.if_then(b.icmp_unsigned("==", load_word(b, launch, layout.LAUNCH["has_turns"]), i64(0))):
                    b.ret(yes)
                whose = b.call(self.block_of(), (launch, stamp))
                with b.if_then(b.icmp_unsigned("!=", whose, load_word(b, block, layout.BLOCK["number"]))):
                    if self._unit.clustered:
                        peer = b.call(cluster_order.peer(self._unit.module), (machine, whose))
                        with b.if_then(b.icmp_unsigned("!=", peer, ir.Constant(POINTER, None))):
                            b.ret(self._is_cluster_unordered(b, machine, peer, (their, stamp, own)))
                    b.ret(yes)
        with b.if_then(b.icmp_unsigned("<", other, load_word(b, block, layout.BLOCK["open"]))):
            b.ret(no)
        with b.if_then(b.icmp_unsigned("==", own, their)):
            b.ret(no)
        short = b.trunc(stamp, I32)
        warp, their_warp = b.lshr(own, i64(5)), b.lshr(their, i64(5))
        index = b.add(b.shl(warp, i64(5)), their_warp)
        known = b.load(at(b, block, b.add(i64(layout.WARPS), b.shl(index, i64(2)))), typ=I32)
        with b.if_then(b.icmp_unsigned("<=", short, known)):
            b.ret(no)
        with b.if_then(b.icmp_unsigned("==", warp, their_warp)):
            index = b.add(b.shl(own, i64(5)), b.and_(their, i64(31)))
            known = b.load(at(b, block, b.add(i64(layout.LANES), b.shl(index, i64(2)))), typ=I32)
            with b.if_then(b.icmp_unsigned("<=", short, known)):
                b.ret(no)
        if self._unit.has_bulk_copies:
            with b.if_then(self._has_waited(b, block, other, own, space)):
                b.ret(no)
        if self._unit.clustered:
            b.ret(self._is_cluster_unordered(b, machine, block, (their, stamp, own)))
            return function
        b.ret(yes)
        return function

    @staticmethod
    def _has_waited(b: ir.IRBuilder, block: ir.Value, other: ir.Value, own: ir.Value, space: str) -> ir.Value:
        """Whether an epoch is the arrival of a bulk copy, and a thread (its number, i64) has waited since.

        In global memory it is that of a read: what is written there is waited for by groups.
        """
        mark = layout.ARRIVED if space == "global" else layout.DELIVERED
        flags = b.and_(other, i64(layout.STRONG | mark))
        waited = b.load(element(b, at(b, block, layout.WAITED), own, I32), typ=I32)
        stamp = b.trunc(b.lshr(other, i64(layout.STAMP_SHIFT)), I32)
        return b.and_(b.icmp_unsigned("==", flags, i64(mark)), b.icmp_unsigned("<=", stamp, waited))

    def _is_cluster_unordered(
        self, b: ir.IRBuilder, machine: ir.Value, state: ir.Value, access: tuple[ir.Value, ir.Value, ir.Value]
    ) -> ir.Value:
        """Whether no barrier of the cluster orders an access (its thread, its stamp, the own thread) before this."""
        their, stamp, own = access
        arguments = (machine, state, b.trunc(their, I32), stamp, b.trunc(own, I32))
        return b.not_(b.call(cluster_order.is_known(self._unit.module), arguments))

    def least_scope(self, b: ir.IRBuilder, where: ShadowPlace, other: ir.Value) -> ir.Value:
        """The number of the narrowest scope that includes the threads of an epoch and of an access, i64."""
        is_near = b.icmp_unsigned(">=", other, where.turn)
        least = Cell(b, b.select(is_near, i64(layout.SCOPES["cta"]), i64(layout.SCOPES["gpu"])))
        asks = b.not_(is_near)
        if not self._unit.clustered:
            launch = field(b, where.machine, "checks", POINTER)
            has_turns = b.icmp_unsigned("!=", load_word(b, launch, layout.LAUNCH["has_turns"]), i64(0))
            asks = b.and_(asks, has_turns)
        with b.if_then(asks):
            least.set(b.call(self._least_scope(), (where.machine, other)), b)
        return least.get(b)

    def _least_scope(self) -> ir.Function:
        """`(machine, epoch before the block's turn)` → the number of the narrowest scope that includes its thread."""
        function, is_new = subroutine(self._unit.module, "check.least_scope", I64, (POINTER, I64))
        if not is_new:
            return function
        machine, other = function.args
        b = open_function(function)
        launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
        with b.if_then(b.icmp_unsigned("<", other, load_word(b, launch, layout.LAUNCH["oldest"]))):
            b.ret(i64(layout.SCOPES["gpu"]))
        whose = b.call(self.block_of(), (launch, b.lshr(other, i64(layout.STAMP_SHIFT))))
        number = load_word(b, block, layout.BLOCK["number"])
        with b.if_then(b.icmp_unsigned("==", whose, number)):
            b.ret(i64(layout.SCOPES["cta"]))
        if self._unit.clustered:
            is_one = b.call(cluster_order.is_one_cluster(self._unit.module), (machine, whose, number))
            with b.if_then(is_one):
                b.ret(i64(layout.SCOPES["cluster"]))
        b.ret(i64(layout.SCOPES["gpu"]))
        return function

    def block_of(self) -> ir.Function:
        """`(launch, stamp)` → the number of the block in whose turn the stamp is; by binary search."""
        function, is_new = subroutine(self._unit.module, "check.block_of", I64, (POINTER, I64))
        if not is_new:
            return function
        launch, stamp = function.args
        b = open_function(function)
        turns = b.inttoptr(load_word(b, launch, layout.LAUNCH["turns"]), POINTER)
        low, left = Cell(b, i64(0)), Cell(b, load_word(b, launch, layout.LAUNCH["turn_count"]))
        limit = b.shl(b.add(stamp, i64(1)), i64(layout.STAMP_SHIFT))
        # The last turn that does not begin behind the stamp is in [low, low + left).
        with while_nonzero(b, left) as count:
            half = b.lshr(count, i64(1))
            middle = b.add(low.get(b), half)
            begins = b.load(b.gep(turns, [middle], source_etype=I64), typ=I64)
            is_before = b.icmp_unsigned("<", begins, limit)
            low.set(b.select(is_before, b.add(middle, i64(1)), low.get(b)), b)
            left.set(b.select(is_before, b.sub(b.sub(count, half), i64(1)), half), b)
        found = b.load(b.gep(turns, [b.sub(low.get(b), i64(1))], source_etype=I64), typ=I64)
        b.ret(b.and_(found, i64(0xFFFF_FFFF)))
        return function
