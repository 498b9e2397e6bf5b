"""Lowering of floating-point arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, read_all
from gpuregress.virtual_gpu.builder.structured import F32, F64, I32, call_intrinsic, subroutine
from gpuregress.virtual_gpu.isa.arithmetic import special_function_unit
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import (
    NAN_F32,
    NAN_F64,
    bits_of,
    canonical,
    constant_f32,
    constant_f64,
    float_of,
    flush,
    flush_by,
    is_nan,
    magnitude,
    narrow,
    negated,
    propagate,
    round_to_odd_sum,
    saturate,
    sign_bit,
    zero_of_sum,
)
from gpuregress.virtual_gpu.ptx.modifiers import rounding_of, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction

# --- directed rounding ------------------------------------------------------------------------------------------------


# Rounding modes as llvm.set.rounding numbers them, and as constrained intrinsics call them.
_MODES = {"rz": (0, "round.towardzero"), "rp": (2, "round.upward"), "rm": (3, "round.downward")}
_NEAREST = 1


def directed(emit: Emit, operation: str, rounding: str, *operands: ir.Value) -> ir.Value:
    """The f64 result of `fadd`, `fsub`, `fmul`, `fdiv`, `fma` or `sqrt` under `rz`, `rm` or `rp`."""
    return _directed(operation, rounding, emit.builder, *operands)


@subroutine(lambda operation, rounding: f"gpuregress.{operation}.{rounding}.f64", F64, attributes=("noinline",))
def _directed(operation: str, rounding: str, builder: ir.IRBuilder, *operands: ir.Value) -> ir.Value:
    number, name = _MODES[rounding]
    words = [ir.MetaDataString(builder.module, word) for word in (name, "fpexcept.strict")]
    call_intrinsic(builder, "llvm.set.rounding", ir.VoidType(), I32(number))
    result = call_intrinsic(builder, f"llvm.experimental.constrained.{operation}.f64", F64, *operands, *words)
    call_intrinsic(builder, "llvm.set.rounding", ir.VoidType(), I32(_NEAREST))
    return result


# --- f32 and f64 ------------------------------------------------------------------------------------------------------
# Arithmetic of f32 and f64: add sub mul fma mad div rcp sqrt abs neg min max copysign testp.
#
# Division, reciprocal and square root are IEEE operations (with a rounding modifier); `.approx` and `.full` are in
# special_function_unit.py.


# The operation in f64 on exactly widened f32 operands: exact, rounded to odd, or close enough to round right from.
_Exact = Callable[[Emit, list[ir.Value]], ir.Value]


def _finish(emit: Emit, instruction: Instruction, value: ir.Value) -> None:
    """Write an f32 result with its NaN made canonical, saturated with `.sat`."""
    result = saturate(emit, value) if "sat" in instruction.modifiers else canonical(emit, value)
    emit.write(instruction.operands[0], result, "f32")


def _operands(emit: Emit, instruction: Instruction) -> list[ir.Value]:
    values = read_all(emit, instruction, "f32")
    if "ftz" not in instruction.modifiers:
        return values
    return [flush(emit, value) for value in values]


def _widen(emit: Emit, values: list[ir.Value]) -> list[ir.Value]:
    return [emit.builder.fpext(value, F64) for value in values]


def _through_double(emit: Emit, instruction: Instruction, values: list[ir.Value], exact_of: _Exact) -> ir.Value:
    """An f32 result, computed by `exact_of` in f64 and rounded; flushed with `.ftz`."""
    wide = _widen(emit, values)
    exact = exact_of(emit, wide)
    rounding = rounding_of(instruction)
    result = narrow(emit, exact, rounding)
    if "ftz" in instruction.modifiers:
        result = flush_by(emit, result, exact, rounding)
    return result


def _simple(instruction: Instruction) -> bool:
    """Whether one f32 operation gives the result: round to nearest, no flushing."""
    return rounding_of(instruction) == "rn" and "ftz" not in instruction.modifiers


def _by_double(
    emit: Emit, instruction: Instruction, values: list[ir.Value], operation: Callable[..., ir.Value]
) -> None:
    """Write an f32 result of an operation that f64 gives closely enough to round it from there."""
    if _simple(instruction):
        result = operation(*values)
    else:
        result = _through_double(emit, instruction, values, lambda _, wide: operation(*wide))
    _finish(emit, instruction, result)


def _rounded(emit: Emit, instruction: Instruction, operation: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """The f64 result of an operation of LLVM, in the instruction's rounding mode."""
    rounding = rounding_of(instruction)
    if rounding != "rn":
        return directed(emit, operation, rounding, a, b)
    nearest: Callable[..., ir.Value] = getattr(emit.builder, operation)
    return nearest(a, b)


