"""Services of the function under construction: memory, control flow, waits and faults.

Calls into Python and the addresses of symbols, which need no more than these, are here, too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Protocol

import msgspec
from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.effects import CARRY
from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.analysis.pointers import PointerProvenance
from gpuregress.virtual_gpu.builder import structured
from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.region_bounds import MachineView, RegionBounds
from gpuregress.virtual_gpu.builder.register_values import Known, RegisterValues, local_registers
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I64,
    POINTER,
    Cell,
    at,
    call_intrinsic,
    convert,
    entry_alloca,
    i64,
    llvm_type,
)
from gpuregress.virtual_gpu.builder.threads import Thread
from gpuregress.virtual_gpu.builder.translation_unit import Frame, Unit
from gpuregress.virtual_gpu.ptx.modifiers import is_signed, unsupported
from gpuregress.virtual_gpu.ptx.opcode_table import Wait, info, instruction_count
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
    as_instruction,
)
from gpuregress.virtual_gpu.runtime.machine_layout import PARAM_WINDOW


class Exits(Protocol):
    """The ends of a thread's code in a function: return, exit, fault, wait.

    Joins, barriers that a thread goes past, and changes of memory are not noted unless a subclass does it.
    """

    def finish(self, emitter: Services) -> None:
        """End the block: the thread returns from the function."""

    def exit(self, emitter: Services) -> None:
        """End the block: the thread exits."""

    def fault(self, emitter: Services) -> None:
        """End the block: a fault has been recorded."""

    def wait(self, emitter: Services, kind: int, registers: AtWait) -> None:
        """End the block with a wait, and continue in a new one when the thread is resumed."""

    def join(self, emitter: Services) -> None:
        """Count that the thread has come to a join of divergent control flow."""
        del emitter

    def pass_barrier(self, emitter: Services) -> None:
        """Note that the thread does something on its way out of the kernel that goes past a barrier."""
        del emitter

    def store(self, emitter: Services, name: str, value: ir.Value) -> None:
        """Store a value in the thread's element of a row of its context."""

    def fetch(self, emitter: Services, name: str) -> ir.Value:
        """The thread's element of a row of its context."""

    def keep(self, emitter: Services, name: str, value: ir.Value) -> None:
        """Keep an i32 of the thread across waits, under a name of its own."""

    def load_kept(self, emitter: Services, name: str) -> ir.Value:
        """Return what the thread has kept under a name."""

    def row_of(self, emitter: Services, name: str) -> int:
        """Return the first byte of the context's row with a register of 32 bits, or what is kept under a name."""

    def fetch_lane(self, emitter: Services, lane: ir.Value) -> ir.Value:
        """Return the value that a lane of the thread's warp has posted."""

    def note_effect(self, emitter: Services) -> None:
        """Note that a spinning thread has changed memory: its loop may end without another thread."""
        del emitter

    def note_update(self, emitter: Services, pointer: ir.Value, old: ir.Value, new: ir.Value) -> None:
        """Note an atomic operation of a spinning thread, which may have left memory as it was."""
        del emitter, pointer, old, new

    def last_meeting(self, emitter: Services) -> ir.Value:
        """Return the number of the last wait at which the thread met others, steps of its warp excepted, i32."""


@dataclass(slots=True)
class Proven:
    """Facts proven for the threads for which code is being built.

    Attributes:
        pointers: (address, bytes) → a host pointer that needs no check.
        branches: guarded branch → whether it is taken.
        escape: where a thread goes whose access is outside the region that it most likely points into; None: other
            regions are searched.
        is_watched: whether the dynamic checks have examined the accesses of `pointers`.
        reads_shared: whether shared memory is only read up to the next barrier of the block.
    """

    pointers: dict[tuple[Address, int], ir.Value] = dataclass_field(default_factory=dict)
    branches: dict[int, bool] = dataclass_field(default_factory=dict)
    escape: ir.Block | None = None
    is_watched: bool = False
    reads_shared: bool = False


