"""Small LLVM functions built by a test, compiled and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I64, open_function
from gpuregress.virtual_gpu.runtime import llvm_backend


def call(build: Callable[[ir.IRBuilder, tuple[ir.Value, ...]], ir.Value], *arguments: int) -> int:
    """Build `i64 f(i64, …)` from a function that gives its result, and call it."""
    module = ir.Module("test")
    function = ir.Function(module, ir.FunctionType(I64, [I64] * len(arguments)), "f")
    b = open_function(function)
    b.ret(build(b, tuple(function.args)))
    code = llvm_backend.LoadedCode(llvm_backend.compile_object(str(module)))
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
    try:
        return int(kind(code.address("f"))(*arguments))
    finally:
        code.close()