# --- add, sub -------------------------------------------------------------------------------------------------------


def _sum(emit: Emit, instruction: Instruction, *, subtract: bool) -> None:
    builder, rounding = emit.builder, rounding_of(instruction)
    if type_of(instruction) == "f64":
        a, b = read_all(emit, instruction, "f64")
        total = _rounded(emit, instruction, "fsub" if subtract else "fadd", a, b)
        emit.write(instruction.operands[0], propagate(emit, total, b, a), "f64")
        return
    a, b = _operands(emit, instruction)
    if rounding == "rn":
        total = builder.fsub(a, b) if subtract else builder.fadd(a, b)
    else:
        if subtract:
            b = negated(emit, b)
        x, y = _widen(emit, [a, b])
        total = narrow(emit, zero_of_sum(emit, round_to_odd_sum(emit, x, y), x, y, rounding), rounding)
    if "ftz" in instruction.modifiers:
        # A sum below the normal range is exact, so that before and after rounding are the same.
        total = flush(emit, total)
    _finish(emit, instruction, total)


# --- mul, fma, mad --------------------------------------------------------------------------------------------------


def _mul(emit: Emit, instruction: Instruction) -> None:
    if type_of(instruction) == "f64":
        a, b = read_all(emit, instruction, "f64")
        product = _rounded(emit, instruction, "fmul", a, b)
        emit.write(instruction.operands[0], propagate(emit, product, b, a), "f64")
        return
    _by_double(emit, instruction, _operands(emit, instruction), emit.builder.fmul)


def _fma(emit: Emit, instruction: Instruction) -> None:
    rounding = rounding_of(instruction)
    if type_of(instruction) == "f64":
        values = read_all(emit, instruction, "f64")
        if rounding == "rn":
            result = emit.intrinsic("llvm.fma.f64", F64, *values)
        else:
            result = directed(emit, "fma", rounding, *values)
        emit.write(instruction.operands[0], propagate(emit, result, values[1], values[2], values[0]), "f64")
        return
    values = _operands(emit, instruction)
    if _simple(instruction):
        result = emit.intrinsic("llvm.fma.f32", F32, *values)
    else:
        result = _through_double(emit, instruction, values, lambda emit, wide: _exact_fma(emit, wide, rounding))
    _finish(emit, instruction, result)


def _exact_fma(emit: Emit, wide: list[ir.Value], rounding: str) -> ir.Value:
    """The fma of widened f32 operands: the product is exact in f64, the sum rounded to odd."""
    product = emit.builder.fmul(wide[0], wide[1])
    return zero_of_sum(emit, round_to_odd_sum(emit, product, wide[2]), product, wide[2], rounding)


# --- div, rcp, sqrt -------------------------------------------------------------------------------------------------


def _divide(emit: Emit, instruction: Instruction) -> None:
    if "approx" in instruction.modifiers or "full" in instruction.modifiers:
        special_function_unit.divide(emit, instruction)
        return
    if type_of(instruction) == "f64":
        a, b = read_all(emit, instruction, "f64")
        quotient = _rounded(emit, instruction, "fdiv", a, b)
        emit.write(instruction.operands[0], propagate(emit, quotient, a, b), "f64")
        return
    _quotient(emit, instruction, _operands(emit, instruction))


