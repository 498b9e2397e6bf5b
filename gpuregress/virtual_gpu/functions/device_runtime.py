"""Functions of the device runtime library, libcudadevrt, in PTX: the barrier of a whole grid.

nvcc compiles `grid.sync()` from the headers of cooperative groups. Numba calls the library instead. The barrier here is
that of `cooperative_groups::details::sync_grids`: the first block adds what brings the sign bit to change once all
blocks have arrived.
"""

from __future__ import annotations

import functools

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Module

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
    ld.param.b64 arrived, [handle];
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
    wanted = {item.name for item in module.functions if item.name.startswith("cudaCG")} - defined
    made = [function for name, function in _library().items() if name in wanted] if wanted else []
    if not made:
        return module
    names = {function.name for function in made}
    return replace(module, functions=(*(item for item in module.functions if item.name not in names), *made))
