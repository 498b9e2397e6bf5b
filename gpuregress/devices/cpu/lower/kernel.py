"""One kernel: `i32 kernel(machine)` runs its blocks, one after the other, and in each the threads.

Where no thread ever waits for another, the threads of a block are three plain loops around the body. Otherwise a block
is a set of passes over its threads: each goes on from where it stands to the next wait. When all of them stand at a
barrier for the whole block, which is the usual case, the next pass begins at once; otherwise the scheduler decides who
may go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from gpuregress.devices.cpu.lower.context import LAYOUT, PLAIN_BARRIER, YIELD, Slots, row
from gpuregress.devices.cpu.lower.environment import wrap
from gpuregress.devices.cpu.lower.function import FunctionEmitter
from gpuregress.devices.cpu.lower.names import names_used
from gpuregress.devices.cpu.lower.regions import MachineView
from gpuregress.devices.cpu.lower.rematerialize import Recipes
from gpuregress.devices.cpu.lower.resolve import set_field
from gpuregress.devices.cpu.lower.scheduler import ALL_DONE, DEADLOCK, GO_ON, build_scheduler
from gpuregress.devices.cpu.lower.services import Services
from gpuregress.devices.cpu.lower.structured import Cell, at, entry_alloca, i32, i64, open_function
from gpuregress.devices.cpu.lower.threads import COORDINATES, THREAD_TYPE, LoopThread, dimension
from gpuregress.devices.cpu.lower.types import I8, I32, I64, POINTER
from gpuregress.devices.cpu.lower.unit import Unit, byte_size
from gpuregress.devices.cpu.machine.context import DONE, FIXED_BYTES
from gpuregress.devices.cpu.machine.layout import FAULT_DEADLOCK, LOCAL_START, local_stride
from gpuregress.devices.cpu.ptx.tree import Call, Function


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """What the device must know of a compiled kernel.

    Attributes:
        symbol: its name in the object code.
        parameter_bytes: of its parameters.
        local_bytes: of a thread's local memory.
        context_bytes: of a block's thread context; 0 where no thread waits.
        static_shared: declared bytes of shared memory.
        places: site numbers of the places where threads wait, in order.
    """

    symbol: str
    parameter_bytes: int
    local_bytes: int
    context_bytes: int
    static_shared: int
    places: tuple[int, ...]


STACK_BYTES = 64 * 1024
"""Local memory for the device functions that a kernel calls."""
_POISON = 0xFF


def build_kernel(unit: Unit, function: Function, symbol: str) -> BuiltKernel:
    """Lowers one kernel into the unit's module."""
    return _KernelBuilder(unit, function, symbol).build()


