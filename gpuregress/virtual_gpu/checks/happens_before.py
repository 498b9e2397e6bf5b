"""Happens-before order of two accesses, as subroutines of the module.

Barriers of the block, of some warps and of some lanes are looked up in what its threads know of each other
(`synchronization`), barriers of the cluster in its blocks' arrivals (`cluster_order`). Fences, releases and acquires
are left to Python (`runtime.checks.causality`), which is asked of the pairs that remain.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I32,
    I64,
    POINTER,
    Cell,
    at,
    counted,
    element,
    i32,
    i64,
    while_nonzero,
)
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.shadow_cells import CLUSTER, ShadowPlace, load_word, subroutine
from gpuregress.virtual_gpu.runtime.checks import layout

# --- cluster order ----------------------------------------------------------------------------------------------------
# Order between the threads of a cluster's blocks by the barrier of the cluster.
#
# An arrival that releases, or has a fence before it, publishes what its thread did; a thread that has waited knows what
# all threads published up to the barrier that opened. PTX ISA manual, 9.7.13.4 "barrier.cluster".


def _stamp(b: ir.IRBuilder, machine: ir.Value) -> ir.Value:
    """The stamp of the moment, i32."""
    return b.load(at(b, field(b, machine, "checks", POINTER), layout.LAUNCH["now"]), typ=I32)


def _open(b: ir.IRBuilder, block: ir.Value) -> ir.Value:
    """The first stamp after the block's last barrier, i64."""
    return b.lshr(b.load(at(b, block, layout.BLOCK["open"]), typ=I64), i64(layout.STAMP_SHIFT))


def _low(b: ir.IRBuilder, word: ir.Value) -> ir.Value:
    return b.and_(word, i64(0xFFFF_FFFF))


def note_fence(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value) -> None:
    """Note that a thread (its number, i32) has executed a fence."""
    block = field(b, machine, "block_checks", POINTER)
    word = b.or_(b.shl(_open(b, block), i64(32)), b.zext(_stamp(b, machine), I64))
    b.store(word, element(b, at(b, block, layout.CLUSTER_FENCED), thread, I64))


@subroutine("check.cluster_arrival")
def arrival(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value, steps: ir.Value, releases: ir.Value) -> None:
    """`(machine, thread, steps, whether it releases)`: a thread arrives at the cluster's barrier.

    `steps` counts the thread's arrivals and waits before this one. What was released for an earlier phase stays so.
    """
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    fenced = b.load(element(b, at(b, block, layout.CLUSTER_FENCED), thread, I64), typ=I64)
    upto = b.select(releases, b.zext(_stamp(b, machine), I64), _low(b, fenced))
    behind = b.select(releases, _open(b, block), b.lshr(fenced, i64(32)))
    now = at(b, launch, layout.LAUNCH["now"])
    b.store(b.add(b.load(now, typ=I64), i64(1)), now)
    number = b.lshr(steps, i32(1))
    phase = b.shl(b.add(b.zext(number, I64), i64(1)), i64(32))
    own, before = (b.and_(item, i32(layout.CLUSTER_PHASES - 1)) for item in (number, b.sub(number, i32(1))))
    arrivals, opens = at(b, block, layout.CLUSTER_ARRIVALS), at(b, block, layout.CLUSTER_OPEN)
    for table, released, add in ((arrivals, upto, thread), (opens, behind, None)):
        rows = []
        for phase_number in (own, before):
            index = phase_number
            if add is not None:
                index = b.or_(b.shl(index, i32(10)), add)
            rows.append(element(b, table, index, I64))
        here, earlier = rows
        latest = b.or_(phase, released)
        others = (b.load(here, typ=I64), b.or_(phase, _low(b, b.load(earlier, typ=I64))))
        for other in others:  # of this phase, by another thread, or of the phase before
            latest = b.select(b.icmp_unsigned(">", other, latest), other, latest)
        b.store(latest, here)


