"""Choice of the warp that runs next: the first one in the launch's order of which a lane can go on.

Schedules other than the usual one run a warp up to a barrier before the next warp begins, so that no warp operation
orders the accesses of two warps.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import counted, element, i32, open_function
from gpuregress.virtual_gpu.builder.thread_context import row
from gpuregress.virtual_gpu.builder.types import I32, POINTER
from gpuregress.virtual_gpu.runtime.thread_context import DONE

_NAME = "schedule.warp"


def build_warp_choice(module: ir.Module) -> ir.Function:
    """Build the module's `warp(context, order, threads) → number of a warp`.

    Args:
        module: where it is built, once.
    """
    declared: ir.Function | None = module.globals.get(_NAME)
    if declared is not None:
        return declared
    function = ir.Function(module, ir.FunctionType(I32, (POINTER, POINTER, I32)), _NAME)
    function.linkage = "internal"
    function.attributes.add("noinline")
    context, order, threads = function.args
    b = open_function(function)
    with counted(b, threads) as position:
        thread = b.load(element(b, order, position, I32), typ=I32)
        state = b.load(row(b, context, "state", thread), typ=I32)
        can_run = b.and_(b.icmp_signed(">=", state, i32(0)), b.icmp_signed("!=", state, i32(DONE)))
        with b.if_then(can_run):
            b.ret(b.lshr(thread, i32(5)))
    b.ret(i32(0))
    return function
