"""Pass schedule, for kernels whose threads may wait at different instructions.

In each pass every thread goes on from where it stands to its next wait. When all of them stand at a barrier for the
whole block, the next pass begins at once; otherwise the scheduler decides which threads continue.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.branch_sides import block_ranks
from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance
from gpuregress.virtual_gpu.analysis.divergent_barriers import DivergentBarriers, is_aligned_barrier
from gpuregress.virtual_gpu.analysis.lane_dependence import ContestedStores
from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.builder.address_resolution import is_stopped, set_field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    I8,
    I32,
    I64,
    Cell,
    at,
    counted,
    element,
    fill_memory,
    i32,
    i64,
    subroutine,
    width,
)
from gpuregress.virtual_gpu.builder.threads import (
    LAYOUT,
    PLAIN_BARRIER,
    STEP,
    YIELD,
    ThreadElements,
    dimension,
    new_meetings,
    row,
)
from gpuregress.virtual_gpu.checks import synchronization
from gpuregress.virtual_gpu.checks.program_facts import departures
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CLUSTER_BYTES,
    DONE,
    FAULT_DEADLOCK,
    FAULT_DIVERGENT,
    FAULT_STOPPED,
    FIXED_BYTES,
    HELD,
    PASSED,
    SUSPENDED,
)
from gpuregress.virtual_gpu.schedule.divergence_check import ALIGNED, CONDITIONAL, SKIPPED, find_diverged_warp
from gpuregress.virtual_gpu.schedule.schedule_base import BlockSchedule
from gpuregress.virtual_gpu.schedule.thread_scheduler import (
    ALL_DONE,
    BEHIND_CLUSTER,
    DEADLOCK,
    DIVERGED,
    GO_ON,
    SchedulerForm,
    run_scheduler,
)

# --- stall detection --------------------------------------------------------------------------------------------------
# Detection of blocks in which nothing can change before another block has run.

UNCHANGED_PASSES = 8
"""Passes without a change after which a block is stalled; an asynchronous copy may take a few to arrive."""
SPINNING_PASSES = 4096
"""Passes in which threads do nothing but spin, with counters that change, after which the next block has its turn."""
ENDLESS_PASSES = 1 << 20
"""The same where no other block can end the loop: it counts as endless. A loop with a bound ends long before."""

_GOLDEN_RATIO = 0x9E37_79B9_7F4A_7C15
"""An odd factor that spreads the bits of an address; see Knuth, TAOCP 3, 6.4."""


class StallDetector:
    """The counters of one block's passes.

    A pass changes something if a thread comes to a wait outside the loops that spin, or ends; if it has changed memory
    in such a loop; or if a register that it keeps has changed since it was last there. A pass in which a thread waits
    inside such a loop, at a barrier or for its warp, is a part of an iteration: that it changes nothing says nothing.
    What atomic operations change counts for the pass as a whole: a thread that takes a lock, looks, and gives the lock
    back leaves memory as it was.
    A register on which neither the end of the loop nor what it writes depends, as a counter of iterations, keeps the
    block running for a while, but it does not bring it further.

    Args:
        b: where the block begins or goes on.
    """

    def __init__(self, b: ir.IRBuilder) -> None:
        self._arrived, self._changed, self._stepped, self._counted = (Cell(b, i32(0)) for _ in range(4))
        self._unchanged, self._spinning, self._advanced = (Cell(b, i32(0)) for _ in range(3))
        self._difference = Cell(b, i64(0))

    def begin_pass(self, b: ir.IRBuilder) -> None:
        """Begin a pass: nothing has changed in it."""
        self._arrived.set(i32(0), b)
        self._changed.set(i32(0), b)
        self._stepped.set(i32(0), b)
        self._counted.set(i32(0), b)
        self._difference.set(i64(0), b)

    def note_step(self, b: ir.IRBuilder) -> None:
        """Note that a thread waits for others inside a loop that spins."""
        self._stepped.set(i32(1), b)

    def note_arrival(self, b: ir.IRBuilder) -> None:
        """Note that a thread waits for others outside the loops that spin, or has exited."""
        self._arrived.set(i32(1), b)

    def note_change(self, b: ir.IRBuilder) -> None:
        """Note that a thread that spins has changed memory."""
        self._changed.set(i32(1), b)

    def note_update(self, b: ir.IRBuilder, pointer: ir.Value, old: ir.Value, new: ir.Value) -> None:
        """Add what an atomic operation has changed to the pass's difference: a sum, weighted by a hash of the place."""
        factor = b.mul(b.ptrtoint(pointer, I64), i64(_GOLDEN_RATIO))
        weight = b.or_(b.xor(factor, b.lshr(factor, i64(32))), i64(1))
        change = b.sub(new, old)
        change = b.trunc(change, I64) if width(change.type) > 64 else b.zext(change, I64)
        self._difference.set(b.add(self._difference.get(b), b.mul(change, weight)), b)

    def compare(self, b: ir.IRBuilder, value: ir.Value, before: ir.Value, *, matters: bool) -> None:
        """Note whether a register of a thread that spins has changed, and whether its loop depends on it."""
        if not isinstance(value.type, ir.IntType):
            bits = ir.IntType(width(value.type))
            value, before = b.bitcast(value, bits), b.bitcast(before, bits)
        differs = b.zext(b.icmp_unsigned("!=", value, before), I32)
        cell = self._changed if matters else self._counted
        cell.set(b.or_(cell.get(b), differs), b)

    def end_pass(self, b: ir.IRBuilder, suspend: ir.Block, pass_head: ir.Block, most: int = SPINNING_PASSES) -> None:
        """Go to `suspend` where the block is stalled or has spun for long; else to the next pass.

        Args:
            b: where the pass ends.
            suspend: where the block is left.
            pass_head: where a pass begins.
            most: passes in which threads do nothing but spin.
        """
        differs = b.zext(b.icmp_unsigned("!=", self._difference.get(b), i64(0)), I32)
        moved = b.or_(b.or_(self._arrived.get(b), self._changed.get(b)), differs)
        self._advanced.set(b.or_(self._advanced.get(b), moved), b)
        whole = b.xor(self._stepped.get(b), i32(1))
        runs = b.or_(moved, self._counted.get(b))
        for cell, ends, step in ((self._unchanged, runs, whole), (self._spinning, self._arrived.get(b), i32(1))):
            cell.set(b.select(b.icmp_unsigned("!=", ends, i32(0)), i32(0), b.add(cell.get(b), step)), b)
        is_stalled = b.icmp_unsigned(">=", self._unchanged.get(b), i32(UNCHANGED_PASSES))
        is_long = b.icmp_unsigned(">=", self._spinning.get(b), i32(most))
        b.cbranch(b.or_(is_stalled, is_long), suspend, pass_head)

    def has_advanced(self, b: ir.IRBuilder) -> ir.Value:
        """Return whether anything has changed since the block began or went on, i64."""
        return b.zext(self._advanced.get(b), I64)


