"""Ballots of all warps of a block, taken once its threads have met."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import Cell, counted, i32, i64, open_function
from gpuregress.virtual_gpu.builder.thread_context import row
from gpuregress.virtual_gpu.builder.types import I32, I64, POINTER


def ballots(module: ir.Module) -> ir.Function:
    """The module's `ballots(context, threads)`: stores which lanes of each warp posted nonzero, for each lane."""
    declared = module.globals.get("ballots")
    if declared is not None:
        return declared
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, I32)), "ballots")
    function.linkage = "internal"
    context, threads = function.args
    b = open_function(function)
    ballot = Cell(b, i32(0))
    with counted(b, b.lshr(b.add(threads, i32(31)), i32(5))) as warp:
        base = b.shl(warp, i32(5))
        left = b.sub(threads, base)
        lanes = b.select(b.icmp_unsigned("<", left, i32(32)), left, i32(32))
        ballot.set(i32(0), b)
        with counted(b, lanes) as lane:
            posted = b.load(row(b, context, "post", b.add(base, lane)), typ=I64)
            ballot.set_bits(b.shl(b.zext(b.icmp_unsigned("!=", posted, i64(0)), I32), lane))
        with counted(b, lanes) as lane:
            b.store(ballot.get(b), row(b, context, "ballot", b.add(base, lane)))
    b.ret_void()
    return function