class _KernelBuilder:
    def __init__(self, unit: Unit, function: Function, symbol: str) -> None:
        self.unit, self.function, self.symbol = unit, function, symbol
        self.llvm = ir.Function(unit.module, ir.FunctionType(I32, (POINTER,)), f"{symbol}.body")
        self.llvm.attributes.add("nounwind")
        self.entry = open_function(self.llvm)
        self.view = MachineView(unit, self.llvm.args[0], self.entry)
        self.cells = {name: entry_alloca(self.llvm, I32) for name in COORDINATES}
        self.thread = LoopThread({}, self.view.pointer("local"), i64(LOCAL_START), entry_alloca(self.llvm, THREAD_TYPE))
        self.emitter = FunctionEmitter(unit, function, self.view, self.thread, self)
        self.slots = Slots()
        self.places: list[int] = []
        self.kinds: list[int] = []
        self.resumes: list[ir.Block] = []
        self.has_calls = any(isinstance(item, Call) for item in self.emitter.flow.statements)
        self.local_bytes = self.emitter.frame.local_bytes + (STACK_BYTES if self.has_calls else 0)

    def build(self) -> BuiltKernel:
        first = self.llvm.append_basic_block("first_block")
        self._block_loop(ir.IRBuilder(first))
        self.entry.branch(first)
        wrap(self.unit.module, self.llvm, self.symbol)
        waits = self.emitter.flow.needs_scheduler
        return BuiltKernel(
            self.symbol,
            self.emitter.frame.parameter_bytes,
            self.local_bytes,
            self.slots.size if waits else 0,
            sum(byte_size(self.unit.shared[key]) for key in self._shared_keys()),
            tuple(self.places),
        )

    def _shared_keys(self) -> list[tuple[str, str]]:
        used = names_used(self.function)
        keys = {self.unit.shared_key(self.function.name, name) for name in used} - {None}
        if self.has_calls:
            keys |= set(self.unit.shared)
        return sorted(key for key in keys if key is not None)

    # --- blocks -------------------------------------------------------------------------------------------------------

    def _block_loop(self, b: ir.IRBuilder) -> None:
        view = self.view
        block = Cell(b, view.field("first_block"))
        axes = self._first_block(b)
        head, body, end = (self.llvm.append_basic_block(name) for name in ("block", "block_body", "end"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_unsigned("<", block.get(), view.field("end_block")), body, end)
        b.position_at_end(body)
        self.coordinates = {name: cell.get(b) for name, cell in axes.items()}
        self._poison_shared(b)
        next_block = self.llvm.append_basic_block("next_block")
        if self.emitter.flow.needs_scheduler:
            _Passes(self).build(b, next_block)
        else:
            self._thread_loops(b, next_block)
        b = ir.IRBuilder(next_block)
        block.add(i64(1), b)
        self._advance_block(b, axes)
        b.branch(head)
        ir.IRBuilder(end).ret(i32(0))

    def _first_block(self, b: ir.IRBuilder) -> dict[str, Cell]:
        """The first block's place in the grid. Later ones are counted up: LLVM would divide again in every thread."""
        number = self.view.field("first_block")
        wide = {name: b.zext(dimension(self.view, name), I64) for name in ("grid_x", "grid_y")}
        rest = b.udiv(number, wide["grid_x"])
        places = (b.urem(number, wide["grid_x"]), b.urem(rest, wide["grid_y"]), b.udiv(rest, wide["grid_y"]))
        return {f"ctaid_{axis}": Cell(b, b.trunc(place, I32)) for axis, place in zip("xyz", places, strict=True)}

    def _advance_block(self, b: ir.IRBuilder, axes: dict[str, Cell]) -> None:
        x = b.add(axes["ctaid_x"].get(b), i32(1))
        axes["ctaid_x"].set(x, b)
        with b.if_then(b.icmp_unsigned("==", x, dimension(self.view, "grid_x"))):
            axes["ctaid_x"].set(i32(0), b)
            y = b.add(axes["ctaid_y"].get(b), i32(1))
            axes["ctaid_y"].set(y, b)
            with b.if_then(b.icmp_unsigned("==", y, dimension(self.view, "grid_y"))):
                axes["ctaid_y"].set(i32(0), b)
                axes["ctaid_z"].add(i32(1), b)

    def _poison_shared(self, b: ir.IRBuilder) -> None:
        """Shared memory starts with a pattern that is no number, so that reading what nobody wrote shows."""
        for key in self._shared_keys():
            variable = self.unit.shared[key]
            size = self.view.field("dynamic_size") if variable.count is None else i64(byte_size(variable))
            start = at(b, self.view.pointer("shared"), self.unit.shared_starts[key])
            fill = self.unit.intrinsic("llvm.memset.p0.i64", ir.VoidType(), (POINTER, I8, I64, ir.IntType(1)))
            b.call(fill, (start, ir.Constant(I8, _POISON), size, ir.Constant(ir.IntType(1), 0)))

    # --- threads that never wait --------------------------------------------------------------------------------------

    def _thread_loops(self, b: ir.IRBuilder, after: ir.Block) -> None:
        cells = {name: Cell(b, i32(0)) for name in ("tid_x", "tid_y", "tid_z")}
        heads: dict[str, ir.Block] = {}
        for name in ("tid_z", "tid_y", "tid_x"):
            head = self.llvm.append_basic_block(name)
            cells[name].set(i32(0))
            b.branch(head)
            b.position_at_end(head)
            heads[name] = head
        self.start_thread(b, {name: cell.get() for name, cell in cells.items()})
        self.finish_block = self.llvm.append_basic_block("thread_end")
        self.emitter.clear_registers(b)
        self.emitter.lower(b)
        b = ir.IRBuilder(self.finish_block)
        for name, following in (("tid_x", "block_x"), ("tid_y", "block_y"), ("tid_z", "block_z")):
            done = self.llvm.append_basic_block(f"{name}_done")
            value = b.add(self.thread.coordinate(b, name), i32(1))
            cells[name].set(value, b)
            b.cbranch(b.icmp_unsigned("<", value, dimension(self.view, following)), heads[name], done)
            b.position_at_end(done)
        b.branch(after)

    def start_thread(self, b: ir.IRBuilder, tid: dict[str, ir.Value]) -> None:
        """Says who runs from here on."""
        self.thread.become(self.coordinates | tid)
        for name in COORDINATES:
            b.store(self.thread.coordinate(b, name), self.cells[name])
        if self.has_calls:
            self.thread.fill_handle(b, i64(LOCAL_START + self.emitter.frame.local_bytes))

    # --- how a thread leaves ------------------------------------------------------------------------------------------

    def finish(self, emitter: Services) -> None:
        """The thread is done."""
        emitter.builder.branch(self.finish_block)

    def exit(self, emitter: Services) -> None:
        """The thread is done."""
        emitter.builder.branch(self.finish_block)

    def fault(self, emitter: Services) -> None:
        """Says which thread it was, and ends the launch."""
        b = emitter.builder
        for name in COORDINATES:
            value = b.load(self.cells[name], typ=I32)
            set_field(b, self.view.machine, f"fault_{name}", b.zext(value, I64))
        b.ret(i32(1))

    def wait(self, emitter: Services, kind: int, live: frozenset[str], dirty: frozenset[str]) -> None:
        """Saves what lives, leaves the pass, and goes on in a new block when resumed."""
        self.passes.wait(emitter, kind, live, dirty)

    def store(self, emitter: Services, name: str, value: ir.Value) -> None:
        """Puts a value into the thread's element of a row of its context."""
        emitter.builder.store(value, row(emitter.builder, self.passes.context, name, self.passes.index))

    def fetch(self, emitter: Services, name: str) -> ir.Value:
        """The thread's element of a row of its context."""
        pointer = row(emitter.builder, self.passes.context, name, self.passes.index)
        return emitter.builder.load(pointer, typ=LAYOUT[name][1])

    def fetch_lane(self, emitter: Services, lane: ir.Value) -> ir.Value:
        """What a lane of the thread's warp has posted."""
        b = emitter.builder
        thread = b.or_(b.and_(self.passes.index, i32(~31)), lane)
        return b.load(row(b, self.passes.context, "snap", thread), typ=I64)

    passes: _Passes


class _Passes:
    """The passes over a block's threads, for kernels in which threads wait.

    Args:
        kernel: whose body it is.
    """

    def __init__(self, kernel: _KernelBuilder) -> None:
        self.kernel = kernel
        kernel.passes = self
        self.view, self.unit, self.llvm = kernel.view, kernel.unit, kernel.llvm
        self.context = kernel.view.pointer("context")
        self.recipes = Recipes(kernel.emitter)

    def build(self, b: ir.IRBuilder, after: ir.Block) -> None:
        """Builds the passes from `b` on; control goes to `after` when all threads have exited."""
        view = self.view
        x, y, z = (dimension(view, name) for name in ("block_x", "block_y", "block_z"))
        self.count = view.entry.mul(x, view.entry.mul(y, z))
        self._reset(b)
        self.live = Cell(b, self.count)
        self.flip, self.arrived = Cell(b, i32(0)), Cell(b, i32(0))
        pass_head, thread_head = (self.llvm.append_basic_block(name) for name in ("pass", "thread"))
        b.branch(pass_head)
        b.position_at_end(pass_head)
        self.arrived.set(i32(0), b)
        self.tid = {name: Cell(b, i32(0)) for name in ("tid_x", "tid_y", "tid_z")}
        number = Cell(b, i32(0))
        b.branch(thread_head)
        b.position_at_end(thread_head)
        self.index = number.get()
        self.next_thread = self.llvm.append_basic_block("next_thread")
        self._step(b)
        self._advance(ir.IRBuilder(self.next_thread), number, thread_head, pass_head, after)

    def _reset(self, b: ir.IRBuilder) -> None:
        fill = self.unit.intrinsic("llvm.memset.p0.i64", ir.VoidType(), (POINTER, I8, I64, ir.IntType(1)))
        no = ir.Constant(ir.IntType(1), 0)
        states = b.shl(b.zext(self.count, I64), i64(2))
        b.call(fill, (self.context, ir.Constant(I8, 0), states, no))
        counters = LAYOUT["arrived"][0]
        b.call(fill, (at(b, self.context, counters), ir.Constant(I8, 0), i64(FIXED_BYTES - counters), no))

    def _step(self, b: ir.IRBuilder) -> None:
        kernel = self.kernel
        kernel.coordinates = dict(kernel.coordinates)
        if kernel.local_bytes:
            stride = i64(local_stride(kernel.local_bytes))
            kernel.thread.local = at(b, self.view.pointer("local"), b.mul(b.zext(self.index, I64), stride))
        kernel.start_thread(b, {name: cell.get() for name, cell in self.tid.items()})
        state = b.xor(b.load(row(b, self.context, "state", self.index), typ=I32), self.flip.get(b))
        kernel.finish_block = self.llvm.append_basic_block("thread_end")
        start = self.llvm.append_basic_block("start")
        switch = b.switch(state, self.next_thread)
        switch.add_case(i32(0), start)
        b = ir.IRBuilder(start)
        kernel.emitter.clear_registers(b)
        kernel.emitter.lower(b)
        for number, block in enumerate(kernel.resumes, 1):
            switch.add_case(i32(number), block)
        self._end_thread(ir.IRBuilder(kernel.finish_block))

    def _end_thread(self, b: ir.IRBuilder) -> None:
        b.store(i32(DONE), row(b, self.context, "state", self.index))
        self.live.add(i32(-1), b)
        b.branch(self.next_thread)

    def _advance(
        self, b: ir.IRBuilder, number: Cell, thread_head: ir.Block, pass_head: ir.Block, after: ir.Block
    ) -> None:
        following = b.add(self.index, i32(1))
        number.set(following, b)
        self._advance_tid(b)
        end = self.llvm.append_basic_block("pass_end")
        b.cbranch(b.icmp_unsigned("<", following, self.count), thread_head, end)
        b.position_at_end(end)
        quick, slow = self.llvm.append_basic_block("all_arrived"), self.llvm.append_basic_block("schedule")
        done = self.llvm.append_basic_block("not_done")
        live = self.live.get(b)
        b.cbranch(b.icmp_unsigned("==", live, i32(0)), after, done)
        b.position_at_end(done)
        b.cbranch(b.icmp_unsigned("==", self.arrived.get(b), live), quick, slow)
        b.position_at_end(quick)
        self.flip.set(i32(-1), b)
        b.branch(pass_head)
        self._schedule(ir.IRBuilder(slow), pass_head, after)

    def _advance_tid(self, b: ir.IRBuilder) -> None:
        x = b.add(self.tid["tid_x"].get(b), i32(1))
        self.tid["tid_x"].set(x, b)
        with b.if_then(b.icmp_unsigned("==", x, dimension(self.view, "block_x"))):
            self.tid["tid_x"].set(i32(0), b)
            y = b.add(self.tid["tid_y"].get(b), i32(1))
            self.tid["tid_y"].set(y, b)
            with b.if_then(b.icmp_unsigned("==", y, dimension(self.view, "block_y"))):
                self.tid["tid_y"].set(i32(0), b)
                self.tid["tid_z"].set(b.add(self.tid["tid_z"].get(b), i32(1)), b)

    def _schedule(self, b: ir.IRBuilder, pass_head: ir.Block, after: ir.Block) -> None:
        module = self.unit.module
        scheduler = module.globals.get("schedule") or build_scheduler(module)
        data = bytes([0, *self.kernel.kinds])
        kinds = ir.GlobalVariable(module, ir.ArrayType(I8, len(data)), f"kinds.{self.kernel.symbol}")
        kinds.global_constant, kinds.linkage = True, "internal"
        kinds.initializer = ir.Constant(kinds.value_type, bytearray(data))
        answer = b.call(scheduler, (self.context, kinds, self.count))
        self.flip.set(i32(0), b)
        stuck = self.llvm.append_basic_block("stuck")
        switch = b.switch(answer, stuck)
        switch.add_case(i32(GO_ON), pass_head)
        switch.add_case(i32(ALL_DONE), after)
        b.position_at_end(stuck)
        set_field(b, self.view.machine, "fault_kind", i64(FAULT_DEADLOCK))
        for axis in "xyz":
            value = b.zext(self.kernel.coordinates[f"ctaid_{axis}"], I64)
            set_field(b, self.view.machine, f"fault_ctaid_{axis}", value)
        b.ret(i32(DEADLOCK))

    def wait(self, emitter: Services, kind: int, live: frozenset[str], dirty: frozenset[str]) -> None:
        """Saves what lives, leaves the pass, and goes on in a new block when resumed."""
        kernel, b = self.kernel, emitter.builder
        place = len(kernel.resumes) + 1
        kept = sorted(name for name in live if name not in self.recipes)
        for name in kept:
            if name in dirty:
                slot, type_ = emitter.home(name)
                kernel.slots.save(b, self.context, self.index, name, b.load(slot, typ=type_))
        state = place if kind == YIELD else ~place
        b.store(i32(state), row(b, self.context, "state", self.index))
        if kind == PLAIN_BARRIER:
            self.arrived.add(i32(1), b)
        b.branch(self.next_thread)
        resume = self.llvm.append_basic_block(f"resume{place}")
        kernel.resumes.append(resume)
        kernel.kinds.append(kind)
        kernel.places.append(self.unit.site(emitter.current()))
        emitter.builder = ir.IRBuilder(resume)
        for name in kept:
            slot, type_ = emitter.home(name)
            value = kernel.slots.restore(emitter.builder, self.context, self.index, name, type_)
            emitter.builder.store(value, slot)
        self.recipes.make(emitter, live)