class Watched(Record):
    """The statements at which exchanges between lanes are looked for; see `isa.memory.load_store`.

    Attributes:
        writes: statement → the bit of its class: writes that the same reads may see.
        reads: statement → the bits of the classes that it may see.
    """

    writes: Mapping[int, int] = msgspec.field(default_factory=dict)
    reads: Mapping[int, int] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, exchanges: Collection[tuple[int, int]]) -> Watched:
        """Give the writes bits by the reads that may see them; beyond 31 classes, the others share a bit."""
        seen_by: dict[int, tuple[int, ...]] = {}
        for write, read in sorted(exchanges):
            seen_by[write] = (*seen_by.get(write, ()), read)
        classes = sorted(set(seen_by.values()))
        writes = {write: 1 << min(classes.index(readers), 31) for write, readers in seen_by.items()}
        reads: dict[int, int] = {}
        for write, read in exchanges:
            reads[read] = reads.get(read, 0) | writes[write]
        return cls(writes, reads)

    def __contains__(self, index: int) -> bool:
        return index in self.reads or index in self.writes


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


class Services:
    """The function being lowered: an `Emit` with the further services that machine opcodes use.

    Args:
        unit: the module.
        function: the syntax tree.
        view: the machine, as this LLVM function sees it.
        thread: the running thread.
        memory: where results and parameters (by name) are, for a device function.

    Attributes:
        builder: where code goes; a lowering may set another one.
        exits: where threads go, and how they wait; set before the body is lowered.
        flow: control flow.
        frame: where parameters and local variables are.
        provenance: where addresses come from.
        counter: of the executed instructions.
        block_number: the block at hand.
        index: the statement at hand.
        proven: facts that need no check here.
        entrances: block → what builds the block through which it is entered from other blocks.
        detours: edge (block, block) → what builds the block through which it leads.
        watched: statements at which exchanges between lanes are looked for.
        whole_warp: warp operations that are those of the whole warp, whatever their mask says.
        epoch: where the dynamic checks keep the epoch of the running thread, a pointer to an i64; None without them.
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
        self.index = 0
        self.block_number = 0
        self.proven = Proven()
        self.entrances: dict[int, Callable[[ir.Block], ir.Block]] = {}
        self.detours: dict[tuple[int, int], Callable[[ir.Block], ir.Block]] = {}
        self.watched = Watched()
        self.whole_warp: frozenset[int] = frozenset()
        self.epoch = None if unit.granules is None else entry_alloca(view.entry.function, I64)
        self.counter = InstructionCounter(view, self.flow, is_wanted=unit.schedule.counts)
        variables = {*unit.variables, *(item.name for item in function.variables)}
        offsets = self.frame.parameter_offsets if function.is_entry else {}
        self.provenance = PointerProvenance(self.flow.statements, offsets, variables)
        self._declared = {item.name: llvm_type(item.type) for item in function.registers}
        self._values = RegisterValues(local_registers(self.flow), frozenset(self._declared))
        self._homes: dict[str, tuple[ir.Value, ir.Type]] = {}
        self._versions: dict[str, int] = {}
        self._pointers: dict[object, ir.Value] = {}
        self._guarded = False
        self._abandoned = False
        self._blocks: dict[int, ir.Block] = {}
        self._pending: list[int] = []
        self._fault_block: ir.Block | None = None

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
            return self.special_register(name)
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
        return call_intrinsic(self.builder, name, result, *arguments)

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

    def current(self) -> Instruction:
        """The statement at hand; a call as an instruction without operands."""
        return as_instruction(self.flow.statements[self.index])

    def guard_value(self, statement: Instruction | Call) -> ir.Value:
        """Whether a guarded statement happens."""
        guard = statement.guard
        assert guard is not None
        value = self.read(Register(guard.register), "pred")
        return self.builder.not_(value) if guard.negated else value

    def begin(self, builder: ir.IRBuilder, number: int) -> None:
        """Set where code goes, as part of a block of the flow; nothing is known about registers there."""
        self.builder, self.block_number, self.index = builder, number, self.flow.blocks[number].start
        self.forget_pointers()
        self._values.clear(builder.block)

    def abandon(self) -> None:
        """Put the rest of the current statement's code into a block that is never entered: the thread has left."""
        self.builder = ir.IRBuilder(self.view.entry.function.append_basic_block("never"))
        self._abandoned = True

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

    def live_across(self, index: int) -> frozenset[str]:
        """The registers that must outlive the wait at statement `index`."""
        assert self.flow.liveness is not None
        after = self.flow.liveness.live_after[index]
        return self._own(after | frozenset(effects.reads_after_wait(self.flow.statements[index])))

    def _own(self, names: frozenset[str]) -> frozenset[str]:
        """Without the special registers, which need no keeping."""
        return frozenset(name for name in names if name in self._declared or name == CARRY)

    # --- what needs lowerings -----------------------------------------------------------------------------------------

    @abstractmethod
    def special_register(self, name: str) -> ir.Value:
        """The value of a special register."""

    @abstractmethod
    def wait_site(self) -> int:
        """The number of the site at which a thread waits: in a loop that spins, of what it reads."""

    @abstractmethod
    def edge(self, target: int) -> ir.Block:
        """The LLVM block to branch to for a block of the flow; where the edge may spin, one that yields first."""

    @abstractmethod
    def go_on(self, target: int) -> None:
        """Branch to a block of the flow, and lower the code that can be reached from there."""

    @abstractmethod
    def lower_statements(self, statements: Sequence[Statement]) -> None:
        """Lower statements one after the other."""

    @abstractmethod
    def count(self, number: int) -> None:
        """Count the instructions of a block of the flow."""


