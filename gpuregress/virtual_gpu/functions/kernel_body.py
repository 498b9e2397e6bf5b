"""Body of a kernel under construction: the LLVM function, its registers, the running thread."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.module_facts import is_clustered, uses_grid_barrier
from gpuregress.virtual_gpu.builder.address_resolution import set_field
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.structured import I32, I64, POINTER, Cell, at, entry_alloca, i64, open_function
from gpuregress.virtual_gpu.builder.threads import COORDINATES, THREAD_TYPE, LoopThread, Slots
from gpuregress.virtual_gpu.builder.translation_unit import Unit, has_local_gaps
from gpuregress.virtual_gpu.checks.access_notes import begin_epoch
from gpuregress.virtual_gpu.functions.function_lowering import FunctionEmitter
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.tree import Call, Function, Instruction
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_GAP, LOCAL_START, local_stride

STACK_BYTES = 64 * 1024
"""Local memory for the device functions that a kernel calls."""


class Body:
    """The parts of a kernel that all builders of its loops share.

    Args:
        unit: the module.
        function: the kernel's syntax tree.
        symbol: its name in the object code.
    """

    def __init__(self, unit: Unit, function: Function, symbol: str) -> None:
        self.unit, self.symbol = unit, symbol
        self.llvm = ir.Function(unit.module, ir.FunctionType(I32, (POINTER,)), f"{symbol}.body")
        self.llvm.attributes.add("nounwind")
        self.entry = open_function(self.llvm)
        self.clustered = is_clustered(function)
        self.view = MachineView(unit, self.llvm.args[0], self.entry, clustered=self.clustered)
        self._cells = {name: entry_alloca(self.llvm, I32) for name in COORDINATES}
        self.thread = LoopThread({}, self.view.pointer("local"), i64(LOCAL_START), entry_alloca(self.llvm, THREAD_TYPE))
        self.emitter = FunctionEmitter(unit, function, self.view, self.thread)
        self.slots = Slots(clustered=self.clustered)
        self.has_calls = any(isinstance(item, Call) for item in self.emitter.flow.statements)
        self.stack_start = self.local_bytes = self.emitter.frame.local_bytes
        """Where the frames of called functions begin in local memory."""
        self.declared_local_bytes = self.emitter.frame.declared_local_bytes
        if self.has_calls:
            if has_local_gaps(function):
                self.stack_start += LOCAL_GAP
            self.local_bytes = self.stack_start + STACK_BYTES
            self.declared_local_bytes += STACK_BYTES
        self.number: Cell
        """The running block; set when the loop over blocks is built."""
        self.is_co_resident = uses_grid_barrier(function) or self.clustered
        self.may_be_suspended = self.is_co_resident or self._spins_globally()
        self.block: dict[str, ir.Value] = {}
        """`ctaid_x`, `ctaid_y`, `ctaid_z` of the running block; set when the loop over blocks is built."""

    def _spins_globally(self) -> bool:
        """Whether a loop waits for what may be written outside the block's shared memory."""
        for index in self.emitter.flow.spin_reads.values():
            statement = self.emitter.flow.statements[index]
            if isinstance(statement, Instruction) and space_of(statement) != "shared":
                return True
        return False

    def start_thread(self, b: ir.IRBuilder, tid: dict[str, ir.Value], number: ir.Value | None) -> None:
        """Set the thread that runs from here on.

        Args:
            b: where the thread starts, or goes on.
            tid: `tid_x`, `tid_y`, `tid_z`.
            number: its number in the block; None where threads do not wait, and so share one thread's local memory.
        """
        if self.local_bytes and number is not None:
            distance = b.mul(b.zext(number, I64), i64(local_stride(self.local_bytes)))
            self.thread.local = at(b, self.view.pointer("local"), distance)
        self.thread.set_coordinates(self.block | tid)
        for name in COORDINATES:
            b.store(self.thread.coordinate(b, name), self._cells[name])
        begin_epoch(b, self.emitter)
        if not self.unit.schedule.is_optimised:
            self._record_thread(b)
        self.emitter.begin_counting(b)
        if self.has_calls:
            self.thread.fill_handle(b, i64(LOCAL_START + self.stack_start))

    def record_fault(self, b: ir.IRBuilder) -> None:
        """Record the running thread as that of a fault."""
        if self.unit.schedule.is_optimised:
            self._record_thread(b)

    def _record_thread(self, b: ir.IRBuilder) -> None:
        """Store the running thread's coordinates in the machine.

        Code that is not optimised does so at the start of each thread: else every access that may fail would carry
        them to the block of the fault.
        """
        for name in COORDINATES:
            value = b.load(self._cells[name], typ=I32)
            set_field(b, self.view.machine, f"fault_{name}", b.zext(value, I64))