@subroutine("check.cluster_passage")
def passage(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value, steps: ir.Value) -> None:
    """`(machine, thread, steps)`: a thread has waited at the cluster's barrier."""
    block = field(b, machine, "block_checks", POINTER)
    passed = b.add(b.lshr(steps, i32(1)), i32(1))
    b.store(passed, element(b, at(b, block, layout.CLUSTER_PASSED), thread, I32))


@subroutine("check.peer", POINTER)
def peer_machine(b: ir.IRBuilder, machine: ir.Value, number: ir.Value) -> ir.Value:
    """`(machine, block's number)` → the state of a block of the running one's cluster; null where it is another's."""
    null = ir.Constant(POINTER, None)
    states = field(b, machine, "cluster_checks", POINTER)
    with counted(b, field(b, machine, "cluster_count")) as rank:
        state = b.load(element(b, states, rank, I64), typ=POINTER)
        with b.if_then(b.icmp_unsigned("!=", state, null)):
            own = b.load(at(b, state, layout.BLOCK["number"]), typ=I64)
            with b.if_then(b.icmp_unsigned("==", own, number)):
                b.ret(state)
    return null


@subroutine("check.is_one_cluster", I1)
def is_one_cluster(b: ir.IRBuilder, machine: ir.Value, first: ir.Value, second: ir.Value) -> ir.Value:
    """`(machine, block's number, another's)` → whether both blocks are of one cluster; they may have exited."""
    is_one: ir.Value = ir.Constant(I1, 1)
    for axis in "xyz":
        blocks, side = field(b, machine, f"grid_{axis}"), field(b, machine, f"cluster_{axis}")
        first_cluster, second_cluster = b.udiv(b.urem(first, blocks), side), b.udiv(b.urem(second, blocks), side)
        is_one = b.and_(is_one, b.icmp_unsigned("==", first_cluster, second_cluster))
        first, second = b.udiv(first, blocks), b.udiv(second, blocks)
    return is_one


@subroutine("check.cluster_known", I1)
def is_known(
    b: ir.IRBuilder, machine: ir.Value, state: ir.Value, their: ir.Value, stamp: ir.Value, own: ir.Value
) -> ir.Value:
    """`(machine, state of a block, its thread, stamp, thread)` → whether the running block's thread knows an access."""
    block = field(b, machine, "block_checks", POINTER)
    passed = b.zext(b.load(element(b, at(b, block, layout.CLUSTER_PASSED), own, I32), typ=I32), I64)
    for row in range(layout.CLUSTER_PHASES):
        arrived = b.load(element(b, at(b, state, layout.CLUSTER_ARRIVALS), b.add(their, i32(row << 10)), I64), typ=I64)
        before = b.load(at(b, state, layout.CLUSTER_OPEN + 8 * row), typ=I64)
        by_thread = b.and_(_is_open(b, arrived, passed), b.icmp_unsigned("<=", stamp, _low(b, arrived)))
        by_block = b.and_(_is_open(b, before, passed), b.icmp_unsigned("<", stamp, _low(b, before)))
        with b.if_then(b.or_(by_thread, by_block)):
            b.ret(ir.Constant(I1, 1))
    return ir.Constant(I1, 0)


def _is_open(b: ir.IRBuilder, word: ir.Value, passed: ir.Value) -> ir.Value:
    """Whether a thread that has waited `passed` times knows of an arrival."""
    return b.icmp_unsigned("<=", b.lshr(word, i64(32)), passed)


# --- happens before ---------------------------------------------------------------------------------------------------


