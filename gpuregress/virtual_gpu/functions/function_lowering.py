"""Lowering of one function: registers, guards, basic blocks, waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.effects import CARRY
from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.analysis.pointers import PointerProvenance
from gpuregress.virtual_gpu.builder import structured
from gpuregress.virtual_gpu.builder.address_resolution import field, is_stopped, set_field
from gpuregress.virtual_gpu.builder.emit import Build
from gpuregress.virtual_gpu.builder.region_bounds import MachineView, RegionBounds
from gpuregress.virtual_gpu.builder.services import Exits, Proven, Watched, symbol_value
from gpuregress.virtual_gpu.builder.structured import I1, POINTER, Cell, at, convert, entry_alloca, i64, llvm_type
from gpuregress.virtual_gpu.builder.threads import YIELD, Thread
from gpuregress.virtual_gpu.builder.translation_unit import Frame, Unit
from gpuregress.virtual_gpu.checks import local_notes
from gpuregress.virtual_gpu.counters.probes import Probes
from gpuregress.virtual_gpu.functions.register_values import Known, RegisterValues, local_registers
from gpuregress.virtual_gpu.isa.branches import lower_call
from gpuregress.virtual_gpu.isa.lowering_table import lowering
from gpuregress.virtual_gpu.isa.matrix.mma import instruction_count
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, access_site, watch
from gpuregress.virtual_gpu.isa.special_registers import special_register
from gpuregress.virtual_gpu.ptx.modifiers import is_signed, space_of, unsupported
from gpuregress.virtual_gpu.ptx.opcode_table import Control, Wait, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Negated,
    Operand,
    Register,
    Sink,
    Statement,
    Symbol,
)
from gpuregress.virtual_gpu.runtime.machine_layout import DEPARTED, FAULT_LOOP

# --- instruction counter ----------------------------------------------------------------------------------------------
# Counter of executed instructions, in a register of each LLVM function until it returns.


class InstructionCounter:
    """The instructions that the threads of one function have executed.

    An instruction whose guard is false counts: it is issued. A loop that waits for other threads does not count.

    Args:
        view: the machine, as the LLVM function sees it.
        flow: control flow of the function.
        is_wanted: whether code that counts is built.
    """

    def __init__(self, view: MachineView, flow: ControlFlowGraph, *, is_wanted: bool) -> None:
        self._view, self._flow = view, flow
        self._cell = Cell(view.entry, i64(0)) if is_wanted else None

    def total(self, b: ir.IRBuilder) -> ir.Value:
        """The number counted since it was last stored, i64; 0 where nothing is counted."""
        return i64(0) if self._cell is None else self._cell.get(b)

    def add(self, b: ir.IRBuilder, number: ir.Value) -> None:
        """Count further instructions."""
        if self._cell is not None:
            self._cell.add(number, b)

    def add_run(self, b: ir.IRBuilder, number: int, start: int) -> None:
        """Count the instructions of a block from a statement on, to its end or the next one that a thread may leave.

        Args:
            b: the builder.
            number: of the block.
            start: the first statement.
        """
        if self._cell is None or number in self._flow.waiting_blocks:
            return
        total = 0
        for index in range(start, self._flow.blocks[number].end):
            statement = self._flow.statements[index]
            is_step = isinstance(statement, Instruction) and info(statement).wait is Wait.STEP
            if not is_step and not isinstance(statement, Label):
                total += instruction_count(statement)
            if self._flow.may_leave(index):
                break
        if total:
            self._cell.add(i64(total), b)

    def store(self, b: ir.IRBuilder) -> None:
        """Add the count to the machine's, and begin again at 0."""
        if self._cell is not None:
            machine = self._view.machine
            set_field(b, machine, "instructions", b.add(field(b, machine, "instructions"), self._cell.get(b)))
            self._cell.set(i64(0), b)


# --- function lowering ------------------------------------------------------------------------------------------------


