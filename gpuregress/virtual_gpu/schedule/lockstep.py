"""Lockstep schedule, for kernels whose threads always wait together, or never.

What lies between two waits is a plain loop over the block's threads, thread 0 first or last. Code that follows several
waits is built once for each of them, so that no thread's position is stored. Registers that vary from
thread to thread are kept in rows of the block's context while the threads wait; the others are kept once for the block.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from llvmlite import ir

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.lane_dependence import ContestedStores
from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.analysis.strides import Strides
from gpuregress.virtual_gpu.analysis.uniformity import Uniformity
from gpuregress.virtual_gpu.builder.services import Proven, Services
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I32,
    I64,
    Cell,
    copy_memory,
    counted,
    entry_alloca,
    i32,
    i64,
    subroutine,
)
from gpuregress.virtual_gpu.builder.threads import BARRIER, PLAIN_BARRIER, STEP, WARP, dimension, each_warp, row
from gpuregress.virtual_gpu.checks import synchronization
from gpuregress.virtual_gpu.checks.access_check import RowRules
from gpuregress.virtual_gpu.checks.access_notes import rules
from gpuregress.virtual_gpu.checks.program_facts import shared_reads
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.modifiers import byte_size, lanes, size, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Exchange, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.schedule import interchange_plan
from gpuregress.virtual_gpu.schedule.idle_threads import idle_edges
from gpuregress.virtual_gpu.schedule.interchange import Interchange
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer
from gpuregress.virtual_gpu.schedule.schedule_base import BlockSchedule
from gpuregress.virtual_gpu.schedule.vectorised_rows import ProvenRow, plan
from gpuregress.virtual_gpu.schedule.watched_rows import SharedKey, WatchedRow, settled, shared_key

# --- ballots ----------------------------------------------------------------------------------------------------------
# Ballots of all warps of a block, taken once its threads have met.


@subroutine("ballots")
def store_ballots(b: ir.IRBuilder, context: ir.Value, threads: ir.Value) -> None:
    """`(context, threads)`: store which lanes of each warp posted nonzero, for each lane."""
    ballot = Cell(b, i32(0))
    with each_warp(b, threads) as (_, base, lanes):
        ballot.set(i32(0), b)
        with counted(b, lanes) as lane:
            posted = b.load(row(b, context, "post", b.add(base, lane)), typ=I64)
            ballot.set_bits(b.shl(b.zext(b.icmp_unsigned("!=", posted, i64(0)), I32), lane))
        with counted(b, lanes) as lane:
            b.store(ballot.get(b), row(b, context, "ballot", b.add(base, lane)))


# --- lane groups ------------------------------------------------------------------------------------------------------
# Groups of lanes that run from last to first, where stores of a warp may be to one address.


def lane_groups(emitter: Services, rematerializer: Rematerializer, contested: ContestedStores, start: int) -> int:
    """The lanes of the groups in which the threads of a region run from last to first; 0: they run in their order.

    Args:
        emitter: the kernel's.
        rematerializer: of its registers.
        contested: its stores that lanes of a warp may make to one address.
        start: the wait that the region begins with; -1 for the start.
    """
    schedule = emitter.unit.schedule
    if schedule.last_first or not schedule.warp_width or not contested.groups:
        return 0
    strides = Strides(rematerializer.all_definitions())
    statements: set[int] = set()
    for first, end in emitter.flow.until_waits(start).values():
        statements.update(range(first, end))
    return contested.group({index for index in statements if not _is_spread(emitter, contested, index, strides)})


def _is_spread(emitter: Services, contested: ContestedStores, index: int, strides: Strides) -> bool:
    """Whether a store has a stride along a row, so that each lane has an address of its own."""
    if index not in contested.groups or emitter.unit.schedule.warp_width < SM_90.warp_size:
        return False
    statement = emitter.flow.statements[index]
    assert isinstance(statement, Instruction)
    address = statement.operands[0]
    stride = strides.of(address.base) if isinstance(address, Address) else None
    return stride is not None and abs(stride.step) >= lanes(statement) * size(type_of(statement))


# --- lockstep ---------------------------------------------------------------------------------------------------------

_COUNTED_TOGETHER = 4
"""Regions whose instructions are counted in one register before the count is stored."""


@dataclass(slots=True)
class _Region:
    """The code from one wait, or from the start, to the next waits.

    Attributes:
        number: 1, 2, …; 0 stands for the end of the block.
        head: the LLVM block where it begins, once for all threads.
        index: the wait's statement; -1 for the start.
        kind: the wait's kind.
        following: the numbers of the regions that may come next, 0 among them where threads may end.
        uniform: the registers kept across the wait that are the same in every thread, as loaded on entry.
    """

    number: int
    head: ir.Block
    index: int = -1
    kind: int = 0
    following: set[int] = field(default_factory=set)
    uniform: dict[str, ir.Value] = field(default_factory=dict)


class _RowLoops(Record):
    """The loops over the rows of a block, while the code of a region is built.

    Attributes:
        number: that of the next thread.
        cells: `tid_z` and `tid_y` of the row.
        heads: where the loops over them begin.
        done: where a row ends.
    """

    number: Cell
    cells: dict[str, Cell]
    heads: dict[str, ir.Block]
    done: ir.Block

    def coordinates(self, b: ir.IRBuilder) -> dict[str, ir.Value]:
        """Return `tid_z` and `tid_y`."""
        return {name: cell.get(b) for name, cell in self.cells.items()}


class Lockstep(BlockSchedule):
    """The regions of one kernel.

    Args:
        body: the kernel's.
        uniformity: analysis of its registers; None where no thread ever waits.
        contested: its stores that lanes of a warp may make to one address.
    """

    def __init__(self, body: Body, uniformity: Uniformity | None, contested: ContestedStores) -> None:
        super().__init__(body)
        self._contested = contested
        self._group = 0
        self._reads_shared = False
        self._varying = frozenset() if uniformity is None else frozenset(uniformity.varying)
        self._waits = uniformity is not None
        self._uniform: dict[str, ir.Value] = {}
        self._regions: dict[int, _Region] = {}
        self._pending: list[_Region] = []
        self._resuming = False
        self._interchange: Interchange | None = None

    def build(self, b: ir.IRBuilder, after: ir.Block) -> None:
        """Build the regions from `b` on; control goes to `after` when all threads have exited."""
        self._count = self.thread_count()
        self._next = Cell(b, i32(0))
        self._complete: dict[SharedKey, Cell] = {}
        if self.unit.granules is not None:
            self._complete = {key: Cell(b, ir.Constant(I1, 0)) for key in self.unit.shared}
        for cell in self._complete.values():
            cell.set(ir.Constant(I1, 0), b)
        if self.body.emitter.watched.reads:
            self._wait_count = Cell(b, i32(0))
            self._wait_count.set(i32(0), b)
        b.branch(self._region(-1, 0).head)
        while self._pending:
            self._lower(self._pending.pop(0), after)

    def _region(self, index: int, kind: int) -> _Region:
        if index not in self._regions:
            number = len(self._regions) + 1
            region = _Region(number, self.llvm.append_basic_block(f"region{number}"), index, kind)
            self._regions[index] = region
            self._pending.append(region)
        return self._regions[index]

    # --- one region ---------------------------------------------------------------------------------------------------

    def _lower(self, region: _Region, after: ir.Block) -> None:
        self._current = region
        b = ir.IRBuilder(region.head)
        self._exchange_posts(b, region)
        if self.unit.granules is not None:
            self._order_memory(b, region)
        if self.body.emitter.watched.reads and region.index >= 0 and region.kind != STEP:
            self._wait_count.add(i32(1), b)
        if region.index >= 0:
            for name in self.rematerializer.kept(self.body.emitter.live_across(region.index)):
                if name not in self._varying:
                    type_ = self.body.emitter.home(name)[1]
                    region.uniform[name] = b.load(self._uniform_slot(name), typ=type_)
        if self.unit.schedule.permuted:
            done = self.llvm.append_basic_block("region_done")
            self._permuted_threads(b, done)
            self._branch_to_next(ir.IRBuilder(done), region, after)
            return
        self._group = lane_groups(self.body.emitter, self.rematerializer, self._contested, region.index)
        self._reads_shared = self._find_initialized(b, region)
        loops = self._open_rows(b)
        if not self._build_proven_rows(b, loops) and not self._interchanged(b, loops):
            self._threads(b, loops)
        self._branch_to_next(self._close_rows(loops), region, after)

    def _build_proven_rows(self, b: ir.IRBuilder, loops: _RowLoops) -> bool:
        """Build the row twice, where it can be proven to need no checks: without checks, and with them."""
        if not self.unit.schedule.proven_rows or self._group:
            return False
        rows = plan(self.body.emitter, self.rematerializer, self._current.index)
        if rows is None:
            return False
        watch: WatchedRow | None = None
        if self.unit.granules is not None:
            watch = WatchedRow(self.body.emitter, rows, self._settled_variables())
            if not watch.analyze():
                return False
        tid = loops.coordinates(b)
        proven = rows.prove(b, lambda inner, x: self.body.start_thread(inner, tid | {"tid_x": x}, None))
        proven_row = self.llvm.append_basic_block("proven_row")
        checked_row = self.llvm.append_basic_block("checked_row")
        if watch is None:
            b.cbranch(proven.holds, proven_row, checked_row)
        else:
            within = self.llvm.append_basic_block("row_within_bounds")
            first = self._first_of_row(b, tid) if self.unit.schedule.last_first else loops.number.get(b)
            b.cbranch(proven.holds, within, checked_row)
            watch.build(ir.IRBuilder(within), first, proven_row, checked_row)
        self._threads(ir.IRBuilder(proven_row), loops, proven)
        self._threads(ir.IRBuilder(checked_row), loops)
        return True

    def _find_initialized(self, b: ir.IRBuilder, region: _Region) -> bool:
        """Whether the dynamic checks know that a region only reads shared memory, between barriers of the block.

        Then the shared variables that it reads are looked through once, if its threads read more than these have.
        """
        unit, emitter = self.unit, self.body.emitter
        if unit.granules is None or unit.has_copies or unit.has_bulk_copies or unit.clustered:
            return False
        reads = shared_reads(emitter.flow, region.index)
        if reads is None:
            return False
        if not unit.schedule.proven_rows:
            return True
        counts = Counter[SharedKey | None]()
        for item in reads:
            address = item.operands[1]
            if isinstance(address, Address):
                counts[shared_key(emitter, address)] += 1
        check = RowRules(rules(emitter))
        for key, complete in self._complete.items():
            if not counts[key]:
                continue
            variable = unit.shared[key]
            extent = self.view.field("dynamic_size") if variable.count is None else i64(byte_size(variable))
            cells = b.lshr(extent, i64(unit.granules["shared"]))
            accesses = b.mul(b.zext(self._count, I64), i64(counts[key]))
            pays = b.icmp_unsigned("<=", cells, accesses)
            with b.if_then(b.and_(pays, b.not_(complete.get(b)))):
                start, step = i64(unit.shared_starts[key]), i64(1 << layout.CELL_SHIFT)
                complete.set(check.is_initialized(b, self.view.machine, start, step, cells), b)
        return True

    def _settled_variables(self) -> dict[SharedKey, Cell] | None:
        """Shared variable → whether the block has written all of it; None where the region may write any."""
        return self._complete if self._reads_shared else None

    def _order_memory(self, b: ir.IRBuilder, region: _Region) -> None:
        """Tell the dynamic checks that all threads have met, where the wait orders their accesses."""
        statement = self.body.emitter.flow.statements[region.index]
        if region.index < 0 or not isinstance(statement, Instruction) or statement.opcode not in ("bar", "barrier"):
            return
        if region.kind == BARRIER or region.kind >= PLAIN_BARRIER:
            synchronization.block_barrier(b, self.view.machine)
        elif region.kind == WARP:
            synchronization.warp_barriers(b, self.view.machine, self._count)

    def _interchanged(self, b: ir.IRBuilder, loops: _RowLoops) -> bool:
        """Build the row with its loops interchanged with the loop over its threads, where that is legal."""
        schedule, start = self.unit.schedule, self._current.index
        if not schedule.proven_rows or schedule.last_first or self._group:
            return False
        region = interchange_plan.plan(self.body, self.rematerializer, start)
        if region is None:
            return False
        allowed: ir.Value | None = None
        if self.unit.granules is not None:
            statements: list[Instruction] = []
            for loop_plan in region.loops:
                statements += loop_plan.loop.body
            allowed = settled(b, self.body.emitter, statements, self._settled_variables())
            if allowed is None:
                return False
        self.uses_context = True
        first = loops.number.get(b)
        tid = loops.coordinates(b)
        varying = self._varying if self._waits else frozenset(self.body.emitter.flow.types)

        def begin(b: ir.IRBuilder, index: ir.Value, end: ir.Block) -> None:
            self.index, self._end = index, end
            self._lower_thread(b)

        self._interchange = Interchange(self.body, self.rematerializer, region, varying)
        end = self.llvm.append_basic_block("interchanged_row_done")
        self._interchange.build(b, first, tid, begin, end, allowed)
        self._interchange = None
        closing = ir.IRBuilder(end)
        loops.number.set(closing.add(first, dimension(self.view, "block_x")), closing)
        closing.branch(loops.done)
        return True

    def _open_rows(self, b: ir.IRBuilder) -> _RowLoops:
        """Open the loops over z and y."""
        number = Cell(b, i32(0))
        number.set(i32(0))
        cells = {name: Cell(b, i32(0)) for name in ("tid_z", "tid_y")}
        heads: dict[str, ir.Block] = {}
        for name, cell in cells.items():
            cell.set(self.first_coordinate(b, name[-1]), b)
            heads[name] = self.llvm.append_basic_block(name)
            b.branch(heads[name])
            b.position_at_end(heads[name])
        return _RowLoops(number, cells, heads, self.llvm.append_basic_block("row_done"))

    def _close_rows(self, loops: _RowLoops) -> ir.IRBuilder:
        """Close the loops over y and z; return where code goes on after them."""
        b = ir.IRBuilder(loops.done)
        for name, end in (("tid_y", "block_y"), ("tid_z", "block_z")):
            done = self.llvm.append_basic_block(f"{name}_done")
            value = loops.cells[name].get(b)
            following = b.add(value, self.forward)
            loops.cells[name].set(following, b)
            if self.unit.schedule.last_first:
                more = b.icmp_unsigned("!=", value, i32(0))
            else:
                more = b.icmp_unsigned("<", following, dimension(self.view, end))
            b.cbranch(more, loops.heads[name], done)
            b.position_at_end(done)
        return b

    def _threads(self, b: ir.IRBuilder, loops: _RowLoops, row: ProvenRow | None = None) -> None:
        """Build the loop over a row's threads, with the facts that are proven for them."""
        emitter, body = self.body.emitter, self.body
        tid = loops.coordinates(b)
        is_permuted = self.unit.schedule.last_first or bool(self._group)
        if self._group > self.unit.schedule.warp_width:
            rows = self._group // self.unit.schedule.warp_width
            tid["tid_y"] = self.in_groups(b, tid["tid_y"], dimension(self.view, "block_y"), rows)
        first = self._first_of_row(b, tid) if is_permuted else loops.number.get(b)
        x = Cell(b, i64(0))
        x.set(i64(0))
        idle = self._idle_edges(row)
        if idle:
            self._idle = Cell(b, ir.Constant(I1, 0))
        head = self.llvm.append_basic_block("thread")
        self._end = self.llvm.append_basic_block("next_thread")
        b.branch(head)
        b.position_at_end(head)
        wide = step = x.get()
        width = b.zext(dimension(self.view, "block_x"), I64)
        if self.unit.schedule.last_first:
            wide = b.sub(b.sub(width, i64(1)), step)
        if self._group:
            wide = self.in_groups(b, step, width, min(self._group, self.unit.schedule.warp_width))
        tid_x = b.trunc(wide, I32)
        self.index = b.add(first, tid_x, flags=("nuw", "nsw"))
        body.start_thread(b, tid | {"tid_x": tid_x}, self.index if self._waits else None)
        emitter.proven = Proven()
        if row is not None:
            emitter.proven = row.of_thread(b, wide, is_watched=self.unit.granules is not None)
        emitter.proven.reads_shared = self._reads_shared
        before = emitter.counter.total(b) if idle else i64(0)
        emitter.detours = dict.fromkeys(idle, self._detour)
        self._lower_thread(b)
        emitter.detours = {}
        b = ir.IRBuilder(self._end)
        if idle:
            self._skip_idle(b, loops, x, before)
        following = b.add(step, i64(1), flags=("nuw", "nsw"))
        x.set(following, b)
        if not is_permuted:
            loops.number.set(b.add(self.index, i32(1), flags=("nuw", "nsw")), b)
        b.cbranch(b.icmp_unsigned("<", following, width), head, loops.done)

    def _permuted_threads(self, b: ir.IRBuilder, done: ir.Block) -> None:
        """Build the loop over the block's threads in the order of the launch's table."""
        position = Cell(b, i32(0))
        position.set(i32(0), b)
        head = self.llvm.append_basic_block("thread")
        self._end = self.llvm.append_basic_block("next_thread")
        b.branch(head)
        b.position_at_end(head)
        here = position.get(b)
        self.index = self.permuted(b, here)
        self.body.start_thread(b, self.coordinates(b, self.index), self.index if self._waits else None)
        self.body.emitter.proven, self.body.emitter.detours = Proven(), {}
        self._lower_thread(b)
        b = ir.IRBuilder(self._end)
        following = b.add(here, i32(1))
        position.set(following, b)
        b.cbranch(b.icmp_unsigned("<", following, self._count), head, done)

    def _idle_edges(self, row: ProvenRow | None) -> set[tuple[int, int]]:
        schedule = self.unit.schedule
        counts = schedule.instruments.any and not schedule.instruments.only_checks
        if row is not None or not self._waits or schedule.last_first or self._group or counts:
            return set()
        return idle_edges(self.body.emitter, self.rematerializer, self._varying, self._current.index)

    def _detour(self, target: ir.Block) -> ir.Block:
        """Note that the threads after this one have nothing to do in this region."""
        block = self.llvm.append_basic_block("idle")
        b = ir.IRBuilder(block)
        self._idle.set(ir.Constant(I1, 1), b)
        b.branch(target)
        return block

    def _skip_idle(self, b: ir.IRBuilder, loops: _RowLoops, x: Cell, before: ir.Value) -> None:
        """Leave the loop over a row's threads once the others are idle; they count what the last one has counted."""
        emitter = self.body.emitter
        idle = self.llvm.append_basic_block("rest_is_idle")
        busy = self.llvm.append_basic_block("not_idle")
        b.cbranch(self._idle.get(b), idle, busy)
        b.position_at_end(idle)
        width = b.zext(dimension(self.view, "block_x"), I64)
        left = b.sub(b.sub(width, x.get(b)), i64(1))
        emitter.counter.add(b, b.mul(left, b.sub(emitter.counter.total(b), before)))
        loops.number.set(b.add(b.add(self.index, i32(1)), b.trunc(left, I32)), b)
        b.branch(loops.done)
        b.position_at_end(busy)

    def _first_of_row(self, b: ir.IRBuilder, tid: dict[str, ir.Value]) -> ir.Value:
        x, y = dimension(self.view, "block_x"), dimension(self.view, "block_y")
        return b.mul(x, b.add(tid["tid_y"], b.mul(tid["tid_z"], y)))

    def _lower_thread(self, b: ir.IRBuilder) -> None:
        emitter, region = self.body.emitter, self._current
        self._start = b
        if region.index < 0:
            emitter.clear_registers(b)
            emitter.lower(b)
        else:
            self._resuming = True
            emitter.resume(region.index)

    def _branch_to_next(self, b: ir.IRBuilder, region: _Region, after: ir.Block) -> None:
        if region.number % _COUNTED_TOGETHER == 0:
            # One sum over the loops of all regions takes LLVM (ScalarEvolution) exponential time.
            self.body.emitter.counter.store(b)
        heads = {0: after}
        for other in self._regions.values():
            heads[other.number] = other.head
        if len(region.following) == 1:
            (number,) = region.following
            b.branch(heads[number])
            return
        # All threads have set the same number.
        switch = b.switch(self._next.get(b), after)
        for number in sorted(region.following - {0}):
            switch.add_case(i32(number), heads[number])

    def _leave(self, emitter: Services, number: int) -> None:
        self._current.following.add(number)
        self._next.set(i32(number), emitter.builder)
        if self._interchange is not None:
            self._interchange.leave(emitter.builder)
        emitter.builder.branch(self._end)

    def last_meeting(self, emitter: Services) -> ir.Value:
        """Return how often the threads have met, steps of their warps excepted, i32."""
        return self._wait_count.get(emitter.builder)

    def finish(self, emitter: Services) -> None:
        """The thread is done."""
        self._leave(emitter, 0)

    # --- registers across a wait --------------------------------------------------------------------------------------

    def _uniform_slot(self, name: str) -> ir.Value:
        if name not in self._uniform:
            self._uniform[name] = entry_alloca(self.llvm, self.body.emitter.home(name)[1])
        return self._uniform[name]

    def wait(self, emitter: Services, kind: int, registers: AtWait) -> None:
        """Save live registers and go to the next thread; in the region after the wait, restore them."""
        if self._resuming:
            self._resuming = False
            emitter.builder.unreachable()
            emitter.builder = self._start
            self._restore(emitter, registers.needed)
            return
        for name in self.rematerializer.kept(registers.live):
            if name in registers.dirty:
                self._save(emitter, name)
        self._leave(emitter, self._region(emitter.index, kind).number)
        emitter.abandon()

    def _save(self, emitter: Services, name: str) -> None:
        b = emitter.builder
        slot, type_ = emitter.home(name)
        value = b.load(slot, typ=type_)
        if name in self._varying:
            self.body.slots.save(b, self.elements(), name, value)
        else:
            b.store(value, self._uniform_slot(name))

    def _restore(self, emitter: Services, needed: frozenset[str]) -> None:
        b = emitter.builder
        for name in self.rematerializer.kept(needed):
            slot, type_ = emitter.home(name)
            value = self._current.uniform.get(name)
            if value is None:
                value = self.body.slots.restore(b, self.elements(), name, type_)
            b.store(value, slot)
        self.rematerializer.rematerialize(emitter, needed)

    # --- what the threads tell each other -----------------------------------------------------------------------------

    def store(self, emitter: Services, name: str, value: ir.Value) -> None:
        """Store a value in the thread's element of a row; the key is not needed, as all threads wait alike."""
        if name != "key":
            super().store(emitter, name, value)

    def fetch(self, emitter: Services, name: str) -> ir.Value:
        """`group`: the lanes (or number of threads) that met; `ballot`: those (or how many) that posted nonzero."""
        b = emitter.builder
        if self._current.kind == BARRIER:
            return self._count if name == "group" else self._votes.get(b)
        return self._lanes(b) if name == "group" else super().fetch(emitter, name)

    def _lanes(self, b: ir.IRBuilder) -> ir.Value:
        """The lanes that the thread's warp has, as bits."""
        left = b.sub(self._count, b.and_(self.index, i32(~31)))
        lanes = b.sub(b.shl(i32(1), b.and_(left, i32(31))), i32(1))
        return b.select(b.icmp_unsigned("<", left, i32(32)), lanes, i32(-1))

    def _exchange_posts(self, b: ir.IRBuilder, region: _Region) -> None:
        """Build the exchange between the threads when all of them have arrived at the wait."""
        if region.index < 0 or region.kind >= PLAIN_BARRIER:
            return
        context = self.context
        statement = self.body.emitter.flow.statements[region.index]
        exchange = info(statement).exchange if isinstance(statement, Instruction) else Exchange.NONE
        if region.kind == BARRIER:
            self._votes = Cell(b, i32(0))
            self._votes.set(i32(0), b)
            with counted(b, self._count) as thread:
                posted = b.load(row(b, context, "post", thread), typ=I64)
                self._votes.add(b.zext(b.icmp_unsigned("!=", posted, i64(0)), I32), b)
        elif exchange is Exchange.BALLOT:
            store_ballots(b, context, self._count)
        elif exchange is Exchange.VALUES:
            posts, snaps = row(b, context, "post", i32(0)), row(b, context, "snap", i32(0))
            copy_memory(b, snaps, posts, b.shl(b.zext(self._count, I64), i64(3)))