def _rcp(emit: Emit, instruction: Instruction) -> None:
    if "approx" in instruction.modifiers:
        special_function_unit.rcp(emit, instruction)
        return
    if type_of(instruction) == "f64":
        (a,) = read_all(emit, instruction, "f64")
        quotient = _rounded(emit, instruction, "fdiv", F64(1.0), a)
        emit.write(instruction.operands[0], propagate(emit, quotient, a), "f64")
        return
    _quotient(emit, instruction, [F32(1.0), *_operands(emit, instruction)])


def _quotient(emit: Emit, instruction: Instruction, values: list[ir.Value]) -> None:
    """An f32 quotient.

    In f64 the quotient of two 24-bit numbers is an f32 number, or the middle of two, only if the exact one is: it
    would have to be within 2^-53 of one, and differs by 2^-48 or more.
    """
    _by_double(emit, instruction, values, emit.builder.fdiv)


def _sqrt(emit: Emit, instruction: Instruction) -> None:
    """The square root.

    LLVM takes `x < 0 ? NaN : sqrt(x)` for `sqrt(x)`, whatever the NaN's bits, and sees through most disguises; so the
    root is taken of |x|, and x puts in its sign, which only a zero keeps, and the NaN.
    """
    if "approx" in instruction.modifiers:
        special_function_unit.sqrt(emit, instruction)
        return
    builder, rounding = emit.builder, rounding_of(instruction)
    if type_of(instruction) == "f64":
        (a,) = read_all(emit, instruction, "f64")
        size = magnitude(emit, a)
        if rounding == "rn":
            root = emit.intrinsic("llvm.sqrt.f64", F64, size)
        else:
            root = directed(emit, "sqrt", rounding, size)
        invalid = builder.fcmp_unordered("<", a, F64(0.0))
        root = builder.select(invalid, constant_f64(NAN_F64), _signed_as(emit, root, a))
        emit.write(instruction.operands[0], propagate(emit, root, a), "f64")
        return
    (a,) = _operands(emit, instruction)
    size = magnitude(emit, a)
    if _simple(instruction):
        root = emit.intrinsic("llvm.sqrt.f32", F32, size)
    else:
        root = _through_double(
            emit, instruction, [size], lambda emit, wide: emit.intrinsic("llvm.sqrt.f64", F64, *wide)
        )
    invalid = builder.fcmp_unordered("<", a, F32(0.0))
    _finish(emit, instruction, builder.select(invalid, constant_f32(NAN_F32), _signed_as(emit, root, a)))


def _signed_as(emit: Emit, size: ir.Value, a: ir.Value) -> ir.Value:
    """A nonnegative number with the sign of another."""
    bits = bits_of(emit, a)
    sign = emit.builder.and_(bits, sign_bit(bits.type))
    return float_of(emit, emit.builder.or_(bits_of(emit, size), sign))


# --- signs, order, classes ------------------------------------------------------------------------------------------


def _signed(emit: Emit, instruction: Instruction, change: Callable[[Emit, ir.Value], ir.Value]) -> None:
    """The hardware adds -0 to the operand with its sign changed; a NaN comes out as from an addition, its sign kept."""
    if type_of(instruction) == "f64":
        (a,) = read_all(emit, instruction, "f64")
        emit.write(instruction.operands[0], propagate(emit, change(emit, a), a), "f64")
        return
    (a,) = _operands(emit, instruction)
    emit.write(instruction.operands[0], canonical(emit, change(emit, a)), "f32")


def _copysign(emit: Emit, instruction: Instruction) -> None:
    """The sign of the first operand on the magnitude of the second: bits only."""
    builder, type_name = emit.builder, type_of(instruction)
    sign_source, value = (bits_of(emit, operand) for operand in read_all(emit, instruction, type_name))
    sign = sign_bit(value.type)
    result = builder.or_(builder.and_(sign_source, sign), builder.and_(value, builder.not_(sign)))
    emit.write(instruction.operands[0], float_of(emit, result), type_name)


