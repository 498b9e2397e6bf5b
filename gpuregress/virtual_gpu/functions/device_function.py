"""Device functions that are called, not inlined: recursive, long, or reached through a pointer."""

from __future__ import annotations

import functools
from typing import NoReturn

from llvmlite import ir

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.builder.address_resolution import set_field
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.services import Exits, Services
from gpuregress.virtual_gpu.builder.structured import I64, at, i32, i64, open_function
from gpuregress.virtual_gpu.builder.threads import THREAD_FIELDS, CalledThread
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.access_notes import begin_epoch
from gpuregress.virtual_gpu.functions.function_lowering import FunctionEmitter
from gpuregress.virtual_gpu.isa.branches import EXITED, FAULTED, MOST_CALLS, RETURNED
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Label, Module
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_STACK, LOCAL_START


class FunctionExits(Exits):
    """The ends of a thread's code in a device function: each returns a status."""

    def finish(self, emitter: Services) -> None:
        """Return to the caller, with its stack and depth restored."""
        b, handle = emitter.builder, emitter.thread.handle
        depth = at(b, handle, THREAD_FIELDS["depth"])
        b.store(b.sub(b.load(depth, typ=I64), i64(1)), depth)
        b.store(emitter.thread.stack, at(b, handle, THREAD_FIELDS["stack"]))
        emitter.counter.store(b)
        b.ret(i32(RETURNED))

    def exit(self, emitter: Services) -> None:
        """The thread exits."""
        emitter.counter.store(emitter.builder)
        emitter.builder.ret(i32(EXITED))

    def fault(self, emitter: Services) -> None:
        """A fault has been recorded."""
        emitter.builder.ret(i32(FAULTED))

    def refuse(self, emitter: Services, *arguments: object, **named: object) -> NoReturn:
        """Refuse: functions that wait are inlined into their kernels; this one could not be."""
        del arguments, named
        raise UnsupportedError(
            f"{emitter.function.name} waits for other threads and is called recursively or through a pointer: "
            "not supported by the cpu device"
        )

    wait = store = fetch = keep = load_kept = row_of = fetch_lane = last_meeting = refuse


def build_device_function(unit: Unit, name: str) -> None:
    """Lower a device function that something calls."""
    tree: Function = unit.functions[name]
    function = unit.device_function(name)
    function.attributes.add("nounwind")
    entry = open_function(function)
    machine, handle, *memory = function.args
    names = [item.name for item in (*tree.results, *tree.parameters)]
    view = MachineView(unit, machine, entry, clustered=unit.clustered)
    thread = CalledThread(handle, entry)
    emitter = FunctionEmitter(unit, tree, view, thread, dict(zip(names, memory, strict=True)))
    emitter.exits = FunctionExits()
    first = function.append_basic_block("start")
    start = ir.IRBuilder(first)
    _enter(emitter, start)
    begin_epoch(start, emitter)
    emitter.clear_registers(start)
    emitter.lower(start)
    entry.branch(first)


def _enter(emitter: FunctionEmitter, b: ir.IRBuilder) -> None:
    """Allocate a frame on the thread's stack; too many calls or bytes are a fault."""
    handle, machine = emitter.thread.handle, emitter.view.machine
    depth = at(b, handle, THREAD_FIELDS["depth"])
    deeper = b.add(b.load(depth, typ=I64), i64(1))
    b.store(deeper, depth)
    top = b.add(emitter.thread.stack, i64(emitter.frame.local_bytes))
    b.store(top, at(b, handle, THREAD_FIELDS["stack"]))
    too_many = b.icmp_unsigned(">", deeper, i64(MOST_CALLS))
    too_much = b.icmp_unsigned(">", b.sub(top, i64(LOCAL_START)), emitter.view.field("local_size"))
    with b.if_then(b.or_(too_many, too_much), likely=False):
        set_field(b, machine, "fault_kind", i64(FAULT_STACK))
        first = next(item for item in emitter.flow.statements if not isinstance(item, Label))
        set_field(b, machine, "fault_site", i64(emitter.unit.site(first)))
        b.ret(i32(FAULTED))


# --- device runtime ---------------------------------------------------------------------------------------------------
# Functions of the device runtime library, libcudadevrt, in PTX: the barrier of a whole grid.
#
# nvcc compiles `grid.sync()` from the headers of cooperative groups. Numba calls the library instead. The barrier here
# is that of `cooperative_groups::details::sync_grids`: the first block adds what brings the sign bit to change once all
# blocks have arrived.

_LIBRARY = """
.version 8.0
.target sm_90
.address_size 64
.func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
    .reg .b32 low, high;
    .reg .b64 workspace;
    mov.u32 high, %envreg1;
    mov.u32 low, %envreg2;
    mov.b64 workspace, {low, high};
    st.param.b64 [handle], workspace;
    ret;
}
.func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
    .reg .b32 place, axis, blocks, before, now;
    .reg .b64 arrived;
    .reg .pred is_other, is_first, is_waiting;
    ld.param.b64 arrived, [handle]; // Before a wait, as nvcc does: so it needs no local memory.
    barrier.sync 0;
    mov.u32 place, %tid.x;
    mov.u32 axis, %tid.y;
    or.b32 place, place, axis;
    mov.u32 axis, %tid.z;
    or.b32 place, place, axis;
    setp.ne.u32 is_other, place, 0;
    @is_other bra DONE;
    mov.u32 blocks, %nctaid.x;
    mov.u32 axis, %nctaid.y;
    mul.lo.u32 blocks, blocks, axis;
    mov.u32 axis, %nctaid.z;
    mul.lo.u32 blocks, blocks, axis;
    mov.u32 place, %ctaid.x;
    mov.u32 axis, %ctaid.y;
    or.b32 place, place, axis;
    mov.u32 axis, %ctaid.z;
    or.b32 place, place, axis;
    setp.eq.u32 is_first, place, 0;
    sub.u32 blocks, 0x80000001, blocks;
    selp.b32 blocks, blocks, 1, is_first;
    atom.add.release.gpu.u32 before, [arrived + 4], blocks;
WAIT:
    ld.acquire.gpu.u32 now, [arrived + 4];
    xor.b32 now, now, before;
    setp.gt.s32 is_waiting, now, -1;
    @is_waiting bra WAIT;
DONE:
    barrier.sync 0;
    st.param.b32 [status], 0;
    ret;
}
"""


@functools.cache
def _library() -> dict[str, Function]:
    """The functions by name; their statements have no lines, so that they get those of a call."""
    functions = {}
    for function in parse(_LIBRARY).functions:
        body = tuple(replace(item, ptx_line=0) for item in function.body or ())
        functions[function.name] = replace(function, body=body)
    return functions


def with_device_runtime(module: Module) -> Module:
    """Define the functions of the library that a module only declares."""
    defined = {item.name for item in module.functions if item.body is not None}
    undefined = {item.name for item in module.functions if item.name.startswith("cudaCG")} - defined
    if not undefined:
        return module  # The library's text need not be parsed.
    added = [function for name, function in _library().items() if name in undefined]
    names = {function.name for function in added}
    others = [item for item in module.functions if item.name not in names]
    return replace(module, functions=(*others, *added))
