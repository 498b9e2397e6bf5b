"""Type conversions: cvt of integers, f16 bf16 f32 f64, tf32, packed and 8-bit floats; and cvt.pack.

Conversion of a float to an integer saturates. A NaN becomes 0, or the integer with only the top bit set if the source
is f64 or the target has 64 bits. Between f64 and narrower floats a NaN keeps its sign and the top of its payload, and
is made quiet; other NaN results are canonical. All this was measured on an H200.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import Emit, Lowering, extend, halves, larger, pack, resize, smaller
from gpuregress.virtual_gpu.builder.structured import F32, F64, I8, I16, I32, I64
from gpuregress.virtual_gpu.isa.arithmetic.floating import directed
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import (
    BF16,
    E4M3,
    E5M2,
    F16,
    TF32,
    Format,
    canonical,
    flush,
    flush_by,
    is_nan,
    magnitude,
    narrow,
    propagate,
    relu,
    round_to,
    saturate,
    sticky_double,
    widen,
)
from gpuregress.virtual_gpu.ptx.modifiers import (
    BITS,
    integer_range,
    is_signed,
    modifier_among,
    rounding_of,
    unsupported,
)
from gpuregress.virtual_gpu.ptx.tree import Instruction

_FLOATS = ("f16", "bf16", "f32", "f64")
_SMALL = {"f16": F16, "bf16": BF16}
_PACKED_HALVES = {"f16x2": F16, "bf16x2": BF16}
_PACKED_BYTES = {"e4m3x2": E4M3, "e5m2x2": E5M2}
_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def _cvt(emit: Emit, instruction: Instruction) -> None:
    if instruction.modifiers[0] == "pack":
        _pack(emit, instruction)
        return
    target, source = instruction.modifiers[-2:]
    if source in _PACKED_BYTES:
        _from_bytes(emit, instruction)
    elif target in _PACKED_BYTES:
        _to_bytes(emit, instruction)
    elif target in _PACKED_HALVES:
        _to_halves(emit, instruction)
    elif target == "tf32":
        _to_tf32(emit, instruction)
    elif source in _FLOATS and target in _FLOATS:
        _float_to_float(emit, instruction)
    elif source in _FLOATS:
        _float_to_integer(emit, instruction)
    elif target in _FLOATS:
        _integer_to_float(emit, instruction)
    else:
        _integer_to_integer(emit, instruction)


# --- integers -------------------------------------------------------------------------------------------------------


def _integer_to_integer(emit: Emit, instruction: Instruction) -> None:
    target, source = instruction.modifiers[-2:]
    value = emit.read(instruction.operands[1], source)
    if "sat" in instruction.modifiers:
        value = _limited(emit, value, source, BITS[target], signed=is_signed(target))
    kind = ir.IntType(BITS[target])
    emit.write(instruction.operands[0], resize(emit, value, kind, signed=is_signed(source)), target)


def _limited(emit: Emit, value: ir.Value, source: str, bits: int, *, signed: bool) -> ir.Value:
    """An integer clamped to the range of another type of `bits` bits, still in its own width."""
    kind = value.type
    lowest, highest = integer_range(bits, signed=signed)
    own_highest = (1 << (kind.width - is_signed(source))) - 1
    if is_signed(source) and lowest > -(1 << (kind.width - 1)):
        value = larger(emit, value, kind(lowest), signed=True)
    if highest < own_highest:
        value = smaller(emit, value, kind(highest), signed=is_signed(source))
    return value


def _pack(emit: Emit, instruction: Instruction) -> None:
    """`cvt.pack.sat.TO.FROM{.b32}`: a and b saturated side by side, b lowest, above them the low bits of c."""
    builder = emit.builder
    target, source = instruction.modifiers[2:4]
    bits, signed = int(target[1:]), is_signed(target)
    parts = []
    for operand in instruction.operands[1:3]:
        limited = _limited(emit, emit.read(operand, source), source, bits, signed=signed)
        parts.append(builder.and_(limited, I32((1 << bits) - 1)))
    result = builder.or_(builder.shl(parts[0], I32(bits)), parts[1])
    if len(instruction.operands) > 3:
        above = emit.read(instruction.operands[3], "b32")
        result = builder.or_(result, builder.shl(above, I32(2 * bits)))
    emit.write(instruction.operands[0], result, "b32")


# --- between integers and floats ------------------------------------------------------------------------------------


def _read_float(emit: Emit, instruction: Instruction, source: str) -> ir.Value:
    """The source as f32 (f16, bf16 widened) or f64, flushed under `.ftz`."""
    value = emit.read(instruction.operands[1], source)
    if source in _SMALL:
        return widen(emit, value, _SMALL[source])
    if source == "f32" and "ftz" in instruction.modifiers:
        return flush(emit, value)
    return value


def _to_whole(emit: Emit, value: ir.Value, word: str) -> ir.Value:
    """A float rounded to a whole number under `rni`, `rzi`, `rmi` or `rpi`."""
    suffix = "f64" if value.type == F64 else "f32"
    return emit.intrinsic(f"llvm.{_TO_INTEGER[word]}.{suffix}", value.type, value)


def _float_to_integer(emit: Emit, instruction: Instruction) -> None:
    target, source = instruction.modifiers[-2:]
    word = modifier_among(instruction, _TO_INTEGER)
    if not word:
        raise unsupported(instruction, "it needs .rni, .rzi, .rmi or .rpi")
    value = _read_float(emit, instruction, source)
    whole = value
    if word != "rzi":  # LLVM's conversion cuts off.
        whole = _to_whole(emit, value, word)
    bits = BITS[target]
    kind = ir.IntType(bits)
    conversion = "fptosi" if is_signed(target) else "fptoui"
    suffix = "f64" if value.type == F64 else "f32"
    result = emit.intrinsic(f"llvm.{conversion}.sat.i{bits}.{suffix}", kind, whole)
    if bits == 64 or source == "f64":
        result = emit.builder.select(is_nan(emit, value), kind(1 << (bits - 1)), result)
    emit.write(instruction.operands[0], result, target)


def _integer_to_float(emit: Emit, instruction: Instruction) -> None:
    target, source = instruction.modifiers[-2:]
    value = emit.read(instruction.operands[1], source)
    signed, rounding = is_signed(source), rounding_of(instruction)
    if target == "f64":
        result = _integer_to_double(emit, value, rounding, signed=signed)
    elif target == "f32" and rounding == "rn":
        result = emit.builder.sitofp(value, F32) if signed else emit.builder.uitofp(value, F32)
    else:
        exact = sticky_double(emit, extend(emit, value, I64, signed=signed), signed=signed)
        if target in _SMALL:
            emit.write(instruction.operands[0], _round_small(emit, instruction, exact, target), target)
            return
        result = narrow(emit, exact, rounding)
    if "sat" in instruction.modifiers:
        result = saturate(emit, result)
    emit.write(instruction.operands[0], result, target)


def _integer_to_double(emit: Emit, value: ir.Value, rounding: str, *, signed: bool) -> ir.Value:
    builder = emit.builder
    if rounding == "rn" or value.type.width < 64:
        return builder.sitofp(value, F64) if signed else builder.uitofp(value, F64)
    # Both halves are exact; their sum is rounded once.
    high = builder.ashr(value, I64(32)) if signed else builder.lshr(value, I64(32))
    upper = builder.fmul(builder.sitofp(high, F64), F64(2.0**32))
    lower = builder.uitofp(builder.and_(value, I64(0xFFFFFFFF)), F64)
    return directed(emit, "fadd", rounding, upper, lower)


# --- floats ---------------------------------------------------------------------------------------------------------


def _round_small(emit: Emit, instruction: Instruction, exact: ir.Value, target: str) -> ir.Value:
    """The bits of an f16 or bf16 result, under `.sat`, `.relu`, `.satfinite`."""
    words = instruction.modifiers
    if "sat" in words:
        exact = saturate(emit, exact)
    if "relu" in words:
        exact = relu(emit, exact)
    return round_to(emit, exact, _SMALL[target], rounding_of(instruction), finite="satfinite" in words)


def _float_to_float(emit: Emit, instruction: Instruction) -> None:
    target, source = instruction.modifiers[-2:]
    value = _read_float(emit, instruction, source)
    word = modifier_among(instruction, _TO_INTEGER)
    if word:
        value = _to_whole(emit, value, word)
    if target in _SMALL:
        bits = _round_small(emit, instruction, value, target)
        if source == "f64":
            bits = _keep_nan(emit, instruction, bits)
        emit.write(instruction.operands[0], bits, target)
    elif target == "f32":
        emit.write(instruction.operands[0], _to_single(emit, instruction, value, source), target)
    elif "sat" in instruction.modifiers:
        wide = value
        if value.type != F64:
            wide = emit.builder.fpext(value, F64)
        emit.write(instruction.operands[0], saturate(emit, wide), target)
    elif source == "f64":
        emit.write(instruction.operands[0], propagate(emit, value, value), target)
    elif "ftz" in instruction.modifiers:
        wide = emit.builder.fpext(canonical(emit, value), F64)
        emit.write(instruction.operands[0], wide, target)
    else:
        bits = _keep_nan(emit, instruction, emit.builder.bitcast(emit.builder.fpext(value, F64), I64))
        emit.write(instruction.operands[0], emit.builder.bitcast(bits, F64), target)


_FIELDS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}


def _keep_nan(emit: Emit, instruction: Instruction, result: ir.Value) -> ir.Value:
    """A result's bits; of a NaN operand its sign and the top of its payload, the quiet bit set."""
    builder = emit.builder
    target, source = instruction.modifiers[-2:]
    (width_to, mantissa_to), (width_from, mantissa_from) = _FIELDS[target], _FIELDS[source]
    value = emit.read(instruction.operands[1], source)
    raw = value if source in _SMALL else builder.bitcast(value, ir.IntType(width_from))
    wide = extend(emit, raw, I64, signed=False)
    fraction = builder.and_(wide, I64((1 << mantissa_from) - 1))
    size = builder.and_(wide, I64((1 << (width_from - 1)) - 1))
    infinity = ((1 << (width_from - 1 - mantissa_from)) - 1) << mantissa_from
    nan = builder.icmp_unsigned(">", size, I64(infinity))
    moved = mantissa_to - mantissa_from
    payload = builder.shl(fraction, I64(moved)) if moved > 0 else builder.lshr(fraction, I64(-moved))
    sign = builder.shl(builder.lshr(wide, I64(width_from - 1)), I64(width_to - 1))
    head = ((1 << (width_to - mantissa_to)) - 1) << (mantissa_to - 1)  # exponent and quiet bit
    bits = builder.or_(builder.or_(payload, I64(head)), sign)
    return builder.select(nan, resize(emit, bits, result.type, signed=False), result)