def _extreme(emit: Emit, instruction: Instruction, order: str) -> None:
    """The smaller (`<`) or larger operand; -0 is below +0; a NaN loses, or wins under `.NaN`."""
    builder, modifiers = emit.builder, instruction.modifiers
    if type_of(instruction) == "f64":
        a, b = read_all(emit, instruction, "f64")
        picked = pick_extreme(emit, a, b, order)
        emit.write(instruction.operands[0], builder.select(is_nan(emit, picked), propagate(emit, b, b), picked), "f64")
        return
    a, b = _operands(emit, instruction)
    sign: ir.Value | None = None
    if "xorsign" in modifiers:
        sign = builder.and_(builder.xor(bits_of(emit, a), bits_of(emit, b)), sign_bit(bits_of(emit, a).type))
        a, b = magnitude(emit, a), magnitude(emit, b)
    picked = pick_extreme(emit, a, b, order)
    if sign is not None:
        picked = float_of(emit, builder.or_(bits_of(emit, picked), sign))
    unordered = builder.fcmp_unordered("uno", a, b) if "NaN" in modifiers else is_nan(emit, picked)
    emit.write(instruction.operands[0], builder.select(unordered, constant_f32(NAN_F32), picked), "f32")


def pick_extreme(emit: Emit, a: ir.Value, b: ir.Value, order: str) -> ir.Value:
    """The smaller (`<`) or larger (`>`) of two floats or doubles; of a number and a NaN the number, of two NaNs one."""
    builder = emit.builder
    # Equal operands differ at most in the sign of a zero: of -0 and +0 `or` makes -0, `and` makes +0.
    x, y = bits_of(emit, a), bits_of(emit, b)
    joined = builder.or_(x, y) if order == "<" else builder.and_(x, y)
    first = builder.or_(builder.fcmp_ordered(order, a, b), is_nan(emit, b))
    picked = builder.select(first, a, b)
    return builder.select(builder.fcmp_ordered("==", a, b), float_of(emit, joined), picked)


def _testp(emit: Emit, instruction: Instruction) -> None:
    """Test for a class of numbers: `.finite`, `.infinite`, `.number`, `.notanumber`, `.normal` or `.subnormal`."""
    builder = emit.builder
    (value,) = read_all(emit, instruction, type_of(instruction))
    kind, size = value.type, magnitude(emit, value)
    infinity = kind(float("inf"))
    smallest = kind(2.0**-126 if kind == F32 else 2.0**-1022)
    word = instruction.modifiers[0]
    if word == "finite":
        result = builder.fcmp_ordered("<", size, infinity)
    elif word == "infinite":
        result = builder.fcmp_ordered("==", size, infinity)
    elif word == "number":
        result = builder.fcmp_ordered("ord", value, value)
    elif word == "notanumber":
        result = is_nan(emit, value)
    elif word == "normal":  # zeros count as normal
        ordinary = builder.or_(builder.fcmp_ordered(">=", size, smallest), builder.fcmp_ordered("==", size, kind(0.0)))
        result = builder.and_(ordinary, builder.fcmp_ordered("<", size, infinity))
    elif word == "subnormal":
        result = builder.and_(builder.fcmp_ordered("<", size, smallest), builder.fcmp_ordered(">", size, kind(0.0)))
    else:
        raise unsupported(instruction, f"testp knows no .{word}")
    emit.write(instruction.operands[0], result, "pred")


TABLE: dict[str, Lowering] = {
    "add": partial(_sum, subtract=False),
    "sub": partial(_sum, subtract=True),
    "mul": _mul,
    "fma": _fma,
    "mad": _fma,
    "div": _divide,
    "rcp": _rcp,
    "sqrt": _sqrt,
    "rsqrt": special_function_unit.rsqrt,
    "sin": special_function_unit.sin,
    "cos": special_function_unit.cos,
    "lg2": special_function_unit.lg2,
    "ex2": special_function_unit.ex2,
    "tanh": special_function_unit.tanh,
    "abs": partial(_signed, change=magnitude),
    "neg": partial(_signed, change=negated),
    "copysign": _copysign,
    "min": partial(_extreme, order="<"),
    "max": partial(_extreme, order=">"),
    "testp": _testp,
}
