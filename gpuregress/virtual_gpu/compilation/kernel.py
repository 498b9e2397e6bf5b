"""Builder of a kernel: the function that runs a launch's blocks."""

from __future__ import annotations

import math
import platform

import msgspec
from llvmlite import ir

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.programs import Dim3
from gpuregress.virtual_gpu.analysis.divergent_barriers import (
    divergent_barriers,
    whole_warp_operations,
    with_branches_around_barriers,
)
from gpuregress.virtual_gpu.analysis.footprint import footprint
from gpuregress.virtual_gpu.analysis.lane_dependence import with_warp_steps
from gpuregress.virtual_gpu.analysis.module_facts import (
    cluster_size,
    is_explicit,
    names_used,
    uses_grid_barrier,
    uses_reserved_shared,
)
from gpuregress.virtual_gpu.analysis.uniformity import Uniformity
from gpuregress.virtual_gpu.builder.address_resolution import field, is_stopped, set_field
from gpuregress.virtual_gpu.builder.services import Watched, raw_call
from gpuregress.virtual_gpu.builder.structured import (
    I32,
    I64,
    Cell,
    at,
    call_intrinsic,
    counted,
    entry_alloca,
    fill_memory,
    i32,
    i64,
)
from gpuregress.virtual_gpu.builder.threads import dimension
from gpuregress.virtual_gpu.builder.translation_unit import Unit, has_local_gaps
from gpuregress.virtual_gpu.checks.program_facts import meets_in_part, unwatched, written_buffers
from gpuregress.virtual_gpu.checks.synchronization import begin_turn
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.modifiers import byte_size
from gpuregress.virtual_gpu.ptx.opcode_table import Exchange, info
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Label, code_line
from gpuregress.virtual_gpu.runtime.bulk_forms import HEADER_BYTES, ROW_BYTES
from gpuregress.virtual_gpu.runtime.machine_layout import (
    BULK_END,
    CHECK_END,
    FAULT_STOPPED,
    LOCAL_START,
    SHARED_START,
    local_stride,
)
from gpuregress.virtual_gpu.runtime.program import KernelFacts, PlacedVariable, StoredFootprint
from gpuregress.virtual_gpu.schedule.lockstep import Lockstep
from gpuregress.virtual_gpu.schedule.passes import Passes
from gpuregress.virtual_gpu.schedule.schedule_base import BlockSchedule

# --- floating-point environment ---------------------------------------------------------------------------------------


_X86 = ("x86_64", "AMD64", "i386", "i686")
_ARM = ("aarch64", "arm64")
_MXCSR_DEFAULT = 0x1F80
"""All exceptions masked, round to nearest, no FTZ, no DAZ (Intel SDM volume 1, 10.2.3)."""


def wrap(module: ir.Module, body: ir.Function, symbol: str) -> ir.Function:
    """Build `i32 symbol(machine)`, which calls `body(machine)` under the default settings."""
    body.linkage = "internal"
    body.attributes.add("noinline")
    function = ir.Function(module, body.function_type, symbol)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    machine = platform.machine()
    if machine in _X86:
        status = _under_mxcsr(b, body, function)
    elif machine in _ARM:
        status = _under_fpcr(b, body, function)
    else:
        status = b.call(body, function.args)
    b.ret(status)
    return function


def _under_mxcsr(b: ir.IRBuilder, body: ir.Function, function: ir.Function) -> ir.Value:
    before, default = (entry_alloca(function, I32) for _ in range(2))
    call_intrinsic(b, "llvm.x86.sse.stmxcsr", ir.VoidType(), before)
    b.store(i32(_MXCSR_DEFAULT), default)
    call_intrinsic(b, "llvm.x86.sse.ldmxcsr", ir.VoidType(), default)
    status = b.call(body, function.args)
    call_intrinsic(b, "llvm.x86.sse.ldmxcsr", ir.VoidType(), before)
    return status


def _under_fpcr(b: ir.IRBuilder, body: ir.Function, function: ir.Function) -> ir.Value:
    before = call_intrinsic(b, "llvm.aarch64.get.fpcr", I64)
    call_intrinsic(b, "llvm.aarch64.set.fpcr", ir.VoidType(), i64(0))
    status = b.call(body, function.args)
    call_intrinsic(b, "llvm.aarch64.set.fpcr", ir.VoidType(), before)
    return status


