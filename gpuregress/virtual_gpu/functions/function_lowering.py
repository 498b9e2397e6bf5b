"""Lowering of one function: registers, guards, basic blocks, waits."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from llvmlite import ir

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.builder.address_resolution import is_stopped
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i64
from gpuregress.virtual_gpu.builder.threads import YIELD
from gpuregress.virtual_gpu.checks import local_notes
from gpuregress.virtual_gpu.counters.probes import Probes
from gpuregress.virtual_gpu.isa.branches import lower_call
from gpuregress.virtual_gpu.isa.lowering_table import lowering
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, access_site, watch
from gpuregress.virtual_gpu.isa.special_registers import special_register
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Control, info
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Label, Statement
from gpuregress.virtual_gpu.runtime.machine_layout import DEPARTED, FAULT_LOOP


class FunctionEmitter(Services):
    """The lowering of one function; see `Services`.

    Attributes:
        joins: the blocks at whose start `exits` counts the thread.
        departures: the statements that leave their site in the thread's `key`: see `checks.departures`.
        passing: the statements by which a thread goes past a barrier: see `analysis.divergent_barriers`.
    """

    joins: frozenset[int] = frozenset()
    departures: frozenset[int] = frozenset()
    passing: frozenset[int] = frozenset()
    _spin: int | None = None

    @functools.cached_property
    def _probes(self) -> Probes | None:
        """What counts for coverage and costs, if they are wanted."""
        instruments = self.unit.schedule.instruments
        if not instruments.coverage and not instruments.costs:
            return None
        return Probes(self.unit, self.function.name, self.flow)

    def clear_registers(self, builder: ir.IRBuilder) -> None:
        """Set all registers to 0: a thread must not see the values of the one before it."""
        local_notes.clear(builder, self)
        for statement in self.flow.statements:
            for name in effects.sets(statement):
                if name not in self._values.local:
                    self.home(name)
        for slot, type_ in self._homes.values():
            zero = 0 if isinstance(type_, ir.IntType) else 0.0
            builder.store(ir.Constant(type_, zero), slot)

    def special_register(self, name: str) -> ir.Value:
        """The value of a special register."""
        return special_register(self, name)

    # --- control ------------------------------------------------------------------------------------------------------

    def lower(self, start: ir.IRBuilder) -> None:
        """Lower the body, from the position of `start`."""
        self._blocks.clear()
        start.branch(self._block(0))
        self._lower_pending()

    def resume(self, index: int) -> None:
        """Lower the code after the wait at statement `index` once more; `exits.wait` sets its position."""
        self._blocks.clear()
        self.block_number = self.flow.block_at(index)
        self.forget_pointers()
        self._values.clear()
        # What the statement does before it waits has been done: built again in a block that is never entered.
        self.builder = ir.IRBuilder(self.view.entry.function.append_basic_block("before"))
        self.index = index
        self._dispatch(self.flow.statements[index])  # type: ignore[arg-type]  # a label does not wait
        self._lower_block(self.block_number, index + 1)
        self._lower_pending()

    def go_on(self, target: int) -> None:
        """Branch to a block of the flow, and lower the code that can be reached from there."""
        self.builder.branch(self.edge(target))
        self._lower_pending()

    def lower_statements(self, statements: Sequence[Statement]) -> None:
        """Lower statements one after the other."""
        for statement in statements:
            self._values.begin(self.builder.block)
            self._statement(statement)
            for name, lost in self._values.end(self.builder.block).items():
                self._spill(name, lost)

    def begin_counting(self, builder: ir.IRBuilder) -> None:
        """Begin to count for the thread that starts, or goes on, here."""
        if self._probes is not None:
            self._probes.begin_thread(self.view, builder, self.thread)

    def count(self, number: int) -> None:
        """Count the instructions of a block of the flow."""
        self._count(number, self.flow.blocks[number].start)

    def _block(self, number: int) -> ir.Block:
        """The LLVM block of a block of the flow, built when it is first wanted."""
        if number not in self._blocks:
            self._blocks[number] = self.view.entry.function.append_basic_block(f"b{number}")
            self._pending.append(number)
        return self._blocks[number]

    def _lower_pending(self) -> None:
        while self._pending:
            number = min(self._pending)
            self._pending.remove(number)
            self.builder = ir.IRBuilder(self._blocks[number])
            self.block_number = number
            self.forget_pointers()
            self._values.clear()
            if number in self.joins:
                self.exits.join(self)
            self._lower_block(number, self.flow.blocks[number].start)

    def _lower_block(self, number: int, start: int) -> None:
        block = self.flow.blocks[number]
        self._count(number, start)
        for self.index in range(start, block.end):
            self.lower_statements((self.flow.statements[self.index],))
            if self._abandoned:
                self._abandoned = False
                self.builder.unreachable()
            if self.builder.block.is_terminated:
                return
            if self.flow.may_leave(self.index):
                self._count(number, self.index + 1)
        if number + 1 < len(self.flow.blocks):
            self.builder.branch(self.edge(number + 1))
        else:
            self.exits.finish(self)

    def _count(self, number: int, start: int) -> None:
        """Count the instructions of a block from a statement on, to its end or the next one that may wait."""
        if start < self.flow.blocks[number].end:  # else what follows is of the next block, which counts it
            if self._probes is not None:
                self._probes.run(self, start)
            self.counter.add_run(self.builder, number, start)

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Label):
            return
        if isinstance(statement, Instruction) and info(statement).control in {Control.BRANCH, Control.BRANCH_TABLE}:
            self._dispatch(statement)
            return
        if statement.guard is None:
            self._dispatch(statement)
            return
        body = self.builder.append_basic_block("guarded")
        after = self.builder.append_basic_block("after")
        self.builder.cbranch(self.guard_value(statement), body, after)
        self.builder = ir.IRBuilder(body)
        self._values.begin(body, guarded=True)
        self._guarded = True
        if self._probes is not None:
            self._probes.predicate(self)
        self._dispatch(statement)
        self._guarded = False
        if self._abandoned:
            self._abandoned = False
            self.builder.unreachable()
        if not self.builder.block.is_terminated:
            self.builder.branch(after)
        self.builder = ir.IRBuilder(after)

    def _dispatch(self, statement: Instruction | Call) -> None:
        if self.index in self.passing:
            self.exits.pass_barrier(self)
        if isinstance(statement, Call):
            lower_call(self, statement)
            return
        if self._probes is not None:
            self._probes.instruction(self)
        if self.index in self.flow.spin_effects:
            self.exits.note_effect(self)
        if self.index in self.departures:
            self.exits.store(self, "key", i64(self.unit.site(statement) | DEPARTED))
        if self.index in self.watched:
            watch(self, statement)
        lowering(statement)(self, statement)

    def wait_site(self) -> int:
        """The number of the site at which a thread waits: in a loop that spins, of what it reads."""
        if self._spin is None:
            return self.unit.site(self.current())
        statement = self.flow.statements[self._spin]
        assert isinstance(statement, Instruction)
        address = effects.address_of(statement)
        if address is None:
            return self.unit.site(statement)
        return access_site(self, MemoryAccess(statement, address, space_of(statement), 0, "spin"))

    def edge(self, target: int) -> ir.Block:
        """The LLVM block to branch to for block `target`; where the edge may spin, one that yields first."""
        block = self._edge(target)
        return block if self._probes is None else self._probes.on_edge(self, target, block)

    def _edge(self, target: int) -> ir.Block:
        edge = (self.block_number, target)
        if edge in self.detours:
            return self.detours[edge](self._block(target))
        if target in self.entrances and self.block_number != target:
            return self.entrances[target](self._block(target))
        return self._yielding(target) if edge in self.flow.spins else self._stoppable(target)

    def _stoppable(self, target: int) -> ir.Block:
        """The block to branch to for a block of the flow; at the end of a long loop the launch can stop.

        Not in optimised code, unless instruments slow it down anyway, or nothing ends the loop.
        """
        schedule = self.unit.schedule
        condition = self.flow.long_loops.get((self.block_number, target))
        if condition is None:
            return self._block(target)
        statement = self.flow.statements[condition]
        assert isinstance(statement, Instruction)
        is_fast = schedule.is_optimised and not schedule.instruments.any
        if is_fast and statement.guard is not None:
            return self._block(target)
        block, stopped = self.builder.append_basic_block("poll"), self.builder.append_basic_block("stopped")
        b = ir.IRBuilder(block)
        b.cbranch(is_stopped(b, self.view.machine), stopped, self._block(target))
        builder, self.builder = self.builder, ir.IRBuilder(stopped)
        self.fail(FAULT_LOOP, statement)
        self.builder = builder
        return block

    def _yielding(self, target: int) -> ir.Block:
        """A block in which a thread that spins lets the others run, before it comes to a block of the flow."""
        block = self.builder.append_basic_block("yield")
        builder, self.builder = self.builder, ir.IRBuilder(block)
        known = self._values.copy()
        self._values.clear()
        assert self.flow.liveness is not None
        live = self._own(self.flow.liveness.live_in[target])
        self._spin = self.flow.spin_reads[self.block_number, target]
        self.exits.wait(self, YIELD, AtWait(live, live, live))
        self._spin = None
        self.builder.branch(self._block(target))
        self.builder = builder
        self._values.restore(known, builder.block)
        return block