def _to_single(emit: Emit, instruction: Instruction, value: ir.Value, source: str) -> ir.Value:
    """An f32 result: every NaN canonical, but bf16 is only moved up, so that its NaN keeps its payload."""
    if value.type == F64:
        exact = value
        value = narrow(emit, exact, rounding_of(instruction))
        if "ftz" in instruction.modifiers:
            value = flush_by(emit, value, exact, rounding_of(instruction))
    if "sat" in instruction.modifiers:
        return saturate(emit, value)
    if source == "f64":
        bits = _keep_nan(emit, instruction, emit.builder.bitcast(value, I32))
        return emit.builder.bitcast(bits, F32)
    if source == "bf16" and not modifier_among(instruction, _TO_INTEGER):
        bits = emit.read(instruction.operands[1], "bf16")
        moved = emit.builder.shl(emit.builder.zext(bits, I32), I32(16))
        return emit.builder.bitcast(moved, F32)
    return canonical(emit, value)


def _to_tf32(emit: Emit, instruction: Instruction) -> None:
    builder, words = emit.builder, instruction.modifiers
    value = emit.read(instruction.operands[1], "f32")
    if "relu" in words:
        value = relu(emit, value)
    if words[0] == "rna":
        emit.write(instruction.operands[0], _tf32_away(emit, value, finite="satfinite" in words), "b32")
        return
    bits = round_to(emit, value, TF32, rounding_of(instruction))
    emit.write(instruction.operands[0], builder.shl(builder.zext(bits, I32), I32(13)), "b32")