# --- kernels ----------------------------------------------------------------------------------------------------------
# Compilation of one kernel to `i32 kernel(machine)`, which runs its blocks and their threads.
#
# Where threads never wait for each other, or always all at the same instruction, `lockstep` builds plain loops over the
# block's threads. Otherwise `passes` keeps track of the position of each thread.


LOCKSTEP = True
"""Whether kernels that are proven to be in lockstep are built so; tests compare them with the other way."""
_POISON = 0xFF


def build_kernel(unit: Unit, function: Function, symbol: str) -> KernelFacts:
    """Lower one kernel into the unit's module."""
    return _KernelBuilder(unit, function, symbol).build()


def _max_threads(function: Function) -> int:
    sizes = function.directives.get("reqntid") or function.directives.get("maxntid") or (SM_90.max_threads,)
    return min(SM_90.max_threads, math.prod(sizes))


def _required_block(function: Function) -> Dim3 | None:
    """The block that a kernel must be launched with. PTX ISA manual, 11.4.3 ".reqntid"."""
    if "reqntid" not in function.directives:
        return None
    x, y, z = (*function.directives["reqntid"], 1, 1)[:3]
    return (x, y, z)


class _KernelBuilder:
    def __init__(self, unit: Unit, function: Function, symbol: str) -> None:
        stepped = with_warp_steps(with_branches_around_barriers(function), unit.schedule)
        function, self.dependence = stepped.function, stepped.dependence
        self.unit, self.function, self.symbol = unit, function, symbol
        self.body = Body(unit, function, symbol)
        self.body.emitter.watched = Watched.of(self.dependence.exchanges)
        self.llvm, self.view, self.emitter = self.body.llvm, self.body.view, self.body.emitter
        parameters = set(self.emitter.frame.parameter_offsets)
        self.emitter.whole_warp = whole_warp_operations(self.emitter.flow, parameters)
        self.schedule = self._schedule()
        self.footprint = self._footprint()

    def build(self) -> KernelFacts:
        first = self.llvm.append_basic_block("first_block")
        self._block_loop(ir.IRBuilder(first))
        self.body.entry.branch(first)
        wrap(self.unit.module, self.llvm, self.symbol)
        waits = self.emitter.flow.needs_scheduler or self.body.clustered or self.schedule.uses_context
        return KernelFacts(
            self.symbol,
            self.body.local_bytes,
            self.body.slots.size if waits else 0,
            sum(byte_size(self.unit.shared[key]) for key in self._shared_keys()),
            tuple(self.schedule.wait_sites),
            _max_threads(self.function),
            _required_block(self.function),
            uses_grid_barrier(self.function),
            self.footprint,
            cluster_size(self.function),
            self._uncounted(),
            self.unit.has_copies,
            self.dependence.assumes_rows,
            bool(self.dependence.exchanges),
            self.body.may_be_suspended and not self.body.is_co_resident,
            self.dependence.assumes_distinct,
            in_cluster=is_explicit(self.function),
            granules=() if self.unit.granules is None else (self.unit.granules["shared"], self.unit.granules["global"]),
            unwatched=() if self.unit.granules is None else unwatched(self._functions()),
            written=self._written(),
            locals=self._locals(),
            declared_local=self.body.declared_local_bytes,
        )

    def _locals(self) -> tuple[PlacedVariable, ...]:
        """The local variables, and the stack of called functions after them."""
        if not has_local_gaps(self.function):
            return ()
        offsets = self.emitter.frame.local_offsets
        found = [
            PlacedVariable(item.name, offsets[item.name], byte_size(item))
            for item in self.function.variables
            if item.space == "local"
        ]
        start = self.body.stack_start
        found.append(PlacedVariable("", start, self.body.local_bytes - start))
        return tuple(found)

    def _functions(self) -> list[Function]:
        """The kernel, and the functions that it may call."""
        others = self.unit.functions.values() if self.body.has_calls else ()
        return [self.function, *(other for other in others if not other.is_entry)]

    def _written(self) -> tuple[int | str, ...] | None:
        """What the kernel may write through, where the dynamic checks need it."""
        if self.unit.granules is None:
            return None
        written = written_buffers(self.emitter.flow, self.emitter.frame.parameter_offsets)
        return None if written is None else tuple(sorted(written, key=str))

    def _uncounted(self) -> tuple[str, ...]:
        """The source lines at which loops begin that wait for other threads."""
        flow, places = self.emitter.flow, []
        for number in sorted(flow.waiting_heads):
            block = flow.blocks[number]
            first = (item for item in flow.statements[block.start : block.end] if not isinstance(item, Label))
            places += [str(code_line(item)) for item in first][:1]
        return tuple(dict.fromkeys(places))

    def _footprint(self) -> StoredFootprint | None:
        flow = self.emitter.flow
        if self.body.has_calls or self.body.is_co_resident:
            return None
        if isinstance(self.schedule, Passes) and any(
            isinstance(item, Instruction) and info(item).exchange is Exchange.MATRICES for item in flow.statements
        ):
            return None  # The part of a matrix that a lane which has left showed last is another block's.
        expressed = footprint(flow, self.emitter.frame.parameter_offsets)
        if expressed is None:
            return None
        return StoredFootprint(expressed.has_loops, msgspec.json.encode(expressed).decode())

    def _shared_keys(self) -> list[tuple[str, str]]:
        used = names_used(self.function)
        keys = {self.unit.shared_key(self.function.name, name) for name in used} - {None}
        if self.body.has_calls:
            keys |= set(self.unit.shared)
        return sorted(key for key in keys if key is not None)

    # --- blocks -------------------------------------------------------------------------------------------------------

    def _block_loop(self, b: ir.IRBuilder) -> None:
        view = self.view
        block = self.body.number = Cell(b, view.field("first_block"))
        axes = self._first_block(b)
        head, body, end = (self.llvm.append_basic_block(name) for name in ("block", "block_body", "end"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_unsigned("<", block.get(), view.field("end_block")), body, end)
        b.position_at_end(body)
        self.body.block = {name: cell.get(b) for name, cell in axes.items()}
        self._stop(b)
        self._begin_turn(b)
        if self.body.may_be_suspended:
            with b.if_then(b.icmp_unsigned("==", view.field("resuming"), i64(0))):
                self._poison_shared(b)
        else:
            self._poison_shared(b)
        self._poison_local(b)
        self._reset_copies(b)
        next_block = self.llvm.append_basic_block("next_block")
        self.schedule.build(b, next_block)
        b = ir.IRBuilder(next_block)
        self._end_bulk_copies(b)
        self._check_end(b)
        block.add(i64(1), b)
        self._advance_block(b, axes)
        b.branch(head)
        b = ir.IRBuilder(end)
        self.emitter.counter.store(b)
        b.ret(i32(0))

    def _stop(self, b: ir.IRBuilder) -> None:
        """Leave the launch where it was stopped from outside, before a block begins or goes on."""
        machine = self.view.machine
        with b.if_then(is_stopped(b, machine), likely=False):
            set_field(b, machine, "fault_kind", i64(FAULT_STOPPED))
            set_field(b, machine, "fault_address", i64(1))
            for name, value in self.body.block.items():
                set_field(b, machine, f"fault_{name}", b.zext(value, I64))
            b.ret(i32(1))

    def _begin_turn(self, b: ir.IRBuilder) -> None:
        """Tell the dynamic checks that a block begins, or goes on."""
        if self.unit.granules is not None:
            resuming = self.view.field("resuming") if self.body.may_be_suspended else i64(0)
            goes_on = b.icmp_unsigned("!=", resuming, i64(0))
            begin_turn(self.unit, b, self.view.machine, self.body.number.get(b), goes_on)

    def _reset_copies(self, b: ir.IRBuilder) -> None:
        """Drop the copies of the block before that no thread has waited for."""
        if not self.unit.has_copies:
            return
        x, y, z = (dimension(self.view, name) for name in ("block_x", "block_y", "block_z"))
        rows = b.mul(b.zext(b.mul(x, b.mul(y, z)), I64), i64(ROW_BYTES))
        count = b.add(rows, i64(HEADER_BYTES))
        if self.body.is_co_resident:
            count = b.select(b.icmp_unsigned("==", self.view.field("resuming"), i64(0)), count, i64(0))
        fill_memory(b, self.view.pointer("copies"), 0, count)

    def _end_bulk_copies(self, b: ir.IRBuilder) -> None:
        """Complete the stores to global memory that no thread of the block has waited for."""
        if not self.unit.has_bulk_copies:
            return
        machine = self.view.machine
        with b.if_then(b.icmp_unsigned("!=", field(b, machine, "bulk_copies"), i64(0))):
            raw_call(b, machine, BULK_END, machine, machine)

    def _check_end(self, b: ir.IRBuilder) -> None:
        """Tell the dynamic checks of a cluster's block that ends."""
        if self.body.clustered and self.unit.granules is not None:
            raw_call(b, self.view.machine, CHECK_END, self.view.machine, self.view.machine)

    def _first_block(self, b: ir.IRBuilder) -> dict[str, Cell]:
        """The first block's coordinates. Later ones are counted up: LLVM would divide again in every thread."""
        number = self.view.field("first_block")
        wide = {name: b.zext(dimension(self.view, name), I64) for name in ("grid_x", "grid_y")}
        rest = b.udiv(number, wide["grid_x"])
        coordinates = (b.urem(number, wide["grid_x"]), b.urem(rest, wide["grid_y"]), b.udiv(rest, wide["grid_y"]))
        return {
            f"ctaid_{axis}": Cell(b, b.trunc(coordinate, I32))
            for axis, coordinate in zip("xyz", coordinates, strict=True)
        }

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
        """Fill shared memory with a NaN pattern, so that reads of uninitialized memory show."""
        for key in self._shared_keys():
            variable = self.unit.shared[key]
            size = self.view.field("dynamic_size") if variable.count is None else i64(byte_size(variable))
            start = at(b, self.view.pointer("shared"), self.unit.shared_starts[key])
            fill_memory(b, start, _POISON, size)
        if any(uses_reserved_shared(function) for function in self.unit.functions.values()):
            # cooperative_groups does not set its barriers to 0: they are, at a block's start.
            fill_memory(b, self.view.pointer("shared"), 0, i64(SHARED_START))

    def _poison_local(self, b: ir.IRBuilder) -> None:
        """Fill local memory where blocks may run on several cores: a thread must not see another block's values."""
        if self.footprint is None or not self.body.local_bytes:
            return
        first = at(b, self.view.pointer("local"), LOCAL_START)
        count, stride = i64(self.body.local_bytes), i64(local_stride(self.body.local_bytes))
        threads = i32(1)
        if self.emitter.flow.needs_scheduler:
            x, y, z = (dimension(self.view, name) for name in ("block_x", "block_y", "block_z"))
            threads = b.mul(x, b.mul(y, z))
        with counted(b, threads) as number:
            start = at(b, first, b.mul(b.zext(number, I64), stride))
            fill_memory(b, start, _POISON, count)

    def _follows_masks(self) -> bool:
        """Whether the dynamic checks need to know which threads meet: not all of the block, or of each warp."""
        waits = [item for item in self.emitter.flow.statements if isinstance(item, Instruction)]
        return self.unit.granules is not None and any(meets_in_part(item) for item in waits)

    def _schedule(self) -> BlockSchedule:
        """The schedule of the block's threads."""
        flow = self.emitter.flow
        if not self.body.clustered and not flow.needs_scheduler:
            return Lockstep(self.body, None, self.dependence.contested)
        uniformity = Uniformity(flow, set(self.emitter.frame.parameter_offsets))
        # Where all threads go from wait to wait together, no warp runs to a barrier before the next one begins.
        by_warp = self.unit.schedule.permuted and not self.unit.schedule.in_step
        is_by_row = uniformity.lockstep and not self.body.clustered and not by_warp
        if LOCKSTEP and is_by_row and not self._follows_masks():
            return Lockstep(self.body, uniformity, self.dependence.contested)
        return Passes(self.body, divergent_barriers(flow, uniformity), self.dependence.contested)
