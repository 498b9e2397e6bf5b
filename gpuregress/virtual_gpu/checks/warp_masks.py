"""Check of warp operations for masks that name absent lanes.

A lane is absent if it went another way and never arrives.

All threads that a mask names and that have not exited must execute the operation ("CUDA C++ programming guide", warp
vote, shuffle and `__syncwarp`). Whether a lane has exited in time is luck, unless it returned without a further effect.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.python_calls import raw_call
from gpuregress.virtual_gpu.builder.structured import counted, element, i32, i64, open_function
from gpuregress.virtual_gpu.builder.thread_context import row
from gpuregress.virtual_gpu.builder.types import I1, I32, I64, POINTER
from gpuregress.virtual_gpu.runtime.machine_layout import CHECK_MASK
from gpuregress.virtual_gpu.runtime.thread_context import DEPARTED, DONE


def absent_lanes(module: ir.Module) -> ir.Function:
    """`(machine, context, threads, first of the warp, lanes that meet, key)`: report the first lane that departed."""
    name = "check.absent_lanes"
    declared: ir.Function | None = module.globals.get(name)
    if declared is not None:
        return declared
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, POINTER, I32, I32, I32, I64)), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    machine, context, threads, base, group, key = function.args
    b = open_function(function)
    words = b.alloca(ir.ArrayType(I64, 3))
    words.type = POINTER
    mask = b.trunc(key, I32)
    missing = b.and_(mask, b.not_(group))
    with b.if_then(b.icmp_unsigned("==", missing, i32(0)), likely=True):
        b.ret_void()
    with counted(b, i32(32)) as lane, b.if_then(b.trunc(b.lshr(missing, lane), I1)):
        thread = b.add(base, lane)
        with b.if_then(b.icmp_unsigned(">=", thread, threads)):
            b.ret_void()
        has_exited = b.icmp_unsigned("==", b.load(row(b, context, "state", thread), typ=I32), i32(DONE))
        left = b.load(row(b, context, "key", thread), typ=I64)
        with b.if_then(b.and_(has_exited, b.icmp_unsigned(">=", left, i64(DEPARTED)))):
            waiting = b.add(base, b.cttz(group, ir.Constant(I1, 1)))
            for index, value in enumerate((mask, waiting, thread)):
                b.store(b.zext(value, I64), element(b, words, i32(index), I64))
            raw_call(b, machine, CHECK_MASK, words, machine)
            b.ret_void()
    b.ret_void()
    return function
