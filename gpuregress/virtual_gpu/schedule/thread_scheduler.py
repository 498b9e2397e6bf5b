"""Scheduler of waiting threads: barriers and warp operations, as an LLVM function of the module.

It runs when no thread of the block is left to step. Rules (PTX ISA manual, 9.7.13):

* A barrier without a count opens when every thread that has not exited waits at its number; one with a count opens when
  that many have come, where the exited lanes of a warp that takes part count as come. The lanes of a warp must be
  together at an aligned barrier that opens: see `divergence_check`.
* A warp operation happens when every lane in its mask that has not exited stands at the same operation with the same
  mask.
* A cluster's barrier opens when every thread of its blocks that has not exited has come:
  `runtime.resident_blocks` decides that.
* `activemask` and its like answer when no lane of the warp can go on otherwise: the lanes that stand there together.
* Lanes that go in step go on when no other lane of the warp can, except those that spin: the lanes that stand together
  at the first instruction in the order of `analysis.branch_sides`. So lanes that took different paths meet where
  the paths join.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I8,
    I32,
    I64,
    Cell,
    counted,
    element,
    i32,
    i64,
    subroutine,
    while_nonzero,
)
from gpuregress.virtual_gpu.builder.threads import (
    ARRIVE,
    BARRIER,
    CLUSTER,
    CONVERGE,
    PLAIN_BARRIER,
    STEP,
    WARP,
    each_warp,
    new_meetings,
    row,
)
from gpuregress.virtual_gpu.checks import synchronization
from gpuregress.virtual_gpu.checks.synchronization import absent_lanes
from gpuregress.virtual_gpu.isa.matrix.operand_layout import PRODUCT
from gpuregress.virtual_gpu.isa.warp_barriers import WARP_BARRIER
from gpuregress.virtual_gpu.runtime.machine_layout import BARRIERS, DONE
from gpuregress.virtual_gpu.schedule.divergence_check import find_diverged_warp

GO_ON, DEADLOCK, ALL_DONE, BEHIND_CLUSTER, DIVERGED = range(5)
"""Answers of the scheduler; BEHIND_CLUSTER: no thread can continue before the cluster's barrier opens; DIVERGED, or a
greater one: that many warps further, the lanes do not meet at a barrier that opens."""


class SchedulerForm(Record):
    """What a kernel needs of its scheduler; each form is a function of the module.

    Attributes:
        clustered: whether threads may wait at the barrier of a cluster.
        checked: whether the lanes of a warp have to meet at aligned barriers.
        watched: whether the dynamic checks follow which threads have met.
        masked: whether the dynamic checks look for masks that name lanes which went another way.
    """

    clustered: bool = False
    checked: bool = False
    watched: bool = False
    masked: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        words = [word for word in self.__struct_fields__ if getattr(self, word)]
        return ".".join(["schedule", *words])


@subroutine(lambda form: form.name, I32, attributes=("noinline",))
def run_scheduler(form: SchedulerForm, b: ir.IRBuilder, *values: ir.Value) -> None:
    """`(context, threads, machine, kinds, ranks, aligned)` → `GO_ON` …: let waiting threads go on.

    `kinds`, `ranks` and `aligned` are tables with an entry for each wait, from 1: its kind, a byte; its place in the
    order in which diverged lanes go on, an i32; bits of `divergence_check`, a byte.
    """
    scheduler = _ClusterScheduler if form.clustered else _Scheduler
    scheduler(form, b, values).build()


class _Scheduler:
    def __init__(self, form: SchedulerForm, b: ir.IRBuilder, values: tuple[ir.Value, ...]) -> None:
        self.form, self.builder = form, b
        self.context, self.threads, self.machine, self.kinds, self.ranks, self.aligned = values
        self.runnable = self._cell()
        self.live_total = self._cell()
        # Sets of lanes of the warp under way, a bit each.
        self.live = self._cell()
        self.running = self._cell()
        self.in_warp = self._cell()
        self.converging = self._cell()
        self.at_barrier = self._cell()
        self.in_step = self._cell()
        self.spinning = self._cell()

    def _cell(self) -> Cell:
        return Cell(self.builder, i32(0))

    def build(self) -> None:
        b = self.builder
        self._clear_barriers()
        with each_warp(b, self.threads) as (_, base, lanes):
            self._classify_lanes(base, lanes)
            self._warp_operations(base, lanes)
            self._converge(base, lanes)
            self._count_at_barriers(base, lanes)
            self.runnable.set_bits(self.running.get())
            self.live_total.add(self._popcount(self.live.get()))
        self._open_barriers()
        done = b.icmp_unsigned("==", self.live_total.get(), i32(0))
        stuck = b.icmp_unsigned("==", self.runnable.get(), i32(0))
        b.ret(b.select(done, i32(ALL_DONE), b.select(stuck, self._stuck(), i32(GO_ON))))

    def _stuck(self) -> ir.Value:
        """The answer where no thread can go on."""
        return i32(DEADLOCK)

    # --- small pieces -------------------------------------------------------------------------------------------------

    def _popcount(self, value: ir.Value) -> ir.Value:
        return self.builder.ctpop(value)

    def _bit(self, index: ir.Value) -> ir.Value:
        return self.builder.shl(i32(1), index)

    def _load(self, name: str, index: ir.Value) -> ir.Value:
        pointer = row(self.builder, self.context, name, index)
        return self.builder.load(pointer, typ=I64 if name in ("key", "post", "snap") else I32)

    def _store(self, name: str, index: ir.Value, value: ir.Value) -> None:
        self.builder.store(value, row(self.builder, self.context, name, index))

    def _bump(self, name: str, index: ir.Value, by: ir.Value) -> None:
        self._store(name, index, self.builder.add(self._load(name, index), by))

    def _kind(self, state: ir.Value) -> ir.Value:
        return self.builder.load(element(self.builder, self.kinds, self.builder.not_(state), I8), typ=I8)

    def _is(self, kind: ir.Value, wanted: int) -> ir.Value:
        return self.builder.icmp_unsigned("==", kind, ir.Constant(I8, wanted))

    def _is_barrier(self, kind: ir.Value) -> ir.Value:
        plain = self.builder.icmp_unsigned(">=", kind, ir.Constant(I8, PLAIN_BARRIER))
        return self.builder.or_(plain, self._is(kind, BARRIER))

    def _release(self, thread: ir.Value) -> None:
        self._store("state", thread, self.builder.not_(self._load("state", thread)))

    def _go_on(self, thread: ir.Value, meeting: ir.Value) -> None:
        """Release a thread that has met others."""
        self._store("met", thread, meeting)
        self._release(thread)

    def _has(self, mask: ir.Value, lane: ir.Value) -> ir.Value:
        return self.builder.trunc(self.builder.lshr(mask, lane), I1)

    # --- the warp -----------------------------------------------------------------------------------------------------

    def _classify_lanes(self, base: ir.Value, lanes: ir.Value) -> None:
        b = self.builder
        for cell in (self.live, self.running, self.in_warp, self.converging, self.at_barrier, self.in_step):
            cell.set(i32(0))
        with counted(b, lanes) as lane:
            thread, bit = b.add(base, lane), self._bit(lane)
            state = self._load("state", thread)
            with b.if_then(b.icmp_signed("!=", state, i32(DONE))):
                self.live.set_bits(bit)
                with b.if_else(b.icmp_signed(">=", state, i32(0))) as (runs, waits):
                    with runs:
                        self.running.set_bits(bit)
                    with waits:
                        self._sort_waiting(thread, bit, self._kind(state))
        self.spinning.set(self.running.get())

    def _sort_waiting(self, thread: ir.Value, bit: ir.Value, kind: ir.Value) -> None:
        b = self.builder
        for wanted, cell in ((WARP, self.in_warp), (CONVERGE, self.converging), (STEP, self.in_step)):
            cell.set_bits(b.select(self._is(kind, wanted), bit, i32(0)))
        self.at_barrier.set_bits(b.select(self._is_barrier(kind), bit, i32(0)))
        with b.if_then(b.icmp_unsigned(">=", kind, ir.Constant(I8, PLAIN_BARRIER))):
            number = b.sub(kind, ir.Constant(I8, PLAIN_BARRIER))
            self._store("key", thread, b.zext(number, I64))
        with b.if_then(self._is(kind, ARRIVE)):
            self._tell(synchronization.arrival, self._barrier_number(thread), b.lshr(thread, i32(5)))
            self._bump("arrived", self._barrier_number(thread), i32(1))
            self._store("expected", self._barrier_number(thread), self._expected(thread))
            self._release(thread)
            self.running.set_bits(bit)

    def _warp_operations(self, base: ir.Value, lanes: ir.Value) -> None:
        b = self.builder
        todo = Cell(b, self.in_warp.get())
        todo.set(self.in_warp.get())
        match = Cell(b, i32(0))
        with while_nonzero(b, todo) as left:
            first = b.cttz(left, ir.Constant(I1, 1))
            key = self._load("key", b.add(base, first))
            match.set(i32(0))
            with counted(b, lanes) as lane:
                same = b.icmp_unsigned("==", self._load("key", b.add(base, lane)), key)
                stands = b.and_(self._has(self.in_warp.get(), lane), same)
                match.set_bits(b.select(stands, self._bit(lane), i32(0)))
            wanted = b.and_(b.trunc(key, I32), self.live.get())
            missing = b.and_(wanted, b.not_(match.get()))
            with b.if_then(b.icmp_unsigned("==", missing, i32(0))):
                if self.form.watched:
                    operation = b.lshr(key, i64(32))
                    is_product = b.icmp_unsigned("==", operation, i64(PRODUCT))
                    with b.if_then(b.or_(b.icmp_unsigned("==", operation, i64(WARP_BARRIER)), is_product)):
                        self._tell(synchronization.lane_barrier, base, match.get(), self.live.get())
                if self.form.masked:
                    absent_lanes(b, self.machine, self.context, self.threads, base, match.get(), key)
                self._complete_operation(base, lanes, match.get(), match.get())
            todo.set(b.and_(todo.get(), b.not_(match.get())))

    def _complete_operation(self, base: ir.Value, lanes: ir.Value, group: ir.Value, meeting: ir.Value) -> None:
        """Let the lanes of a mask go on; those of another one meet here, the others only go in step."""
        b = self.builder
        ballot, number = Cell(b, i32(0)), new_meetings(b, self.context)
        ballot.set(i32(0))
        with counted(b, lanes) as lane:
            posted = self._load("post", b.add(base, lane))
            votes = b.and_(self._has(group, lane), b.icmp_unsigned("!=", posted, i64(0)))
            ballot.set_bits(b.select(votes, self._bit(lane), i32(0)))
        with counted(b, lanes) as lane, b.if_then(self._has(group, lane)):
            thread = b.add(base, lane)
            self._store("snap", thread, self._load("post", thread))
            self._store("group", thread, group)
            self._store("ballot", thread, ballot.get())
            meets = self._has(meeting, lane)
            self._go_on(thread, b.select(meets, number, self._load("met", thread)))
        self.running.set_bits(group)

    def _converge(self, base: ir.Value, lanes: ir.Value) -> None:
        b = self.builder
        running = self.running.get()
        idle = b.icmp_unsigned("==", running, i32(0))
        only_spinning = b.icmp_unsigned("==", running, self.spinning.get())
        converging = b.select(idle, self.converging.get(), i32(0))
        able = b.or_(converging, b.select(only_spinning, self.in_step.get(), i32(0)))
        with b.if_then(b.icmp_unsigned("!=", able, i32(0))):
            first, group = Cell(b, i32(-1)), Cell(b, i32(0))
            first.set(i32(-1))
            group.set(i32(0))
            with counted(b, lanes) as lane, b.if_then(self._has(able, lane)):
                rank = self._rank(b.add(base, lane))
                first.set(b.select(b.icmp_unsigned("<", rank, first.get()), rank, first.get()))
            with counted(b, lanes) as lane, b.if_then(self._has(able, lane)):
                same = b.icmp_unsigned("==", self._rank(b.add(base, lane)), first.get())
                group.set_bits(b.select(same, self._bit(lane), i32(0)))
            self._complete_operation(base, lanes, group.get(), self.converging.get())

    def _rank(self, thread: ir.Value) -> ir.Value:
        """The rank of the wait at which a thread stands; the number of a wait is the complement of the state."""
        number = self.builder.not_(self._load("state", thread))
        return self.builder.load(element(self.builder, self.ranks, number, I32), typ=I32)

    # --- the barriers -------------------------------------------------------------------------------------------------

    def _barrier_number(self, thread: ir.Value) -> ir.Value:
        return self.builder.trunc(self._load("key", thread), I32)

    def _expected(self, thread: ir.Value) -> ir.Value:
        return self.builder.trunc(self.builder.lshr(self._load("key", thread), i64(32)), I32)

    def _tell(self, note: Callable[..., None], *values: ir.Value) -> None:
        """Tell the dynamic checks what has happened, where there are any."""
        if self.form.watched:
            note(self.builder, self.machine, *values)

    def _clear_barriers(self) -> None:
        self._tell(synchronization.clear_waiting)
        with counted(self.builder, i32(BARRIERS)) as number:
            for name in ("waiting", "counted", "votes"):
                self._store(name, number, i32(0))

    def _count_at_barriers(self, base: ir.Value, lanes: ir.Value) -> None:
        b = self.builder
        seen = Cell(b, i32(0))
        seen.set(i32(0))
        exited = b.sub(i32(32), self._popcount(self.live.get()))
        with counted(b, lanes) as lane, b.if_then(self._has(self.at_barrier.get(), lane)):
            thread = b.add(base, lane)
            number = self._barrier_number(thread)
            self._tell(synchronization.waiting, number, b.lshr(thread, i32(5)))
            self._bump("waiting", number, i32(1))
            first = b.icmp_unsigned("==", b.and_(seen.get(), self._bit(number)), i32(0))
            self._bump("counted", number, b.add(i32(1), b.select(first, exited, i32(0))))
            seen.set_bits(self._bit(number))
            votes = b.icmp_unsigned("!=", self._load("post", thread), i64(0))
            self._bump("votes", number, b.zext(votes, I32))
            self._store("expected", number, self._expected(thread))

    def _open_barriers(self) -> None:
        b = self.builder
        opened = Cell(b, i32(0))
        with counted(b, i32(BARRIERS)) as number:
            waiting, expected = self._load("waiting", number), self._load("expected", number)
            everyone = b.icmp_unsigned("==", waiting, self.live_total.get())
            come = b.add(self._load("counted", number), self._load("arrived", number))
            enough = b.icmp_unsigned(">=", come, expected)
            complete = b.select(b.icmp_unsigned("==", expected, i32(0)), everyone, enough)
            with b.if_then(b.and_(complete, b.icmp_unsigned("!=", waiting, i32(0)))):
                opened.set_bits(self._bit(number))
                self._tell_of_opening(number, everyone, come, expected)
                self._store("arrived", number, i32(0))
        with b.if_then(b.icmp_unsigned("!=", opened.get(), i32(0))):
            self._require_meeting(opened.get())
            first = new_meetings(b, self.context, BARRIERS)
            with counted(b, self.threads) as thread:
                self._open_for(thread, opened.get(), first)
            self.runnable.set(i32(1))

    def _tell_of_opening(self, number: ir.Value, everyone: ir.Value, come: ir.Value, expected: ir.Value) -> None:
        """Tell the dynamic checks of a barrier that opens; one with a count does not wait for threads that exited.

        Where more warps came than its count, any of them may have met on a GPU: then it orders none.
        """
        if not self.form.watched:
            return
        b = self.builder
        has_count = b.icmp_unsigned("!=", expected, i32(0))
        is_partial = b.and_(has_count, b.icmp_unsigned("<", expected, self.threads))
        whole_warps = b.and_(b.add(expected, i32(31)), i32(-32))
        with b.if_then(b.not_(b.and_(has_count, b.icmp_unsigned(">", come, whole_warps)))):
            self._tell(synchronization.named_barrier, number, b.and_(everyone, b.not_(is_partial)))

    def _require_meeting(self, opened: ir.Value) -> None:
        """Return the number of a warp whose lanes do not meet at a barrier that opens."""
        if not self.form.checked:
            return
        b = self.builder
        values = (self.context, self.threads, self.machine, opened, self.kinds, self.aligned)
        warp = find_diverged_warp(self.form.masked, b, *values)
        with b.if_then(b.icmp_unsigned("!=", warp, i32(0)), likely=False):
            b.ret(b.add(warp, i32(DIVERGED - 1)))

    def _open_for(self, thread: ir.Value, opened: ir.Value, first: ir.Value) -> None:
        b = self.builder
        state = self._load("state", thread)
        with b.if_then(b.icmp_signed("<", state, i32(0))), b.if_then(self._is_barrier(self._kind(state))):
            number = self._barrier_number(thread)
            with b.if_then(self._has(opened, number)):
                self._store("group", thread, self._load("waiting", number))
                self._store("ballot", thread, self._load("votes", number))
                self._go_on(thread, b.add(first, number))


class _ClusterScheduler(_Scheduler):
    """As for any block; the threads after a cluster's barrier that has opened go on."""

    def __init__(self, form: SchedulerForm, b: ir.IRBuilder, values: tuple[ir.Value, ...]) -> None:
        super().__init__(form, b, values)
        self.at_cluster = self._cell()

    def _sort_waiting(self, thread: ir.Value, bit: ir.Value, kind: ir.Value) -> None:
        super()._sort_waiting(thread, bit, kind)
        b = self.builder
        with b.if_then(self._is(kind, CLUSTER)):
            came_at = b.lshr(self._load("cluster", thread), i32(1))
            with b.if_else(b.icmp_unsigned(">", self._load("phase", i32(0)), came_at)) as (opened, closed):
                with opened:
                    # The number of the barrier's phase, counted down: the block's meetings are counted up.
                    self._go_on(thread, b.not_(came_at))
                    self.running.set_bits(bit)
                with closed:
                    self.at_cluster.set(i32(1))

    def _stuck(self) -> ir.Value:
        waits = self.builder.icmp_unsigned("!=", self.at_cluster.get(), i32(0))
        return self.builder.select(waits, i32(BEHIND_CLUSTER), i32(DEADLOCK))
