"""Calls from compiled code into Python: system calls and bulk copies."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i64
from gpuregress.virtual_gpu.builder.types import I64, POINTER


def call_python(emitter: Services, number: int, arguments: ir.Value) -> ir.Value:
    """Call Python and leave with its fault, if there is one; returns the answer, i64.

    Args:
        emitter: the function's; a site that a fault can name has been stored in the machine.
        number: of the system call.
        arguments: pointer to them, eight bytes each.
    """
    b = emitter.builder
    answer = raw_call(b, emitter.view.machine, number, arguments, emitter.thread.local)
    fine = b.icmp_unsigned("==", field(b, emitter.view.machine, "fault_kind"), i64(0))
    after = b.append_basic_block("answered")
    b.cbranch(fine, after, emitter.fault_block)
    emitter.builder = ir.IRBuilder(after)
    emitter.forget_pointers()
    return answer


def raw_call(b: ir.IRBuilder, machine: ir.Value, number: int, arguments: ir.Value, local: ir.Value) -> ir.Value:
    """Call Python without a look at faults; returns the answer, i64."""
    # llvmlite asks the callee's pointer for the function's type, and writes `ptr` all the same.
    type_ = ir.FunctionType(I64, (I64, POINTER, POINTER)).as_pointer()
    function = b.inttoptr(field(b, machine, "syscall"), type_)
    return b.call(function, (i64(number), arguments, local))