class FunctionEmitter:
    """The `Emit` of one function, with the further services that machine opcodes use.

    Args:
        unit: the module.
        function: its syntax tree.
        view: the machine, as this LLVM function sees it.
        thread: the running thread.
        memory: where results and parameters (by name) are, for a device function.

    Attributes:
        exits: the ends of its threads' code; set before the body is lowered.
        joins: the blocks at whose start `exits` counts the thread.
        departures: the statements that leave their site in the thread's `key`: see `checks.departures`.
        passing: the statements by which a thread goes past a barrier: see `analysis.divergent_barriers`.
    """

    exits: Exits

    def __init__(
        self,
        unit: Unit,
        function: Function,
        view: MachineView,
        thread: Thread,
        memory: dict[str, ir.Value] | None = None,
    ) -> None:
        self.unit = unit
        self.function = function
        self.view = view
        self.thread = thread
        self.flow = ControlFlowGraph(function)
        self.frame = Frame(function, view.entry.function, memory)
        self.builder: ir.IRBuilder = ir.IRBuilder(view.entry.block)
        self.module: ir.Module = unit.module
        self.joins: frozenset[int] = frozenset()
        self.departures: frozenset[int] = frozenset()
        self.passing: frozenset[int] = frozenset()
        self.index = 0
        self.block_number = 0
        self._declared = {item.name: llvm_type(item.type) for item in function.registers}
        self._values = RegisterValues(local_registers(self.flow), frozenset(self._declared))
        self._homes: dict[str, tuple[ir.Value, ir.Type]] = {}
        self._versions: dict[str, int] = {}
        self._pointers: dict[object, ir.Value] = {}
        self._guarded = False
        self._abandoned = False
        self._spin: int | None = None
        self.proven = Proven()
        self.entrances: dict[int, Callable[[ir.Block], ir.Block]] = {}
        self.detours: dict[tuple[int, int], Callable[[ir.Block], ir.Block]] = {}
        self.watched = Watched()
        self.whole_warp: frozenset[int] = frozenset()
        self.epoch = None if unit.granules is None else entry_alloca(view.entry.function, structured.I64)
        self._blocks: dict[int, ir.Block] = {}
        self._pending: list[int] = []
        self._fault_block: ir.Block | None = None
        self._counter = InstructionCounter(view, self.flow, is_wanted=unit.schedule.counts)
        self._probes: Probes | None = None
        if unit.schedule.instruments.coverage or unit.schedule.instruments.costs:
            self._probes = Probes(unit, function.name, self.flow)
        variables = {*unit.variables, *(item.name for item in function.variables)}
        offsets = self.frame.parameter_offsets if function.is_entry else {}
        self.provenance = PointerProvenance(self.flow.statements, offsets, variables)

    # --- registers ----------------------------------------------------------------------------------------------------

    def home(self, name: str) -> tuple[ir.Value, ir.Type]:
        """A register's stack slot and type."""
        if name not in self._homes:
            type_ = self.declared(name)
            self._homes[name] = (entry_alloca(self.view.entry.function, type_), type_)
        return self._homes[name]

    def declared(self, name: str) -> ir.Type:
        """A register's type."""
        if name == CARRY:
            return I1
        if name not in self._declared:
            raise unsupported(self.current(), f"register {name} is not declared")
        return self._declared[name]

    def temporary(self, type_name: str) -> Register:
        """A register of the emitter's own."""
        name = f"%temporary{len(self._declared)}"
        self._declared[name] = llvm_type(type_name)
        return Register(name)

    def declare(self, name: str, like: str) -> None:
        """Declare a further register of the type of another one."""
        self._declared[name] = self.declared(like)
        self.provenance.alias(name, like)

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

    def version(self, name: str) -> int:
        """Return a number that changes whenever a register is set."""
        return self._versions.get(name, 0)

    def read(self, operand: Operand, type_name: str) -> ir.Value:
        """An operand's value, in the LLVM type of `type_name`."""
        type_ = llvm_type(type_name)
        if isinstance(operand, Register):
            return convert(self.builder, self._register(operand.name), type_, signed=is_signed(type_name))
        if isinstance(operand, Integer | Float):
            return structured.constant(operand, type_)
        if isinstance(operand, Negated):
            return self.builder.not_(self._register(operand.operand.name))
        if isinstance(operand, Symbol):
            return convert(self.builder, symbol_value(self, operand), type_)
        raise unsupported(self.current(), f"operand {operand}")

    def _register(self, name: str) -> ir.Value:
        if name not in self._declared and name != CARRY:
            return special_register(self, name)
        known = self._values.get(name, self.builder.block)
        if known is not None:
            return known
        lost = self._values.take(name)
        if lost is not None:
            self._spill(name, lost)
        slot, type_ = self.home(name)
        value = self.builder.load(slot, typ=type_)
        self._values.loaded(name, value, self.builder.block)
        return value

    def write(self, operand: Operand, value: ir.Value, type_name: str) -> None:
        """Set a register."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise unsupported(self.current(), f"{operand} is not a register")
        name = operand.name
        converted_type = self.declared(name)
        self._versions[name] = self.version(name) + 1
        converted = convert(self.builder, value, converted_type, signed=is_signed(type_name))
        if name not in self._values.local:
            self.builder.store(converted, self.home(name)[0])
        self._values.set(name, converted, self.builder.block)

    def _spill(self, name: str, known: Known) -> None:
        """Store a local register's value where it was computed: it does not dominate its uses."""
        assert known.block is not None
        builder = ir.IRBuilder(known.block)
        if known.position < len(known.block.instructions):
            builder.position_before(known.block.instructions[known.position])
        builder.store(known.value, self.home(name)[0])

    def read_carry(self) -> ir.Value:
        """The thread's carry flag."""
        return self._register(CARRY)

    def write_carry(self, value: ir.Value) -> None:
        """Set the thread's carry flag."""
        self.builder.store(value, self.home(CARRY)[0])

    # --- the module's services ----------------------------------------------------------------------------------------

    def intrinsic(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Call an LLVM intrinsic by its full name."""
        function = self.unit.intrinsic(name, result, tuple(item.type for item in arguments))
        return self.builder.call(function, arguments)

    def subroutine(self, name: str, result: ir.Type, parameters: tuple[ir.Type, ...], build: Build) -> ir.Function:
        """A private function of the module, built on first use."""
        return self.unit.subroutine(name, result, parameters, build)

    def table(self, name: str) -> ir.Value:
        """A pointer to a special-function table's bits."""
        entry = at(self.view.entry, self.view.pointer("tables"), 8 * self.unit.table_number(name))
        return self.view.entry.load(entry, typ=POINTER)

    # --- pointers already checked in this block -----------------------------------------------------------------------

    def proven_pointer(self, address: Address, count: int) -> ir.Value | None:
        """A host pointer that needs no check."""
        return self.proven.pointers.get((address, count))

    def known_pointer(self, key: object) -> ir.Value | None:
        """A host pointer that an access in this block has already checked."""
        return self._pointers.get(key)

    def remember_pointer(self, key: object, pointer: ir.Value) -> None:
        """Keep a checked host pointer for the rest of this block, unless only some threads come here."""
        if not self._guarded:
            self._pointers[key] = pointer

    def forget_pointers(self) -> None:
        """Drop all checked pointers: control has come from elsewhere."""
        self._pointers.clear()

    def array_region(self, address: ir.Value) -> RegionBounds:
        """The region that an address points into, looked up here."""
        return self.view.table_region(self.builder, address)

    # --- faults -------------------------------------------------------------------------------------------------------

    @property
    def fault_block(self) -> ir.Block:
        """A block that leaves the function with the fault that was recorded."""
        if self._fault_block is None:
            self._fault_block = self.view.entry.function.append_basic_block("fault")
            builder, self.builder = self.builder, ir.IRBuilder(self._fault_block)
            self.exits.fault(self)
            self.builder = builder
        return self._fault_block

    def fail(self, kind: int, statement: Instruction | Call) -> None:
        """End the block: records a fault and leaves."""
        machine = self.view.machine
        set_field(self.builder, machine, "fault_kind", i64(kind))
        set_field(self.builder, machine, "fault_site", i64(self.unit.site(statement)))
        self.builder.branch(self.fault_block)

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

    def begin(self, builder: ir.IRBuilder, number: int) -> None:
        """Set where code goes, as part of a block of the flow; nothing is known about registers there."""
        self.builder, self.block_number, self.index = builder, number, self.flow.blocks[number].start
        self.forget_pointers()
        self._values.clear(builder.block)

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

    def counted(self, builder: ir.IRBuilder) -> ir.Value:
        """The number of instructions counted so far; 0 where they are not counted."""
        return self._counter.total(builder)

    def add_count(self, builder: ir.IRBuilder, number: ir.Value) -> None:
        """Count further instructions."""
        self._counter.add(builder, number)

    def count(self, number: int) -> None:
        """Count the instructions of a block of the flow."""
        self._count(number, self.flow.blocks[number].start)

    def abandon(self) -> None:
        """Put the rest of the current statement's code into a block that is never entered: the thread has left."""
        self.builder = ir.IRBuilder(self.view.entry.function.append_basic_block("never"))
        self._abandoned = True

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
            self._counter.add_run(self.builder, number, start)

    def store_count(self, b: ir.IRBuilder) -> None:
        """Add the instructions that were counted since the last time to the machine's; built before each return."""
        self._counter.store(b)

    def current(self) -> Instruction:
        """The statement at hand; a call as an instruction without operands."""
        statement = self.flow.statements[self.index]
        if isinstance(statement, Instruction):
            return statement
        return Instruction(
            opcode="call",
            modifiers=(),
            operands=(),
            guard=None,
            ptx_line=statement.ptx_line,
            source=statement.source if isinstance(statement, Call) else None,
        )

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

    def guard_value(self, statement: Instruction | Call) -> ir.Value:
        """Whether a guarded statement happens."""
        guard = statement.guard
        assert guard is not None
        value = self.read(Register(guard.register), "pred")
        return self.builder.not_(value) if guard.negated else value

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

    def wait(self, kind: int) -> None:
        """Wait at the current statement until the scheduler resumes the thread."""
        index, liveness = self.index, self.flow.liveness
        assert liveness is not None
        statement = self.flow.statements[index]
        read = frozenset(effects.reads_after_wait(statement)) - frozenset(effects.context_operands(statement))
        needed = self._own(liveness.needed_after[index] | read)
        self._values.clear()
        self.exits.wait(self, kind, AtWait(self.live_across(index), liveness.dirty_before[index], needed))
        self.forget_pointers()
        self._values.clear(self.builder.block)

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

    def live_across(self, index: int) -> frozenset[str]:
        """The registers that must outlive the wait at statement `index`."""
        assert self.flow.liveness is not None
        after = self.flow.liveness.live_after[index]
        return self._own(after | frozenset(effects.reads_after_wait(self.flow.statements[index])))

    def _own(self, names: frozenset[str]) -> frozenset[str]:
        """Without the special registers, which need no keeping."""
        return frozenset(name for name in names if name in self._declared or name == CARRY)

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
