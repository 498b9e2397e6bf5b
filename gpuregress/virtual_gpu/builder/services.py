"""The Services protocol, for lowerings that need memory, control flow, waits or faults.

Calls into Python and the addresses of symbols, which need no more than this protocol, are here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Protocol

import msgspec
from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.analysis.pointers import PointerProvenance
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.region_bounds import MachineView, RegionBounds
from gpuregress.virtual_gpu.builder.structured import I64, POINTER, i64
from gpuregress.virtual_gpu.builder.threads import Thread
from gpuregress.virtual_gpu.builder.translation_unit import Frame, Unit
from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Function, Instruction, Register, Symbol
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


class Services(Emit, Protocol):
    """The function being lowered.

    Attributes:
        builder: where code goes; a lowering may set another one.
        unit: the module.
        function: the syntax tree.
        view: the machine, as this LLVM function sees it.
        thread: the running thread.
        exits: where threads go, and how they wait.
        flow: control flow.
        frame: where parameters and local variables are.
        provenance: where addresses come from.
        block_number: the block at hand.
        index: the statement at hand.
        proven: facts that need no check here.
        entrances: block → what builds the block through which it is entered from other blocks.
        detours: edge (block, block) → what builds the block through which it leads.
        watched: statements at which exchanges between lanes are looked for.
        whole_warp: warp operations that are those of the whole warp, whatever their mask says.
        epoch: where the dynamic checks keep the epoch of the running thread, a pointer to an i64; None without them.
    """

    epoch: ir.Value | None
    builder: ir.IRBuilder
    unit: Unit
    function: Function
    view: MachineView
    thread: Thread
    exits: Exits
    flow: ControlFlowGraph
    frame: Frame
    provenance: PointerProvenance
    block_number: int
    index: int
    proven: Proven
    entrances: dict[int, Callable[[ir.Block], ir.Block]]
    detours: dict[tuple[int, int], Callable[[ir.Block], ir.Block]]
    watched: Watched
    whole_warp: frozenset[int]

    def home(self, name: str) -> tuple[ir.Value, ir.Type]:
        """A register's stack slot and type."""

    def declared(self, name: str) -> ir.Type:
        """A register's type."""

    def temporary(self, type_name: str) -> Register:
        """A register of the emitter's own."""

    def declare(self, name: str, like: str) -> None:
        """Declare a further register of the type of another one."""

    def version(self, name: str) -> int:
        """Return a number that changes whenever a register is set."""

    def proven_pointer(self, address: Address, count: int) -> ir.Value | None:
        """A host pointer that needs no check."""

    def known_pointer(self, key: object) -> ir.Value | None:
        """A host pointer that an access in this block has already checked."""

    def remember_pointer(self, key: object, pointer: ir.Value) -> None:
        """Keep a checked host pointer for the rest of this block."""

    def forget_pointers(self) -> None:
        """Drop all checked pointers: control has come from elsewhere."""

    def array_region(self, address: ir.Value) -> RegionBounds:
        """The region that an address points into, looked up here."""

    @property
    def fault_block(self) -> ir.Block:
        """A block that leaves the function with the fault that was recorded."""

    def fail(self, kind: int, statement: Instruction | Call) -> None:
        """End the block: records a fault and leaves."""

    def guard_value(self, statement: Instruction | Call) -> ir.Value:
        """Whether a guarded statement happens."""

    def wait(self, kind: int) -> None:
        """Wait at the current statement until the scheduler resumes the thread."""

    def wait_site(self) -> int:
        """The number of the site at which a thread waits."""

    def abandon(self) -> None:
        """Mark the rest of the current statement's code as unreachable."""

    def edge(self, target: int) -> ir.Block:
        """The LLVM block to branch to for a block of the flow."""

    def begin(self, builder: ir.IRBuilder, number: int) -> None:
        """Set where code goes, as part of a block of the flow; nothing is known about registers there."""

    def go_on(self, target: int) -> None:
        """Branch to a block of the flow, and lower the code that can be reached from there."""

    def lower_statements(self, statements: Sequence[Instruction]) -> None:
        """Lower instructions one after the other."""

    def count(self, number: int) -> None:
        """Count the instructions of a block of the flow."""

    def counted(self, builder: ir.IRBuilder) -> ir.Value:
        """The number of instructions counted so far; 0 where they are not counted."""

    def add_count(self, builder: ir.IRBuilder, number: ir.Value) -> None:
        """Count further instructions."""

    def current(self) -> Instruction:
        """The statement at hand."""

    def store_count(self, b: ir.IRBuilder) -> None:
        """Add the counted instructions to the machine's."""


@contextmanager
def subroutine_body(emitter: Services, builder: ir.IRBuilder) -> Iterator[None]:
    """Let an emitter build the body of a subroutine.

    Stack slots go into the subroutine's first block and the code into the next, because an insertion into a block moves
    a builder after it.
    """
    body = builder.append_basic_block("body")
    builder.branch(body)
    builder.position_at_end(body)
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
    raise unsupported(emitter.current(), f"the address of {name} is not known")