def _tf32_away(emit: Emit, value: ir.Value, *, finite: bool) -> ir.Value:
    """`cvt.rna{.satfinite}.tf32`: finite numbers plus half a step, the low bits truncated.

    As ptxas (CUDA 13.0, sm_90) writes it out, so that a NaN keeps some of its payload; `.satfinite` takes one step off
    what is not finite.
    """
    builder = emit.builder
    infinity = F32(float("inf"))
    bits = builder.bitcast(value, I32)
    added = builder.select(
        builder.fcmp_ordered("<", magnitude(emit, value), infinity), builder.add(bits, I32(0x1000)), bits
    )
    cut = builder.and_(added, I32(0xFFFFE000))
    if not finite:
        return cut
    over = builder.fcmp_unordered(">=", magnitude(emit, builder.bitcast(cut, F32)), infinity)
    return builder.select(over, builder.sub(cut, I32(0x2000)), cut)


def _to_halves(emit: Emit, instruction: Instruction) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half, b to the lower."""
    target = instruction.modifiers[-2].removesuffix("x2")
    upper, lower = (
        _round_small(emit, instruction, emit.read(operand, "f32"), target) for operand in instruction.operands[1:3]
    )
    emit.write(instruction.operands[0], pack(emit, lower, upper), "b32")


def _to_bytes(emit: Emit, instruction: Instruction) -> None:
    """Two f32, or an f16x2, as two eight-bit floats: a, or the upper half, goes to the upper byte."""
    builder = emit.builder
    target, source = instruction.modifiers[-2:]
    if source == "f32":
        upper, lower = (emit.read(operand, "f32") for operand in instruction.operands[1:3])
    else:
        low, high = halves(emit, emit.read(instruction.operands[1], source))
        form = _PACKED_HALVES[source]
        upper, lower = widen(emit, high, form), widen(emit, low, form)
    bytes_ = []
    for value in (lower, upper):
        exact = value
        if "relu" in instruction.modifiers:
            exact = relu(emit, value)
        bytes_.append(builder.zext(round_to(emit, exact, _PACKED_BYTES[target], "rn", finite=True), I16))
    packed = builder.or_(bytes_[0], builder.shl(bytes_[1], I16(8)))
    emit.write(instruction.operands[0], packed, "b16")


def _from_bytes(emit: Emit, instruction: Instruction) -> None:
    """Two eight-bit floats as an f16x2 or bf16x2: exact."""
    builder = emit.builder
    target, source = instruction.modifiers[-2:]
    form: Format = _PACKED_BYTES[source]
    packed = emit.read(instruction.operands[1], "b16")
    parts = []
    for byte in (builder.trunc(packed, I8), builder.trunc(builder.lshr(packed, I16(8)), I8)):
        value = widen(emit, byte, form)
        if "relu" in instruction.modifiers:
            value = relu(emit, value)
        parts.append(round_to(emit, value, _PACKED_HALVES[target], "rn"))
    emit.write(instruction.operands[0], pack(emit, parts[0], parts[1]), "b32")


TABLE: dict[str, Lowering] = {"cvt": _cvt}
