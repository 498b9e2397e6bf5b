"""Special-function unit: ex2 lg2 rcp rsqrt sqrt sin cos tanh with `.approx`, div by way of rcp.

Tables and rules were measured on an H200 over all inputs (../data/sm_90). A table holds the result for every mantissa
at one exponent; the functions here scale an operand to that exponent and scale the result back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, read_all
from gpuregress.virtual_gpu.builder.structured import F32, F64, I32, I64
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import (
    NAN_F32,
    SMALLEST_NORMAL_F32,
    bits_of,
    canonical,
    float_of,
    flush,
    flush_by,
    is_nan,
    magnitude,
    narrow,
)
from gpuregress.virtual_gpu.ptx.modifiers import type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Float, Instruction

_INFINITY = 0x7F800000
_SIGN = 0x80000000
_MANTISSA = 0x7FFFFF
_DIGITS = 23


# --- pieces ---------------------------------------------------------------------------------------------------------


def _look_up(emit: Emit, table: ir.Value, index: ir.Value) -> ir.Value:
    """Load entry `index` (i32) of a table: the bits of an f32."""
    builder = emit.builder
    pointer = builder.gep(table, [builder.zext(index, I64)], source_etype=I32)
    return builder.load(pointer, typ=I32)


def _scale(emit: Emit, bits: ir.Value, power: ir.Value, digits: int = _DIGITS) -> ir.Value:
    """A positive normal float's bits times 2^power: 0 below the normal range, infinity above.

    Args:
        emit: the function being lowered.
        bits: of an f32, or the high word of an f64.
        power: i32.
        digits: bits of the mantissa in `bits`.
    """
    builder = emit.builder
    largest = (1 << (31 - digits)) - 1
    exponent = builder.add(builder.lshr(bits, I32(digits)), power)
    moved = builder.or_(builder.and_(bits, I32((1 << digits) - 1)), builder.shl(exponent, I32(digits)))
    high = builder.icmp_signed(">=", exponent, I32(largest))
    low = builder.icmp_signed("<=", exponent, I32(0))
    return builder.select(low, I32(0), builder.select(high, I32(largest << digits), moved))


def _choose(emit: Emit, otherwise: ir.Value, *cases: tuple[ir.Value, ir.Value]) -> ir.Value:
    """The value of the first case whose condition holds."""
    for condition, value in reversed(cases):
        otherwise = emit.builder.select(condition, value, otherwise)
    return otherwise


class _Number:
    """Sign, exponent and mantissa of an f32, or of the high word of an f64, and predicates on it.

    Args:
        emit: the function being lowered.
        bits: i32.
        digits: bits of the mantissa among them.
    """

    def __init__(self, emit: Emit, bits: ir.Value, digits: int = _DIGITS) -> None:
        builder = emit.builder
        highest = (1 << 31 - digits) - 1
        self.bits, self.digits, self.infinity = bits, digits, I32(highest << digits)
        self.size = builder.and_(bits, I32(0x7FFFFFFF))
        self.sign = builder.and_(bits, I32(_SIGN))
        self.mantissa = builder.and_(bits, I32((1 << digits) - 1))
        self.exponent = builder.sub(builder.lshr(self.size, I32(digits)), I32(highest >> 1))
        self.negative = builder.icmp_signed("<", bits, I32(0))
        self.nan = builder.icmp_unsigned(">", self.size, self.infinity)
        self.infinite = builder.icmp_unsigned("==", self.size, self.infinity)
        self.zero = builder.icmp_unsigned("<", self.size, I32(1 << digits))  # subnormals count as zeros

    def odd(self, emit: Emit) -> tuple[ir.Value, ir.Value]:
        """The exponent's last bit, and half of the rest."""
        builder = emit.builder
        parity = builder.and_(self.exponent, I32(1))
        return parity, builder.ashr(builder.sub(self.exponent, parity), I32(1))


# --- the .ftz forms -------------------------------------------------------------------------------------------------


