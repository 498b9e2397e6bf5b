"""Formats of IEEE 754 and the narrower ones in IR: their bits, rounding and conversion."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.structured import F32, F64, I32, I64

# --- bits of a format -------------------------------------------------------------------------------------------------


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

    As on the GPU (conformance recording): what rounds up to the smallest normal number is not flushed.

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
    if rounding == "rm":
        return builder.select(negative, outward, inward)
    return builder.select(negative, inward, outward)


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


def relu(emit: Emit, value: ir.Value) -> ir.Value:
    """A float or double, +0 in place of -0 and of what is below; a NaN stays."""
    zero = value.type(0.0)
    return emit.builder.select(emit.builder.fcmp_ordered("<=", value, zero), zero, value)


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


# --- narrow formats ---------------------------------------------------------------------------------------------------
# Rounding to, and widening from, the formats narrower than f32: f16, bf16, tf32, e4m3, e5m2.
#
# All by integer arithmetic: LLVM's own conversions of `half` and `bfloat` call library functions where the processor
# has no instruction for them, and no loaded library is sure to have those functions.


class Format(Record):
    """A binary floating-point format.

    Attributes:
        width: bits.
        mantissa: bits of the fraction.
        bias: of the exponent.
        largest: the bits of the largest finite number.
        infinity: the bits of +infinity, None for a format without one.
        nan: the bits that every NaN result has.
    """

    width: int
    mantissa: int
    bias: int
    largest: int
    infinity: int | None
    nan: int

    @property
    def smallest_normal(self) -> float:
        """The smallest normal number."""
        return float(2.0 ** (1 - self.bias))


F16 = Format(width=16, mantissa=10, bias=15, largest=0x7BFF, infinity=0x7C00, nan=0x7FFF)
BF16 = Format(width=16, mantissa=7, bias=127, largest=0x7F7F, infinity=0x7F80, nan=0x7FFF)
TF32 = Format(width=19, mantissa=10, bias=127, largest=0x3FBFF, infinity=0x3FC00, nan=0x3FFFF)
E4M3 = Format(width=8, mantissa=3, bias=7, largest=0x7E, infinity=None, nan=0x7F)
E5M2 = Format(width=8, mantissa=2, bias=15, largest=0x7B, infinity=0x7C, nan=0x7F)


def round_to(emit: Emit, value: ir.Value, form: Format, rounding: str, *, finite: bool = False) -> ir.Value:
    """A float or double in a narrower format, as an integer of the format's width.

    Args:
        emit: the builder's services.
        value: f32 or f64; rounded to odd where it replaces a longer number.
        form: the target.
        rounding: `rn`, `rz`, `rm`, `rp`, or `rna` (nearest, ties away from zero).
        finite: what overflows, infinities too, becomes the largest finite number (`.satfinite`).
    """
    builder = emit.builder
    bits = bits_of(emit, value)
    kind = bits.type
    source_mantissa, source_bias = (52, 1023) if value.type == F64 else (23, 127)
    negative = builder.icmp_signed("<", bits, kind(0))
    size = builder.and_(bits, kind((1 << (kind.width - 1)) - 1))
    field = builder.lshr(size, kind(source_mantissa))
    subnormal = builder.icmp_unsigned("==", field, kind(0))
    fraction = builder.and_(size, kind((1 << source_mantissa) - 1))
    implicit = builder.select(subnormal, kind(0), kind(1 << source_mantissa))
    significand = builder.or_(fraction, implicit)
    # The exponent above the target's lowest: below it the significand moves further right, as a subnormal.
    raised = builder.add(builder.select(subnormal, kind(1), field), kind(form.bias - 1 - source_bias))
    under = builder.icmp_signed("<", raised, kind(0))
    base = builder.shl(builder.select(under, kind(0), raised), kind(form.mantissa))
    drop = source_mantissa - form.mantissa
    furthest = kind(source_mantissa + 2)
    further = builder.sub(kind(drop), builder.select(under, raised, kind(0)))
    shift = builder.select(builder.icmp_signed(">", further, furthest), furthest, further)
    kept = builder.lshr(significand, shift)
    rest = builder.sub(significand, builder.shl(kept, shift))
    half = builder.shl(kind(1), builder.sub(shift, kind(1)))
    up = _rounds_up(builder, rounding, negative, kept, rest, half)
    code = builder.add(base, builder.add(kept, builder.zext(up, kind)))
    code = _overflowed(builder, code, form, rounding, negative, finite=finite)
    infinite = kind(((2 * source_bias) + 1) << source_mantissa)
    if form.infinity is not None and not finite:
        code = builder.select(builder.icmp_unsigned("==", size, infinite), kind(form.infinity), code)
    sign = builder.select(negative, kind(1 << (form.width - 1)), kind(0))
    signed = builder.or_(code, sign)
    result = builder.select(builder.icmp_unsigned(">", size, infinite), kind(form.nan), signed)
    return builder.trunc(result, ir.IntType(form.width))


def _rounds_up(
    builder: ir.IRBuilder, rounding: str, negative: ir.Value, kept: ir.Value, rest: ir.Value, half: ir.Value
) -> ir.Value:
    """Whether the magnitude `kept` is rounded up, given the dropped bits `rest`."""
    kind = kept.type
    inexact = builder.icmp_unsigned("!=", rest, kind(0))
    if rounding == "rn":
        odd = builder.icmp_unsigned("!=", builder.and_(kept, kind(1)), kind(0))
        tie = builder.and_(builder.icmp_unsigned("==", rest, half), odd)
        return builder.or_(builder.icmp_unsigned(">", rest, half), tie)
    if rounding == "rna":
        return builder.icmp_unsigned(">=", rest, half)
    if rounding == "rp":
        return builder.and_(inexact, builder.not_(negative))
    if rounding == "rm":
        return builder.and_(inexact, negative)
    return ir.IntType(1)(0)


def _overflowed(
    builder: ir.IRBuilder, code: ir.Value, form: Format, rounding: str, negative: ir.Value, *, finite: bool
) -> ir.Value:
    """The result of an overflow: infinity, or the largest finite number when rounding toward zero."""
    kind = code.type
    over = builder.icmp_unsigned(">", code, kind(form.largest))
    largest = kind(form.largest)
    if finite or form.infinity is None or rounding == "rz":
        limit: ir.Value = largest
    elif rounding in ("rn", "rna"):
        limit = kind(form.infinity)
    else:
        outward = negative if rounding == "rm" else builder.not_(negative)
        limit = builder.select(outward, kind(form.infinity), largest)
    return builder.select(over, limit, code)


def widen(emit: Emit, bits: ir.Value, form: Format) -> ir.Value:
    """A number of f16, bf16, e4m3 or e5m2, given by its bits, as an f32: exact; every NaN is 0x7fffffff."""
    builder = emit.builder
    size = builder.and_(builder.zext(bits, I32), I32((1 << (form.width - 1)) - 1))
    sign = builder.shl(builder.zext(builder.lshr(bits, bits.type(form.width - 1)), I32), I32(31))
    # As an f32 the moved bits are the number times 2^(bias - 127), subnormals included: one exact product undoes that.
    moved = float_of(emit, builder.shl(size, I32(23 - form.mantissa)))
    if form.bias != 127:
        moved = builder.fmul(moved, F32(2.0 ** (127 - form.bias)))
    scaled = bits_of(emit, moved)
    if form.infinity is not None and form.bias != 127:
        scaled = builder.select(builder.icmp_unsigned("==", size, I32(form.infinity)), I32(0x7F800000), scaled)
    nan = builder.icmp_unsigned(">", size, I32(form.largest if form.infinity is None else form.infinity))
    return float_of(emit, builder.select(nan, I32(NAN_F32), builder.or_(scaled, sign)))


def widen_to_double(emit: Emit, bits: ir.Value, form: Format) -> ir.Value:
    """A number in a narrow format, given by its bits, as an f64; the payload of a NaN is unspecified."""
    return emit.builder.fpext(widen(emit, bits, form), F64)


def flush_bits(emit: Emit, bits: ir.Value, form: Format) -> ir.Value:
    """A number's bits with subnormals made zero, the sign kept."""
    builder, kind = emit.builder, bits.type
    exponent = builder.and_(bits, kind((1 << (form.width - 1)) - (1 << form.mantissa)))
    subnormal = builder.icmp_unsigned("==", exponent, kind(0))
    return builder.select(subnormal, builder.and_(bits, kind(1 << (form.width - 1))), bits)


def sticky_double(emit: Emit, value: ir.Value, *, signed: bool) -> ir.Value:
    """An i64 as an f64, rounded to odd so that a second rounding to a narrower format is correct."""
    builder = emit.builder
    if signed:
        negative = builder.icmp_signed("<", value, I64(0))
        size = builder.select(negative, builder.neg(value), value)
    else:
        negative, size = ir.IntType(1)(0), value
    low = builder.and_(size, I64(0x7FF))
    lost = builder.zext(builder.icmp_unsigned("!=", low, I64(0)), I64)
    coarse = builder.shl(builder.or_(builder.lshr(size, I64(11)), lost), I64(11))
    long = builder.icmp_unsigned(">=", size, I64(1 << 53))
    double = builder.uitofp(builder.select(long, coarse, size), F64)
    return builder.select(negative, builder.fneg(double), double)
