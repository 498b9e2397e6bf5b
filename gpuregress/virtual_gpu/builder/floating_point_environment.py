"""Floating-point environment of the processor around a launch: round to nearest, no flush to zero.

Some packages leave flush-to-zero on in the threads of a process; a kernel's bits must not depend on that.
"""

from __future__ import annotations

import platform

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import i32, i64
from gpuregress.virtual_gpu.builder.types import I32, I64, POINTER

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
        status = _under_mxcsr(module, b, body, function)
    elif machine in _ARM:
        status = _under_fpcr(module, b, body, function)
    else:
        status = b.call(body, function.args)
    b.ret(status)
    return function


def _declared(module: ir.Module, name: str, type_: ir.FunctionType) -> ir.Function:
    declared = module.globals.get(name)
    return declared if declared is not None else ir.Function(module, type_, name)


def _under_mxcsr(module: ir.Module, b: ir.IRBuilder, body: ir.Function, function: ir.Function) -> ir.Value:
    type_ = ir.FunctionType(ir.VoidType(), (POINTER,))
    store = _declared(module, "llvm.x86.sse.stmxcsr", type_)
    load = _declared(module, "llvm.x86.sse.ldmxcsr", type_)
    slots = [b.alloca(I32) for _ in range(2)]
    for slot in slots:
        slot.type = POINTER
    b.call(store, (slots[0],))
    b.store(i32(_MXCSR_DEFAULT), slots[1])
    b.call(load, (slots[1],))
    status = b.call(body, function.args)
    b.call(load, (slots[0],))
    return status


def _under_fpcr(module: ir.Module, b: ir.IRBuilder, body: ir.Function, function: ir.Function) -> ir.Value:
    get = _declared(module, "llvm.aarch64.get.fpcr", ir.FunctionType(I64, ()))
    put = _declared(module, "llvm.aarch64.set.fpcr", ir.FunctionType(ir.VoidType(), (I64,)))
    before = b.call(get, ())
    b.call(put, (i64(0),))
    status = b.call(body, function.args)
    b.call(put, (before,))
    return status