# --- warp choice ------------------------------------------------------------------------------------------------------
# Choice of the warp that runs next: the first one in the launch's order of which a lane can go on.
#
# Schedules other than the usual one run a warp up to a barrier before the next warp begins, so that no warp operation
# orders the accesses of two warps.


@subroutine("schedule.warp", I32, attributes=("noinline",))
def choose_warp(b: ir.IRBuilder, context: ir.Value, order: ir.Value, threads: ir.Value) -> ir.Value:
    """`(context, order, threads)` → the number of a warp."""
    with counted(b, threads) as position:
        thread = b.load(element(b, order, position, I32), typ=I32)
        state = b.load(row(b, context, "state", thread), typ=I32)
        can_run = b.and_(b.icmp_signed(">=", state, i32(0)), b.icmp_signed("!=", state, i32(DONE)))
        with b.if_then(can_run):
            b.ret(b.lshr(thread, i32(5)))
    return i32(0)


# --- passes -----------------------------------------------------------------------------------------------------------


class _Wait(Record):
    """A wait of the kernel, as it was built.

    Attributes:
        kind: one of those of `builder.threads`.
        index: the statement.
        meeting: whether a warp must execute it together: bits of `divergence_check`.
        resume: where a thread goes on after it.
    """

    kind: int
    index: int
    meeting: int
    resume: ir.Block