def _ex2(emit: Emit, value: ir.Value) -> ir.Value:
    builder, x = emit.builder, _Number(emit, bits_of(emit, value))
    size = magnitude(emit, value)
    # |x| * 2^23 truncated: an integer that fits, for all the results that are neither 0 nor infinity.
    bounded = builder.select(builder.fcmp_ordered("<", size, F32(256.0)), size, F32(0.0))
    k = builder.fptosi(builder.fmul(bounded, F32(2.0**23)), I64)
    whole = builder.icmp_signed("==", builder.and_(k, I64(_MANTISSA)), I64(0))
    below = builder.select(whole, builder.neg(k), builder.sub(builder.neg(k), I64(1)))
    fixed = builder.select(x.negative, below, k)
    index = builder.trunc(builder.and_(fixed, I64(_MANTISSA)), I32)
    power = builder.trunc(builder.ashr(fixed, I64(23)), I32)
    return float_of(
        emit,
        _choose(
            emit,
            _scale(emit, _look_up(emit, emit.table("ex2"), index), power),
            (x.nan, I32(NAN_F32)),
            (x.zero, I32(0x3F800000)),
            (builder.fcmp_ordered(">=", value, F32(128.0)), I32(_INFINITY)),
            (builder.fcmp_ordered("<=", value, F32(-150.0)), I32(0)),
        ),
    )


def _rcp(emit: Emit, value: ir.Value) -> ir.Value:
    return float_of(emit, _reciprocal_bits(emit, _Number(emit, bits_of(emit, value)), "rcp_0"))


def _reciprocal_bits(emit: Emit, x: _Number, table: str) -> ir.Value:
    entry = _look_up(emit, emit.table(table), x.mantissa)
    scaled = _scale(emit, entry, emit.builder.neg(x.exponent), x.digits)
    size = _choose(emit, scaled, (x.zero, x.infinity), (x.infinite, I32(0)))
    return emit.builder.select(x.nan, I32(NAN_F32), emit.builder.or_(size, x.sign))


def _constant_rcp(emit: Emit, value: ir.Value) -> ir.Value:
    """The reciprocal of a constant as ptxas (CUDA 13.0) computes it: correctly rounded; the unit's may be one off."""
    return flush(emit, emit.builder.fdiv(F32(1.0), flush(emit, value)))


def _by_parity(emit: Emit, mantissa: ir.Value, name: str, parity: ir.Value) -> ir.Value:
    """Load from table `NAME_0` or `NAME_1` by the exponent's parity; the address is selected, so only one is read."""
    even = emit.builder.icmp_signed("==", parity, I32(0))
    return _look_up(emit, emit.builder.select(even, emit.table(f"{name}_0"), emit.table(f"{name}_1")), mantissa)


def _rsqrt(emit: Emit, value: ir.Value) -> ir.Value:
    return float_of(emit, _inverse_root_bits(emit, _Number(emit, bits_of(emit, value)), "rsqrt"))


def _inverse_root_bits(emit: Emit, x: _Number, table: str) -> ir.Value:
    parity, half = x.odd(emit)
    scaled = _scale(emit, _by_parity(emit, x.mantissa, table, parity), emit.builder.neg(half), x.digits)
    return _choose(
        emit,
        scaled,
        (x.nan, I32(NAN_F32)),
        (x.zero, emit.builder.or_(x.sign, x.infinity)),
        (x.negative, I32(NAN_F32)),
        (x.infinite, I32(0)),
    )


def _sqrt(emit: Emit, value: ir.Value) -> ir.Value:
    x = _Number(emit, bits_of(emit, value))
    parity, half = x.odd(emit)
    scaled = _scale(emit, _by_parity(emit, x.mantissa, "sqrt", parity), half)
    cases = ((x.nan, I32(NAN_F32)), (x.zero, x.sign))
    rest = ((x.negative, I32(NAN_F32)), (x.infinite, I32(_INFINITY)))
    return float_of(emit, _choose(emit, scaled, *cases, *rest))


def _lg2(emit: Emit, value: ir.Value) -> ir.Value:
    builder, x = emit.builder, _Number(emit, bits_of(emit, value))
    above = builder.icmp_signed(">=", x.exponent, I32(0))
    base = builder.select(above, emit.table("lg2_e0"), emit.table("lg2_e-1"))
    entry = float_of(emit, _look_up(emit, base, x.mantissa))
    added = builder.select(above, x.exponent, builder.add(x.exponent, I32(1)))
    total = builder.fadd(builder.sitofp(added, F64), builder.fpext(entry, F64))
    alone = builder.icmp_signed("==", added, I32(0))  # -0 would not survive the sum
    result = bits_of(emit, builder.select(alone, entry, narrow(emit, total, "rz")))
    cases = ((x.nan, I32(NAN_F32)), (x.zero, I32(_SIGN | _INFINITY)))
    rest = ((x.negative, I32(NAN_F32)), (x.infinite, I32(_INFINITY)))
    return float_of(emit, _choose(emit, result, *cases, *rest))