class HappensBefore:
    """The subroutines of one module."""

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
        apart = self.unordered(where.space, b, where.machine, other, where.epoch)
        # What is older is not of this block's shared memory.
        if where.space == CLUSTER:
            apart = b.and_(apart, b.icmp_unsigned(">=", other, where.oldest))
        return apart

    @subroutine(lambda _, space: f"check.unordered.{space}", I1)
    def unordered(self, space: str, b: ir.IRBuilder, machine: ir.Value, other: ir.Value, epoch: ir.Value) -> ir.Value:
        """`(machine, earlier epoch, epoch)` → whether no barrier of the block orders the two."""
        no, yes = ir.Constant(I1, 0), ir.Constant(I1, 1)
        block = field(b, machine, "block_checks", POINTER)
        launch = field(b, machine, "checks", POINTER)
        oldest = load_word(b, block, layout.BLOCK["start"])
        if space != "shared":
            oldest = load_word(b, launch, layout.LAUNCH["oldest"])
        with b.if_then(b.icmp_unsigned("<", other, oldest)):
            b.ret(no)
        own = b.lshr(b.and_(epoch, i64(layout.THREAD_MASK)), i64(layout.THREAD_SHIFT))
        their = b.lshr(b.and_(other, i64(layout.THREAD_MASK)), i64(layout.THREAD_SHIFT))
        stamp = b.lshr(other, i64(layout.STAMP_SHIFT))
        if space != "shared":
            with b.if_then(b.icmp_unsigned("<", other, load_word(b, block, layout.BLOCK["turn"]))):
                with b.if_then(b.icmp_unsigned("==", load_word(b, launch, layout.LAUNCH["has_turns"]), i64(0))):
                    b.ret(yes)
                whose = self.block_of(b, launch, stamp)
                with b.if_then(b.icmp_unsigned("!=", whose, load_word(b, block, layout.BLOCK["number"]))):
                    if self._unit.clustered:
                        peer = peer_machine(b, machine, whose)
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
            return self._is_cluster_unordered(b, machine, block, (their, stamp, own))
        return yes

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
        return b.not_(is_known(b, machine, state, b.trunc(their, I32), stamp, b.trunc(own, I32)))

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
            least.set(self._least_scope(b, where.machine, other), b)
        return least.get(b)

    @subroutine("check.least_scope", I64)
    def _least_scope(self, b: ir.IRBuilder, machine: ir.Value, other: ir.Value) -> ir.Value:
        """`(machine, epoch before the block's turn)` → the number of the narrowest scope that includes its thread."""
        launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
        with b.if_then(b.icmp_unsigned("<", other, load_word(b, launch, layout.LAUNCH["oldest"]))):
            b.ret(i64(layout.SCOPES["gpu"]))
        whose = self.block_of(b, launch, b.lshr(other, i64(layout.STAMP_SHIFT)))
        number = load_word(b, block, layout.BLOCK["number"])
        with b.if_then(b.icmp_unsigned("==", whose, number)):
            b.ret(i64(layout.SCOPES["cta"]))
        if self._unit.clustered:
            is_one = is_one_cluster(b, machine, whose, number)
            with b.if_then(is_one):
                b.ret(i64(layout.SCOPES["cluster"]))
        return i64(layout.SCOPES["gpu"])

    @subroutine("check.block_of", I64)
    def block_of(self, b: ir.IRBuilder, launch: ir.Value, stamp: ir.Value) -> ir.Value:
        """`(launch, stamp)` → the number of the block in whose turn the stamp is; by binary search."""
        turns = b.inttoptr(load_word(b, launch, layout.LAUNCH["turns"]), POINTER)
        low, left = Cell(b, i64(0)), Cell(b, load_word(b, launch, layout.LAUNCH["turn_count"]))
        limit = b.shl(b.add(stamp, i64(1)), i64(layout.STAMP_SHIFT))
        # The last turn that does not begin after the stamp is in [low, low + left).
        with while_nonzero(b, left) as count:
            half = b.lshr(count, i64(1))
            middle = b.add(low.get(b), half)
            begins = b.load(b.gep(turns, [middle], source_etype=I64), typ=I64)
            is_before = b.icmp_unsigned("<", begins, limit)
            low.set(b.select(is_before, b.add(middle, i64(1)), low.get(b)), b)
            left.set(b.select(is_before, b.sub(b.sub(count, half), i64(1)), half), b)
        found = b.load(b.gep(turns, [b.sub(low.get(b), i64(1))], source_etype=I64), typ=I64)
        return b.and_(found, i64(0xFFFF_FFFF))