class Passes(BlockSchedule):
    """The passes over a block's threads, for kernels in which threads wait.

    Args:
        body: the kernel's.
        divergent: its barriers that the lanes of a warp may fail to reach together.
        contested: its stores that lanes of a warp may make to one address.
    """

    def __init__(self, body: Body, divergent: DivergentBarriers, contested: ContestedStores) -> None:
        body.view.pointer("context")  # loaded first of all
        super().__init__(body)
        self._divergent = divergent
        schedule = self.unit.schedule
        self._group = 0
        if not schedule.last_first and not schedule.permuted:
            self._group = contested.group(range(len(body.emitter.flow.statements)))
        body.emitter.joins, body.emitter.passing = divergent.joins, divergent.passing
        self._is_masked = "barriers" in schedule.instruments.checks
        self._is_checked = divergent.is_possible or (self._is_masked and divergent.may_exit)
        if self._is_masked:
            body.emitter.departures = departures(body.emitter.flow)
        self._waits: list[_Wait] = []

    def build(self, b: ir.IRBuilder, after: ir.Block) -> None:
        """Build the passes from `b` on; control goes to `after` when all threads have exited."""
        self.count = self.thread_count()
        self.live = Cell(b, self.count)
        if self.body.may_be_suspended:
            self._reset_or_resume(b)
        else:
            self._reset(b)
        self.flip, self.arrived = Cell(b, i32(0)), Cell(b, i32(0))
        schedule = self.unit.schedule
        self._is_by_warp = schedule.permuted and not schedule.in_step and not self.body.emitter.flow.spins
        self._warp = Cell(b, i32(0))
        self.stall: StallDetector | None = None
        if self.body.emitter.flow.spins and not self.body.is_co_resident:
            self.stall = StallDetector(b)
        pass_head, thread_head = self.llvm.append_basic_block("pass"), self.llvm.append_basic_block("thread")
        b.branch(pass_head)
        b.position_at_end(pass_head)
        self.arrived.set(i32(0), b)
        if self._is_by_warp:
            self._warp.set(choose_warp(b, self.context, self.view.pointer("order"), self.count), b)
        if self.stall is not None:
            self.stall.begin_pass(b)
        self.tid = {f"tid_{axis}": Cell(b, self.first_coordinate(b, axis)) for axis in "xyz"}
        number = Cell(b, b.sub(self.count, i32(1)) if self.unit.schedule.last_first else i32(0))
        b.branch(thread_head)
        b.position_at_end(thread_head)
        self.index = number.get()
        tid = {name: cell.get() for name, cell in self.tid.items()}
        if self._group:
            self.index = self.in_groups(b, number.get(), self.count, self._group)
            tid = self.coordinates(b, self.index)
        elif self.unit.schedule.permuted:
            self.index = self.permuted(b, number.get())
            tid = self.coordinates(b, self.index)
        self.next_thread = self.llvm.append_basic_block("next_thread")
        self._step(b, tid)
        self._advance(ir.IRBuilder(self.next_thread), number, thread_head, pass_head, after)

    def _reset(self, b: ir.IRBuilder) -> None:
        states = b.shl(b.zext(self.count, I64), i64(2))
        fill_memory(b, self.context, 0, states)
        if self.body.emitter.watched.reads:
            fill_memory(b, row(b, self.context, "met", i32(0)), 0, states)
        counters = LAYOUT["arrived"][0]
        end = CLUSTER_BYTES if self.body.clustered else FIXED_BYTES
        fill_memory(b, at(b, self.context, counters), 0, i64(end - counters))
        if self._is_checked:
            fill_memory(b, row(b, self.context, "joined", i32(0)), 0, states)
        if self._is_masked:
            fill_memory(b, row(b, self.context, "key", i32(0)), 0, b.shl(b.zext(self.count, I64), i64(3)))
        # A lane must not see the posts of another block: the order of blocks is not fixed.
        snaps = b.shl(b.zext(self.count, I64), i64(3))
        fill_memory(b, row(b, self.context, "snap", i32(0)), 0, snaps)

    def _reset_or_resume(self, b: ir.IRBuilder) -> None:
        self.pass_count = Cell(b, i64(0))
        with b.if_else(b.icmp_unsigned("==", self.view.field("resuming"), i64(0))) as (first, again):
            with first:
                self._reset(b)
                self.live.set(self.count, b)
            with again:
                self.live.set(b.load(row(b, self.context, "left", i32(0)), typ=I32), b)

    def _continue_or_suspend(self, b: ir.IRBuilder, pass_head: ir.Block) -> None:
        """Begin another pass, or return to the caller, so that the next block can have its turn."""
        self.pass_count.add(i64(1), b)
        most = self.view.field("passes_per_turn")
        over = b.icmp_unsigned(">=", self.pass_count.get(b), most)
        limited = b.icmp_unsigned("!=", most, i64(0))
        suspend = self.llvm.append_basic_block("suspend")
        b.cbranch(b.and_(over, limited), suspend, pass_head)
        self._leave(ir.IRBuilder(suspend), SUSPENDED)

    def _spin_or_suspend(self, b: ir.IRBuilder, stall: StallDetector, pass_head: ir.Block) -> None:
        """Begin another pass, unless nothing in the block can change before another block has run."""
        suspend = self.llvm.append_basic_block("suspend")
        stall.end_pass(b, suspend, pass_head, SPINNING_PASSES if self.body.may_be_suspended else ENDLESS_PASSES)
        b.position_at_end(suspend)
        if self.body.may_be_suspended:
            set_field(b, self.view.machine, "advanced", stall.has_advanced(b))
            set_field(b, self.view.machine, "first_block", self.body.number.get(b))
            self._leave(b, SUSPENDED)
        else:
            self._fail(b, FAULT_DEADLOCK)

    def _leave(self, b: ir.IRBuilder, answer: int) -> None:
        """Return to the caller, which resumes the block later."""
        b.store(self.live.get(b), row(b, self.context, "left", i32(0)))
        self.body.emitter.counter.store(b)
        b.ret(i32(answer))

    def _step(self, b: ir.IRBuilder, tid: dict[str, ir.Value]) -> None:
        body = self.body
        body.start_thread(b, tid, self.index)
        body.thread.set_numbers(b, self.index)
        self._elements = ThreadElements(self.context, self.index, b)
        state = b.xor(b.load(self._elements.fixed(b, "state"), typ=I32), self.flip.get(b))
        self.finish_block = self.llvm.append_basic_block("thread_end")
        start = self.llvm.append_basic_block("start")
        if self._is_by_warp:
            turn = self.llvm.append_basic_block("turn_of_warp")
            b.cbranch(b.icmp_unsigned("==", b.lshr(self.index, i32(5)), self._warp.get(b)), turn, self.next_thread)
            b.position_at_end(turn)
        switch = b.switch(state, self.next_thread)
        switch.add_case(i32(0), start)
        b = ir.IRBuilder(start)
        body.emitter.clear_registers(b)
        body.emitter.lower(b)
        for number, wait in enumerate(self._waits, 1):
            switch.add_case(i32(number), wait.resume)
        self._end_thread(ir.IRBuilder(self.finish_block))

    def _end_thread(self, b: ir.IRBuilder) -> None:
        if self.stall is not None:
            self.stall.note_arrival(b)
        b.store(i32(DONE), self._elements.fixed(b, "state"))
        self.live.add(i32(-1), b)
        b.branch(self.next_thread)

    def elements(self) -> ThreadElements:
        """The running thread's elements of the context."""
        return self._elements

    def _advance(
        self, b: ir.IRBuilder, number: Cell, thread_head: ir.Block, pass_head: ir.Block, after: ir.Block
    ) -> None:
        following = b.add(number.get(b), self.forward)
        number.set(following, b)
        self._advance_tid(b, "xyz")
        end = self.llvm.append_basic_block("pass_end")
        # As an unsigned number, one below 0 is large.
        b.cbranch(b.icmp_unsigned("<", following, self.count), thread_head, end)
        b.position_at_end(end)
        quick = self.llvm.append_basic_block("all_arrived")
        slow = self.llvm.append_basic_block("schedule")
        done = self.llvm.append_basic_block("not_done")
        live = self.live.get(b)
        b.cbranch(b.icmp_unsigned("==", live, i32(0)), after, done)
        b.position_at_end(done)
        with b.if_then(is_stopped(b, self.view.machine), likely=False):
            set_field(b, self.view.machine, "fault_address", i64(0))
            self._fail(b, FAULT_STOPPED)
        if self._is_by_warp:
            b.branch(slow)
        else:
            b.cbranch(b.icmp_unsigned("==", self.arrived.get(b), live), quick, slow)
        b.position_at_end(quick)
        self._require_meeting(b)
        if self.unit.granules is not None:
            synchronization.block_barrier(b, self.view.machine)
        if self.body.emitter.watched.reads:
            meeting = new_meetings(b, self.context)
            with counted(b, self.count) as thread:
                b.store(meeting, row(b, self.context, "met", thread))
        self.flip.set(i32(-1), b)
        b.branch(pass_head)
        self._schedule(ir.IRBuilder(slow), pass_head, after)

    def _advance_tid(self, b: ir.IRBuilder, axes: str) -> None:
        axis, further = axes[0], axes[1:]
        cell, side = self.tid[f"tid_{axis}"], dimension(self.view, f"block_{axis}")
        value = b.add(cell.get(b), self.forward)
        cell.set(value, b)
        if further:
            with b.if_then(b.icmp_unsigned(">=", value, side)):
                cell.set(self.first_coordinate(b, axis), b)
                self._advance_tid(b, further)

    def _schedule(self, b: ir.IRBuilder, pass_head: ir.Block, after: ir.Block) -> None:
        form = SchedulerForm(
            clustered=self.body.clustered,
            checked=self._is_checked,
            watched=self.unit.granules is not None,
            masked=self._is_masked,
        )
        if form.masked:
            self._record_block(b)
        tables = (self._kinds(), self._ranks(), self._aligned())
        answer = run_scheduler(form, b, self.context, self.count, self.view.machine, *tables)
        if form.checked:
            diverged = b.icmp_unsigned(">=", answer, i32(DIVERGED))
            self._fail_unless_meeting(b, diverged, b.sub(answer, i32(DIVERGED)))
        self.flip.set(i32(0), b)
        stuck = self.llvm.append_basic_block("stuck")
        switch = b.switch(answer, stuck)
        next_pass = pass_head
        if self.body.is_co_resident:
            next_pass = self.llvm.append_basic_block("turn")
            self._continue_or_suspend(ir.IRBuilder(next_pass), pass_head)
        elif self.stall is not None:
            next_pass = self.llvm.append_basic_block("turn")
            self._spin_or_suspend(ir.IRBuilder(next_pass), self.stall, pass_head)
        switch.add_case(i32(GO_ON), next_pass)
        switch.add_case(i32(ALL_DONE), after)
        if self.body.clustered:
            held = self.llvm.append_basic_block("held")
            self._leave(ir.IRBuilder(held), HELD)
            switch.add_case(i32(BEHIND_CLUSTER), held)
        b.position_at_end(stuck)
        self._fail(b, FAULT_DEADLOCK)

    def _table(self, name: str, element_type: ir.Type, values: list[int]) -> ir.GlobalVariable:
        """A table of the module with a number for each wait, from 1."""
        symbol = f"{name}.{self.body.symbol}"
        if symbol in self.unit.module.globals:
            return self.unit.module.globals[symbol]
        data: list[int] | bytearray = [0, *values]
        if element_type is I8:
            data = bytearray(data)
        table = ir.GlobalVariable(self.unit.module, ir.ArrayType(element_type, len(data)), symbol)
        table.global_constant, table.linkage = True, "internal"
        table.initializer = ir.Constant(table.value_type, data)
        return table

    def _kinds(self) -> ir.GlobalVariable:
        return self._table("kinds", I8, [wait.kind for wait in self._waits])

    def _aligned(self) -> ir.GlobalVariable:
        return self._table("aligned", I8, [wait.meeting for wait in self._waits])

    def _ranks(self) -> ir.GlobalVariable:
        """A table of the module with the rank of each wait, from 1, in the order in which diverged lanes go on."""
        flow = self.body.emitter.flow
        order = list(range(len(self._waits)))
        if any(wait.kind == STEP for wait in self._waits):
            blocks = block_ranks(Dominance(flow))
            indices = [wait.index for wait in self._waits]
            order.sort(key=lambda wait: (blocks.get(flow.block_at(indices[wait]), 0), indices[wait], wait))
        ranks = [0] * len(order)
        for rank, wait in enumerate(order):
            ranks[wait] = rank
        return self._table("ranks", I32, ranks)

    def _require_meeting(self, b: ir.IRBuilder) -> None:
        """Make it a fault if all threads wait at barrier 0, and the lanes of a warp do not execute it together."""
        if not self._is_checked:
            return
        if self._is_masked:
            self._record_block(b)
        tables = (self._kinds(), self._aligned())
        warp = find_diverged_warp(self._is_masked, b, self.context, self.count, self.view.machine, i32(1), *tables)
        self._fail_unless_meeting(b, b.icmp_unsigned("!=", warp, i32(0)), b.sub(warp, i32(1)))

    def _fail_unless_meeting(self, b: ir.IRBuilder, diverged: ir.Value, warp: ir.Value) -> None:
        with b.if_then(diverged, likely=False):
            set_field(b, self.view.machine, "fault_address", b.zext(warp, I64))
            self._fail(b, FAULT_DIVERGENT)

    def _fail(self, b: ir.IRBuilder, kind: int) -> None:
        """Leave the launch with a fault of the block."""
        set_field(b, self.view.machine, "fault_kind", i64(kind))
        self._record_block(b)
        b.ret(i32(DEADLOCK))

    def _record_block(self, b: ir.IRBuilder) -> None:
        """Record the running block as that of a fault or of a finding."""
        for axis in "xyz":
            value = b.zext(self.body.block[f"ctaid_{axis}"], I64)
            set_field(b, self.view.machine, f"fault_ctaid_{axis}", value)

    def join(self, emitter: Services) -> None:
        """Count that the thread has come to a join."""
        b = emitter.builder
        pointer = row(b, self.context, "joined", self.index)
        b.store(b.add(b.load(pointer, typ=I32), i32(1)), pointer)

    def pass_barrier(self, emitter: Services) -> None:
        """Note that the thread goes past a barrier on its way out of the kernel."""
        b = emitter.builder
        pointer = row(b, self.context, "joined", self.index)
        b.store(b.or_(b.load(pointer, typ=I32), i32(PASSED)), pointer)

    def wait(self, emitter: Services, kind: int, registers: AtWait) -> None:
        """Save the registers that live and have changed, leave the pass, and continue in a new block."""
        body, b = self.body, emitter.builder
        number = len(self._waits) + 1
        steps = kind != YIELD and self._is_spinning(emitter)
        for name in self.rematerializer.kept(registers.live & registers.dirty):
            slot, type_ = emitter.home(name)
            value = b.load(slot, typ=type_)
            is_result = kind != YIELD and name in effects.sets(emitter.current())  # holds anything before
            if self.stall is not None and (steps or kind == YIELD) and not is_result:
                before = body.slots.restore(b, self._elements, name, type_)
                self.stall.compare(b, value, before, matters=name in emitter.flow.spin_registers)
            body.slots.save(b, self._elements, name, value)
        if self.stall is not None and steps:
            self.stall.note_step(b)
        elif self.stall is not None and kind != YIELD:
            self.stall.note_arrival(b)
        state = number if kind == YIELD else ~number
        b.store(i32(state), self._elements.fixed(b, "state"))
        # The scheduler must see the waits of a loop that spins: it may suspend the block there.
        if kind == PLAIN_BARRIER and not steps:
            self.arrived.add(i32(1), b)
        b.branch(self.next_thread)
        resume = self.llvm.append_basic_block(f"resume{number}")
        self._waits.append(_Wait(kind=kind, index=emitter.index, meeting=self._meeting(emitter), resume=resume))
        self.wait_sites.append(emitter.wait_site())
        emitter.builder = ir.IRBuilder(resume)
        for name in self.rematerializer.kept(registers.needed):
            slot, type_ = emitter.home(name)
            value = body.slots.restore(emitter.builder, self._elements, name, type_)
            emitter.builder.store(value, slot)
        self.rematerializer.rematerialize(emitter, registers.needed)

    def _is_spinning(self, emitter: Services) -> bool:
        """Whether a thread stands inside a loop that spins, and its block may be suspended there."""
        return self.body.may_be_suspended and emitter.flow.block_at(emitter.index) in emitter.flow.spinning_blocks

    def _meeting(self, emitter: Services) -> int:
        """Whether a warp must execute a wait together, and how its lanes may go past it."""
        if not is_aligned_barrier(emitter.current()):
            return 0
        block = emitter.flow.block_at(emitter.index)
        bits = ALIGNED
        if block in self._divergent.conditional:
            bits |= CONDITIONAL
        if block in self._divergent.skipped:
            bits |= SKIPPED
        return bits

    def note_effect(self, emitter: Services) -> None:
        """Note that a spinning thread has changed memory: its loop may end without another thread."""
        if self.stall is not None:
            self.stall.note_change(emitter.builder)

    def note_update(self, emitter: Services, pointer: ir.Value, old: ir.Value, new: ir.Value) -> None:
        """Note an atomic operation of a spinning thread, which may have left memory as it was."""
        if self.stall is not None:
            self.stall.note_update(emitter.builder, pointer, old, new)

    def last_meeting(self, emitter: Services) -> ir.Value:
        """Return the number of the last wait at which the thread met others, steps of its warp excepted, i32."""
        return self.fetch(emitter, "met")

    def finish(self, emitter: Services) -> None:
        """The thread is done."""
        emitter.builder.branch(self.finish_block)
