"""IEEE 754 building blocks for f32 and f64: NaNs, signed zeros, flushing, and directed rounding.

NaNs are those of an H200. Each f32 result that is a NaN is 0x7fffffff. An f64 NaN operand is propagated and made quiet:
the second of two; of fma's three the second, else the third; of a division's the first. A new NaN is
0xfff8000000000000.

Directed rounding of f32 goes through f64: the exact result or, where f64 cannot hold it, the f64 neighbour with an odd
last bit (round to odd). It lies on the same side of every f32 number, and of every midpoint of two, as the exact
result (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 57, 2008).
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.types import F32, F64, I32, I64

NAN_F32 = 0x7FFFFFFF
NAN_F64 = 0xFFF8000000000000
_QUIET_F64 = 0x0008000000000000
SMALLEST_NORMAL_F32 = 2.0**-126


def bits_of(emit: Emit, value: ir.Value) -> ir.Value:
    """A float's or double's bits."""
    return emit.builder.bitcast(value, I64 if value.type == F64 else I32)


def float_of(emit: Emit, bits: ir.Value) -> ir.Value:
    """The float or double with these bits."""
    return emit.builder.bitcast(bits, F64 if bits.type == I64 else F32)


def constant_f32(bits: int) -> ir.Constant:
    """The float with these bits; a NaN keeps its payload."""
    return ir.Constant(I32, bits).bitcast(F32)


def constant_f64(bits: int) -> ir.Constant:
    """The double with these bits; a NaN keeps its payload."""
    return ir.Constant(I64, bits).bitcast(F64)


def is_nan(emit: Emit, value: ir.Value) -> ir.Value:
    """Whether a float or double is a NaN."""
    return emit.builder.fcmp_unordered("uno", value, value)


def magnitude(emit: Emit, value: ir.Value) -> ir.Value:
    """|value|: the sign bit cleared, nothing else."""
    return emit.intrinsic("llvm.fabs.f64" if value.type == F64 else "llvm.fabs.f32", value.type, value)


def negated(emit: Emit, value: ir.Value) -> ir.Value:
    """-value: the sign bit flipped, nothing else."""
    return emit.builder.fneg(value)


def sign_bit(kind: ir.IntType) -> ir.Constant:
    """An integer with only the top bit set."""
    return kind(1 << (kind.width - 1))


def canonical(emit: Emit, value: ir.Value) -> ir.Value:
    """An f32 result with any NaN made 0x7fffffff."""
    return emit.builder.select(is_nan(emit, value), constant_f32(NAN_F32), value)


def propagate(emit: Emit, result: ir.Value, *operands: ir.Value) -> ir.Value:
    """An f64 result; if it is a NaN, the first NaN among the given operands, or a new one."""
    builder = emit.builder
    nan: ir.Value = constant_f64(NAN_F64)
    for operand in reversed(operands):
        quiet = float_of(emit, builder.or_(bits_of(emit, operand), I64(_QUIET_F64)))
        nan = builder.select(is_nan(emit, operand), quiet, nan)
    return builder.select(is_nan(emit, result), nan, result)


def flush(emit: Emit, value: ir.Value) -> ir.Value:
    """A float with subnormals made zero, the sign kept."""
    builder = emit.builder
    tiny = builder.fcmp_ordered("<", magnitude(emit, value), F32(SMALLEST_NORMAL_F32))
    zero = float_of(emit, builder.and_(bits_of(emit, value), sign_bit(I32)))
    return builder.select(tiny, zero, value)


def is_tiny(emit: Emit, exact: ir.Value, rounding: str, smallest: float, precision: int) -> ir.Value:
    """Tininess after rounding: whether a number, rounded to `precision` bits, is below the normal range.

    As on the card (conformance recording): what rounds up to the smallest normal number is not flushed.

    Args:
        emit: the builder's services.
        exact: a float or double that holds more bits, exact or rounded to odd.
        rounding: `rn`, `rz`, `rm`, `rp`.
        smallest: the smallest normal number.
        precision: bits of the target's significand, the implicit one included.
    """
    builder, kind = emit.builder, exact.type
    size = magnitude(emit, exact)
    inward = builder.fcmp_ordered("<", size, kind(smallest))
    if rounding == "rz":
        return inward
    if rounding == "rn":
        return builder.fcmp_ordered("<", size, kind(smallest * (1 - 2.0 ** -(precision + 1))))
    outward = builder.fcmp_ordered("<=", size, kind(smallest * (1 - 2.0**-precision)))
    negative = builder.fcmp_ordered("<", exact, kind(0.0))
    return builder.select(negative, outward, inward) if rounding == "rm" else builder.select(negative, inward, outward)


def flush_by(emit: Emit, value: ir.Value, exact: ir.Value, rounding: str = "rn") -> ir.Value:
    """A rounded f32, made zero if the f64 that it was rounded from is tiny."""
    builder = emit.builder
    tiny = is_tiny(emit, exact, rounding, SMALLEST_NORMAL_F32, 24)
    zero = float_of(emit, builder.and_(bits_of(emit, value), sign_bit(I32)))
    return builder.select(tiny, zero, value)


def saturate(emit: Emit, value: ir.Value) -> ir.Value:
    """A float or double limited to [0, 1]: NaN and -0 give +0."""
    builder, kind = emit.builder, value.type
    positive = builder.select(builder.fcmp_ordered(">", value, kind(0.0)), value, kind(0.0))
    return builder.select(builder.fcmp_ordered("<", positive, kind(1.0)), positive, kind(1.0))


def round_to_odd_sum(emit: Emit, a: ir.Value, b: ir.Value) -> ir.Value:
    """The sum in f64, rounded to odd: exact, or the neighbour whose last bit is set (the error is Knuth's two-sum)."""
    builder = emit.builder
    total = builder.fadd(a, b)
    b_part = builder.fsub(total, a)
    a_error = builder.fsub(a, builder.fsub(total, b_part))
    error = builder.fadd(a_error, builder.fsub(b, b_part))
    bits = bits_of(emit, total)
    # Knuth's error of an infinite or NaN sum is a NaN, which an ordered comparison leaves alone.
    inexact = builder.fcmp_ordered("!=", error, F64(0.0))
    even = builder.icmp_unsigned("==", builder.and_(bits, I64(1)), I64(0))
    away = builder.icmp_signed(">=", builder.xor(bits, bits_of(emit, error)), I64(0))
    moved = builder.add(bits, builder.select(away, I64(1), I64(-1)))
    return float_of(emit, builder.select(builder.and_(inexact, even), moved, bits))


def narrow(emit: Emit, exact: ir.Value, rounding: str) -> ir.Value:
    """An f64 (exact, or rounded to odd) as an f32 under `rn`, `rz`, `rm` or `rp`."""
    builder = emit.builder
    nearest = builder.fptrunc(exact, F32)
    if rounding == "rn":
        return nearest
    back = builder.fpext(nearest, F64)
    bits = bits_of(emit, nearest)
    outward, inward = I32(1), I32(-1)
    negative = builder.icmp_signed("<", bits, I32(0))
    if rounding == "rz":
        wrong = builder.fcmp_ordered(">", magnitude(emit, back), magnitude(emit, exact))
        step: ir.Value = inward
    elif rounding == "rm":
        wrong = builder.fcmp_ordered(">", back, exact)
        step = builder.select(negative, outward, inward)
    else:
        wrong = builder.fcmp_ordered("<", back, exact)
        step = builder.select(negative, inward, outward)
    return float_of(emit, builder.select(wrong, builder.add(bits, step), bits))


def zero_of_sum(emit: Emit, total: ir.Value, a: ir.Value, b: ir.Value, rounding: str) -> ir.Value:
    """The sum a + b with the sign of an exact zero put right: under `rm` it is -0 unless both addends are +0."""
    if rounding != "rm":
        return total
    builder = emit.builder
    kind = I64 if total.type == F64 else I32
    sign = builder.and_(builder.or_(bits_of(emit, a), bits_of(emit, b)), sign_bit(kind))
    zero = builder.fcmp_ordered("==", total, total.type(0.0))
    return builder.select(zero, float_of(emit, sign), total)