@contextmanager
def subroutine_body(emitter: Services, builder: ir.IRBuilder) -> Iterator[None]:
    """Let an emitter build the body of a subroutine."""
    caller, emitter.builder = emitter.builder, builder
    yield
    emitter.builder = caller


# --- calls into Python ------------------------------------------------------------------------------------------------
# Calls from compiled code into Python: system calls and bulk copies.


def call_python(emitter: Services, number: int, arguments: ir.Value) -> ir.Value:
    """Call Python and leave with its fault, if there is one; returns the answer, i64.

    Args:
        emitter: the function's; a site that a fault can name has been stored in the machine.
        number: of the system call.
        arguments: pointer to them, eight bytes each.
    """
    b = emitter.builder
    answer = raw_call(b, emitter.view.machine, number, arguments, emitter.thread.local)
    fine = b.icmp_unsigned("==", field(b, emitter.view.machine, "fault_kind"), i64(0))
    after = b.append_basic_block("answered")
    b.cbranch(fine, after, emitter.fault_block)
    emitter.builder = ir.IRBuilder(after)
    emitter.forget_pointers()
    return answer


def raw_call(b: ir.IRBuilder, machine: ir.Value, number: int, arguments: ir.Value, local: ir.Value) -> ir.Value:
    """Call Python without a look at faults; returns the answer, i64."""
    # llvmlite asks the callee's pointer for the function's type, and writes `ptr` all the same.
    type_ = ir.FunctionType(I64, (I64, POINTER, POINTER)).as_pointer()
    function = b.inttoptr(field(b, machine, "syscall"), type_)
    return b.call(function, (i64(number), arguments, local))


# --- addresses of variables and functions -----------------------------------------------------------------------------
# Addresses of named variables and functions, in their own state space.


def symbol_value(emitter: Services, symbol: Symbol) -> ir.Value:
    """The address, i64: within the window for shared and local variables, generic for all else.

    Raises:
        UnsupportedError: the name stands for something that has no address here.
    """
    unit, frame, name = emitter.unit, emitter.frame, symbol.name
    shared = unit.shared_key(emitter.function.name, name)
    if shared is not None:
        start = i64(unit.shared_starts[shared] + symbol.offset)
        return emitter.builder.add(emitter.view.field("shared_base"), start) if emitter.view.clustered else start
    if name in frame.local_offsets:
        return emitter.builder.add(emitter.thread.stack, i64(frame.local_offsets[name] + symbol.offset))
    if name in unit.symbol_numbers:
        return emitter.builder.add(emitter.view.symbol(name)[0], i64(symbol.offset))
    if name in frame.parameter_offsets and emitter.function.is_entry:
        return i64(PARAM_WINDOW + frame.parameter_offsets[name] + symbol.offset)
    if name in unit.functions:
        unit.device_function(name)
        return i64(unit.function_address(name))
    raise unsupported(emitter.current(), f"{name} is defined in no file that is compiled")