def _quadrant(emit: Emit, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Reduce |x| / 2π to its quadrant (0 to 3) and the 23 bits of the fraction of a quadrant."""
    builder = emit.builder
    # The product is exact in f64; rounding it toward zero is part of the unit.
    wide = builder.fmul(builder.fpext(magnitude(emit, value), F64), F64(_ONE_TURN))
    turns = flush(emit, narrow(emit, wide, "rz"))
    fraction = builder.fsub(turns, emit.intrinsic("llvm.floor.f32", F32, turns))
    position = builder.fmul(fraction, F32(2.0**25))
    inside = builder.fcmp_ordered("<", position, F32(2.0**25))  # false for a NaN, which has no integer
    steps = builder.fptosi(builder.select(inside, position, F32(0.0)), I32)
    return builder.lshr(steps, I32(23)), builder.and_(steps, I32(_MANTISSA))


_ONE_TURN = 0.15915493667125702  # 0x3e22f983, the f32 nearest to 1 / 2π


def _wave(emit: Emit, value: ir.Value, table: str, falling: tuple[int, int], negative: tuple[int, int]) -> ir.Value:
    """An entry of a quarter wave: mirrored in the quadrants `falling`, its sign changed in those of `negative`."""
    builder = emit.builder
    quadrant, step = _quadrant(emit, value)

    def among(quadrants: tuple[int, int]) -> ir.Value:
        first, second = (builder.icmp_signed("==", quadrant, I32(number)) for number in quadrants)
        return builder.or_(first, second)

    index = builder.select(among(falling), builder.xor(step, I32(_MANTISSA)), step)
    sign = builder.select(among(negative), I32(_SIGN), I32(0))
    return builder.xor(_look_up(emit, emit.table(table), index), sign)


def _sin(emit: Emit, value: ir.Value) -> ir.Value:
    builder, x = emit.builder, _Number(emit, bits_of(emit, value))
    result = builder.xor(_wave(emit, value, "sin_q1", (1, 3), (2, 3)), x.sign)
    invalid = builder.or_(x.nan, x.infinite)
    return float_of(emit, _choose(emit, result, (invalid, I32(NAN_F32)), (x.zero, x.sign)))


def _cos(emit: Emit, value: ir.Value) -> ir.Value:
    builder, x = emit.builder, _Number(emit, bits_of(emit, value))
    result = _wave(emit, value, "cos_q1", (1, 3), (1, 2))
    invalid = builder.or_(x.nan, x.infinite)
    return float_of(emit, _choose(emit, result, (invalid, I32(NAN_F32)), (x.zero, I32(0x3F800000))))


_TANH_SHIFTS = (6, 6, 6, 5, 5, 4, 4, 4, 3, 2, 3)
_TANH_STARTS = (0, 131072, 262144, 393216, 655360, 917504, 1441792, 1966080, 2490368, 3538944, 5636096)


def tanh_f32(emit: Emit, value: ir.Value) -> ir.Value:
    """The unit's tanh."""
    builder, x = emit.builder, _Number(emit, bits_of(emit, value))
    shift: ir.Value = I32(_TANH_SHIFTS[0])
    start: ir.Value = I32(_TANH_STARTS[0])
    for exponent, (bits, first) in enumerate(zip(_TANH_SHIFTS[1:], _TANH_STARTS[1:], strict=True), start=-7):
        reached = builder.icmp_signed(">=", x.exponent, I32(exponent))
        shift = builder.select(reached, I32(bits), shift)
        start = builder.select(reached, I32(first), start)
    small = builder.icmp_signed("<", x.exponent, I32(-8))
    large = builder.icmp_signed(">=", x.exponent, I32(3))
    outside = builder.or_(small, large)
    index = builder.select(outside, I32(0), builder.add(start, builder.lshr(x.mantissa, shift)))
    size = _choose(emit, _look_up(emit, emit.table("tanh"), index), (small, x.size), (large, I32(0x3F800000)))
    return float_of(emit, builder.select(x.nan, I32(NAN_F32), builder.or_(size, x.sign)))


# --- the forms without .ftz -----------------------------------------------------------------------------------------

_Unit = Callable[[Emit, ir.Value], ir.Value]


def _subnormal(emit: Emit, value: ir.Value) -> ir.Value:
    """Whether 0 < |x| < 2^-126; zero counts too, since scaling it changes nothing."""
    return emit.builder.fcmp_ordered("<", magnitude(emit, value), F32(SMALLEST_NORMAL_F32))


def _scaled(emit: Emit, value: ir.Value, condition: ir.Value, factor: float) -> ir.Value:
    """A number times a constant where the condition holds; a NaN stays one."""
    builder = emit.builder
    return builder.select(condition, builder.fmul(value, F32(factor)), value)


def ex2_f32(emit: Emit, value: ir.Value) -> ir.Value:
    """The unit's power of two, subnormal results included."""
    builder = emit.builder
    low = builder.fcmp_ordered("<", value, F32(-126.0))
    result = _ex2(emit, _scaled(emit, value, low, 0.5))
    return builder.select(low, builder.fmul(result, result), result)


def _rcp_full(emit: Emit, value: ir.Value) -> ir.Value:
    builder = emit.builder
    small = _subnormal(emit, value)
    large = builder.fcmp_ordered(">", magnitude(emit, value), F32(2.0**126))
    result = _rcp(emit, _scaled(emit, _scaled(emit, value, small, 2.0**24), large, 0.25))
    return _scaled(emit, _scaled(emit, result, small, 2.0**24), large, 0.25)


def _rsqrt_full(emit: Emit, value: ir.Value) -> ir.Value:
    small = _subnormal(emit, value)
    return _scaled(emit, _rsqrt(emit, _scaled(emit, value, small, 2.0**24)), small, 4096.0)


def _sqrt_full(emit: Emit, value: ir.Value) -> ir.Value:
    small = _subnormal(emit, value)
    return _scaled(emit, _sqrt(emit, _scaled(emit, value, small, 2.0**24)), small, 1 / 4096)


def _lg2_full(emit: Emit, value: ir.Value) -> ir.Value:
    builder = emit.builder
    small = _subnormal(emit, value)
    result = _lg2(emit, _scaled(emit, value, small, 2.0**24))
    return builder.select(small, builder.fsub(result, F32(24.0)), result)


# --- instructions ---------------------------------------------------------------------------------------------------


def _unary(emit: Emit, instruction: Instruction, flushed: _Unit, full: _Unit) -> None:
    if type_of(instruction) != "f32" or "approx" not in instruction.modifiers:
        raise unsupported(instruction)
    (value,) = read_all(emit, instruction, "f32")
    unit = flushed if "ftz" in instruction.modifiers else full
    emit.write(instruction.operands[0], canonical(emit, unit(emit, value)), "f32")


ex2 = partial(_unary, flushed=_ex2, full=ex2_f32)
"""`ex2.approx{.ftz}.f32`."""
lg2 = partial(_unary, flushed=_lg2, full=_lg2_full)
"""`lg2.approx{.ftz}.f32`."""
sqrt = partial(_unary, flushed=_sqrt, full=_sqrt_full)
"""`sqrt.approx{.ftz}.f32`."""
sin = partial(_unary, flushed=_sin, full=_sin)
"""`sin.approx{.ftz}.f32`."""
cos = partial(_unary, flushed=_cos, full=_cos)
"""`cos.approx{.ftz}.f32`."""
tanh = partial(_unary, flushed=tanh_f32, full=tanh_f32)
"""`tanh.approx.f32`."""


def reciprocal(emit: Emit, value: ir.Value) -> ir.Value:
    """1 / value as `rcp.approx.ftz.f32` gives it."""
    return _rcp(emit, value)


def rcp(emit: Emit, instruction: Instruction) -> None:
    """`rcp.approx{.ftz}.f32`, `rcp.approx.ftz.f64`."""
    if type_of(instruction) == "f64":
        _high_word(emit, instruction, _rcp64)
    elif isinstance(instruction.operands[1], Float):
        _unary(emit, instruction, _constant_rcp, lambda emit, value: emit.builder.fdiv(F32(1.0), value))
    else:
        _unary(emit, instruction, _rcp, _rcp_full)


def rsqrt(emit: Emit, instruction: Instruction) -> None:
    """`rsqrt.approx{.ftz}.f32`, `rsqrt.approx.ftz.f64`, `rsqrt.approx.f64`."""
    if type_of(instruction) == "f64" and "ftz" in instruction.modifiers:
        _high_word(emit, instruction, _rsqrt64)
    elif type_of(instruction) == "f64":
        _refined_rsqrt(emit, instruction)
    else:
        _unary(emit, instruction, _rsqrt, _rsqrt_full)


def divide(emit: Emit, instruction: Instruction) -> None:
    """`div.approx{.ftz}.f32`, `div.full{.ftz}.f32`: a times the unit's reciprocal of b, both scaled into its range.

    As ptxas (CUDA 13.0, sm_90) makes it: only `.full` scales large divisors, only the forms without `.ftz` small ones.
    It computes the reciprocal of a constant itself.
    """
    builder, flushed = emit.builder, "ftz" in instruction.modifiers
    a, b = read_all(emit, instruction, "f32")
    if flushed:
        a, b = flush(emit, a), flush(emit, b)
    scalings = []
    if "full" in instruction.modifiers:
        scalings.append((builder.fcmp_ordered(">", magnitude(emit, b), F32(2.0**126)), 0.25))
    if not flushed:
        scalings.append((_subnormal(emit, b), 2.0**24))
    for condition, factor in scalings:
        a, b = _scaled(emit, a, condition, factor), _scaled(emit, b, condition, factor)
    if flushed:
        a, b = flush(emit, a), flush(emit, b)
    is_constant = isinstance(instruction.operands[2], Float)
    reciprocal = _constant_rcp(emit, b) if is_constant else _rcp(emit, b)
    result = builder.fmul(a, reciprocal)
    if flushed:
        result = flush_by(emit, result, builder.fmul(builder.fpext(a, F64), builder.fpext(reciprocal, F64)))
    emit.write(instruction.operands[0], canonical(emit, result), "f32")


# --- double precision: the unit sees the high word only -------------------------------------------------------------

_DIGITS_64 = 20
"""Bits of the mantissa in the high word of a double."""


def _high_word(emit: Emit, instruction: Instruction, unit: Callable[[Emit, ir.Value], ir.Value]) -> None:
    (value,) = read_all(emit, instruction, "f64")
    emit.write(instruction.operands[0], _joined(emit, unit(emit, _high(emit, value))), "f64")


def _high(emit: Emit, value: ir.Value) -> ir.Value:
    return emit.builder.trunc(emit.builder.lshr(bits_of(emit, value), I64(32)), I32)


def _joined(emit: Emit, high: ir.Value) -> ir.Value:
    return float_of(emit, emit.builder.shl(emit.builder.zext(high, I64), I64(32)))


def _rcp64(emit: Emit, high: ir.Value) -> ir.Value:
    return _reciprocal_bits(emit, _Number(emit, high, _DIGITS_64), "rcp64h")


def _rsqrt64(emit: Emit, high: ir.Value) -> ir.Value:
    return _inverse_root_bits(emit, _Number(emit, high, _DIGITS_64), "rsqrt64h")


def _refined_rsqrt(emit: Emit, instruction: Instruction) -> None:
    """`rsqrt.approx.f64`: the unit's 20 bits and one step of a cubic iteration, as ptxas (CUDA 13.0) writes it out."""
    builder = emit.builder
    (value,) = read_all(emit, instruction, "f64")
    bits = bits_of(emit, value)
    high = _high(emit, value)
    # Unsigned, so that zeros, subnormals, negatives, infinities and NaNs all lie outside.
    usual = builder.icmp_unsigned("<", builder.sub(high, I32(0x100000)), I32(0x7FE00000))
    tiny = builder.icmp_unsigned("<", builder.sub(bits, I64(1)), I64((1 << 52) - 1))
    scaled = builder.select(tiny, builder.fmul(value, F64(2.0**54)), value)
    root = _joined(emit, _rsqrt64(emit, _high(emit, scaled)))
    error = emit.intrinsic("llvm.fma.f64", F64, scaled, builder.fneg(builder.fmul(root, root)), F64(1.0))
    weight = emit.intrinsic("llvm.fma.f64", F64, error, F64(0.375), F64(0.5))
    refined = emit.intrinsic("llvm.fma.f64", F64, weight, builder.fmul(root, error), root)
    refined = builder.select(tiny, builder.fmul(refined, F64(2.0**27)), refined)
    quiet = float_of(emit, builder.or_(bits, I64(0x0008000000000000)))
    invalid = float_of(emit, I64(0xFFF8000000000000))
    zero = builder.fcmp_ordered("==", value, F64(0.0))
    infinite = float_of(emit, builder.or_(builder.and_(bits, I64(1 << 63)), I64(0x7FF0000000000000)))
    special = _choose(
        emit,
        F64(0.0),
        (zero, infinite),
        (is_nan(emit, value), quiet),
        (builder.icmp_signed("<", bits, I64(0)), invalid),
    )
    emit.write(instruction.operands[0], builder.select(builder.or_(usual, tiny), refined, special), "f64")
