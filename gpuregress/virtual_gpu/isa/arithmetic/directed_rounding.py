"""Directed rounding of double precision, by the rounding mode of the host's processor.

There is no wider type to compute in, and the processor handles overflow, subnormals and signed zeros as well. The
operation has a function of its own that is never inlined, between two changes of the mode. It is one of LLVM's
constrained intrinsics, which the optimizer neither moves across the changes nor folds in another mode.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.types import F64, I32

# Rounding modes as llvm.set.rounding numbers them, and as constrained intrinsics call them.
_MODES = {"rz": (0, "round.towardzero"), "rp": (2, "round.upward"), "rm": (3, "round.downward")}
_NEAREST = 1


def directed(emit: Emit, operation: str, rounding: str, *operands: ir.Value) -> ir.Value:
    """The f64 result of `fadd`, `fsub`, `fmul`, `fdiv`, `fma` or `sqrt` under `rz`, `rm` or `rp`."""
    function = emit.subroutine(
        f"gpuregress.{operation}.{rounding}.f64",
        F64,
        (F64,) * len(operands),
        lambda builder, arguments: _build(builder, arguments, operation, rounding),
    )
    function.attributes.add("noinline")
    return emit.builder.call(function, operands)


def _build(builder: ir.IRBuilder, arguments: tuple[ir.Value, ...], operation: str, rounding: str) -> ir.Value:
    module, metadata = builder.module, ir.MetaDataType()
    number, name = _MODES[rounding]
    set_rounding = _declared(module, "llvm.set.rounding", ir.FunctionType(ir.VoidType(), [I32]))
    constrained = _declared(
        module,
        f"llvm.experimental.constrained.{operation}.f64",
        ir.FunctionType(F64, [F64] * len(arguments) + [metadata, metadata]),
    )
    builder.call(set_rounding, [I32(number)])
    words = [ir.MetaDataString(module, word) for word in (name, "fpexcept.strict")]
    result = builder.call(constrained, [*arguments, *words])
    builder.call(set_rounding, [I32(_NEAREST)])
    return result


def _declared(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    known = module.globals.get(name)
    return known if known is not None else ir.Function(module, kind, name)
