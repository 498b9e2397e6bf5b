"""Texels of a texture, and their filtering."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from llvmlite import ir

from gpuregress.gpu.descriptors import FORMATS
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.structured import (
    F32,
    F64,
    I1,
    I32,
    I64,
    POINTER,
    at,
    call_intrinsic,
    counted,
    i32,
    i64,
    subroutine,
)

# --- texels -----------------------------------------------------------------------------------------------------------


_Values = tuple[ir.Value, ...]


@subroutine("texture.channel", I32)
def channel(b: ir.IRBuilder, pointer: ir.Value, format_: ir.Value, normalized: ir.Value) -> ir.Value:
    """`(pointer, format, normalized) → bits`: read and convert one channel."""
    done = b.append_basic_block("done")
    choice = b.switch(format_, done)
    incoming = [(i32(0), b.block)]
    for number, name in enumerate(FORMATS):
        block = b.append_basic_block(name)
        choice.add_case(i64(number), block)
        b.position_at_end(block)
        incoming.append((_converted(b, pointer, name, normalized), b.block))
        b.branch(done)
    b.position_at_end(done)
    bits = b.phi(I32)
    for value, block in incoming:
        bits.add_incoming(value, block)
    return bits


def raw(b: ir.IRBuilder, pointer: ir.Value, name: str) -> ir.Value:
    """A channel's value: an integer extended to 32 bits, or a float's bits as a float32."""
    if name.endswith("32"):
        return b.load(pointer, typ=I32, align=4)
    bits = 8 if name.endswith("8") else 16
    value = b.load(pointer, typ=ir.IntType(bits), align=bits // 8)
    if name == "float16":
        return _widened_half(b, value)
    return b.zext(value, I32) if name.startswith("u") else b.sext(value, I32)


def _converted(b: ir.IRBuilder, pointer: ir.Value, name: str, normalized: ir.Value) -> ir.Value:
    value = raw(b, pointer, name)
    if name.endswith("32") or name == "float16":
        return value
    bits = 8 if name.endswith("8") else 16
    largest = F32(float((1 << bits - (not name.startswith("u"))) - 1))
    share = b.fdiv(b.sitofp(value, F32), largest)
    share = b.select(b.fcmp_ordered("<", share, F32(-1.0)), F32(-1.0), share)
    return b.select(normalized, b.bitcast(share, I32), value)


def _widened_half(b: ir.IRBuilder, half: ir.Value) -> ir.Value:
    """A float16's value as a float32's bits: the exponent moves by a product with 2^112, exact for subnormals too."""
    bits = b.zext(half, I32)
    magnitude = b.shl(b.and_(bits, i32(0x7FFF)), i32(13))
    moved = b.bitcast(b.fmul(b.bitcast(magnitude, F32), i32(0x77800000).bitcast(F32)), I32)
    special = b.icmp_unsigned(">=", magnitude, i32(0x7C00 << 13))
    value = b.select(special, b.or_(magnitude, i32(0x7F800000)), moved)
    return b.or_(value, b.shl(b.and_(bits, i32(0x8000)), i32(16)))


# --- filtering --------------------------------------------------------------------------------------------------------
# Linear texture filtering, bit for bit as an H100 and an H200 do it.
#
# Measured; docs/how-to/textures.md has the evidence.
#
# 1. A fraction is an integer a of 256. One axis: the weights are 256 - a and a. Two axes: w11 = round(a b / 256), half
# up, and the others by subtraction: w10 = a - w11, w01 = b - w11, w00 = 256 - a - b + w11. Three axes: 256 is split
# along z into 256 - c and c; each v of them along x into `hi = round(v a / 256)`, half up, and v - hi; each of these
# along y likewise, but half down for the texels at x = 0. 2. Floats. Subnormal float32 count as 0. m is the greatest
# exponent of the texels that are not 0 and whose weight is    not 0. Each texel is truncated toward zero to a multiple
# of 2^(m - 27), a float16 of 2^(m - 14), multiplied by its    weight and added exactly. The sum is rounded once, half
# away from zero, to a float32 (subnormal ones to 0) or a    float16. 3. Three axes: the planes at both z are summed
# apart, each with its own m. Both sums are floored to a multiple of the    unit of the greater one, in steps of four
# exponents: 2^(4 floor((m - 1) / 4) - 34), for float16 - 21 in place of    - 34. Then they are added and rounded. 4. A
# zero is -0 if every term is negative; a texel that is not 0, times a weight of 0, is a positive term. A texel with
# a fraction of 0 on its side is no term. An infinity or NaN is the result even at weight 0; both infinities give a
# NaN. 5. Normalized integers: P = the sum of texel times weight. Unsigned: an 8-bit P is multiplied by 257; then P /
# 256,    rounded half up, is divided by 65535. Signed of 8 bits: (258 P + 32 floor(P / 4096)) / 256; of 16 bits: P /
# 256; both    rounded half up, at least -32767, and divided by 32767.


WHOLE = 256
"""The sum of all weights."""
KINDS = ("float32", "float16", "uint8", "int8", "uint16", "int16")
"""Formats whose texels can be filtered; the integers as normalized floats."""
_ROUND_TO_FLOAT, _ROUND_TO_HALF = 53 - 24, 53 - 11
_LEAST_NORMAL, _LEAST_NORMAL_HALF = 2.0**-126, 2.0**-14
_HALF_STEPS = 2.0**24
"""Subnormal float16 in 1."""
_THREE_AXES = 8
"""Corners of a cell in three axes."""


def corners(axes: int) -> list[tuple[int, ...]]:
    """The steps along x, y, z to each corner of a cell; those of the first plane first."""
    return [steps[::-1] for steps in product((0, 1), repeat=axes)]


def weights(b: ir.IRBuilder, fractions: Sequence[ir.Value]) -> list[ir.Value]:
    """The weight (i32) of each corner, in the order of `corners`."""
    a, *others = fractions
    if not others:
        return [b.sub(i32(WHOLE), a), a]
    if len(others) == 1:
        both = _part(b, a, others[0], WHOLE // 2)
        left, right = b.sub(i32(WHOLE), a), a
        upper = b.sub(others[0], both)
        return [b.sub(left, upper), b.sub(right, both), upper, both]
    found = []
    for plane in (b.sub(i32(WHOLE), others[1]), others[1]):
        right = _part(b, plane, a, WHOLE // 2)
        left = b.sub(plane, right)
        lower_left = _part(b, left, others[0], WHOLE // 2 - 1)
        lower_right = _part(b, right, others[0], WHOLE // 2)
        found += [b.sub(left, lower_left), b.sub(right, lower_right), lower_left, lower_right]
    return found


def _part(b: ir.IRBuilder, value: ir.Value, fraction: ir.Value, rounding: int) -> ir.Value:
    return b.lshr(b.add(b.mul(value, fraction), i32(rounding)), i32(8))


@subroutine(lambda kind, count: f"texture.blend.{kind}.{count}")
def blend(
    kind: str,
    count: int,
    b: ir.IRBuilder,
    pointers: ir.Value,
    shares: ir.Value,
    stride: ir.Value,
    channels: ir.Value,
    out: ir.Value,
) -> None:
    """`(pointers, weights, stride, channels: i64, out) → 0`: the weighted sum of some texels, channel by channel.

    Args:
        kind: of `KINDS`.
        count: texels: 2, 4 or 8; 1 for a texel that is only converted.
    """
    lanes = _Lanes(b, count)
    weight = b.load(shares, typ=lanes.integers, align=4)
    first = [b.load(at(b, pointers, 8 * index), typ=POINTER, align=8) for index in range(count)]
    with counted(b, channels) as channel:
        offset = b.mul(channel, stride)
        values = lanes.join([raw(b, at(b, pointer, offset), kind) for pointer in first])
        mixed = _float if kind.startswith("float") else _integer
        b.store(mixed(lanes, kind, values, weight), at(b, out, b.shl(channel, i64(2))))


# --- vectors with a texel in each lane --------------------------------------------------------------------------------


class _Lanes(Record):
    """Vectors of some texels.

    Attributes:
        b: the subroutine's builder.
        count: lanes.
    """

    b: ir.IRBuilder
    count: int

    @property
    def integers(self) -> ir.VectorType:
        """The type of 32-bit integers."""
        return ir.VectorType(I32, self.count)

    def join(self, values: list[ir.Value]) -> ir.Value:
        """A vector of 32-bit integers."""
        vector: ir.Value = ir.Constant(self.integers, ir.Undefined)
        for index, value in enumerate(values):
            vector = self.b.insert_element(vector, value, i32(index))
        return vector

    def all(self, value: int) -> ir.Constant:
        """A constant in every lane."""
        return ir.Constant(self.integers, [i32(value)] * self.count)

    def each(self, value: ir.Value) -> ir.Value:
        """A value in every lane."""
        return self.join([value] * self.count)

    def slice(self, vector: ir.Value, first: int, count: int) -> ir.Value:
        """Some of the lanes."""
        mask = ir.Constant(ir.VectorType(I32, count), [i32(first + index) for index in range(count)])
        return self.b.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)

    def largest(self, vector: ir.Value) -> ir.Value:
        """The greatest of the lanes, unsigned."""
        return self._reduced("umax", vector)

    def sum(self, vector: ir.Value) -> ir.Value:
        """The sum of the lanes."""
        return self._reduced("add", vector)

    def any(self, flags: ir.Value) -> ir.Value:
        """Whether a lane of flags (i1) is set."""
        return call_intrinsic(self.b, f"llvm.vector.reduce.or.v{self.count}i1", I1, flags)

    def _reduced(self, name: str, vector: ir.Value) -> ir.Value:
        return call_intrinsic(self.b, f"llvm.vector.reduce.{name}.v{vector.type.count}i32", I32, vector)

    def real(self, name: str, value: ir.Value) -> ir.Value:
        """An LLVM intrinsic of one double."""
        return call_intrinsic(self.b, f"llvm.{name}.f64", F64, value)


# --- integers ---------------------------------------------------------------------------------------------------------


def _integer(lanes: _Lanes, kind: str, values: ir.Value, weight: ir.Value) -> ir.Value:
    """The bits of a blended normalized integer."""
    b = lanes.b
    total = lanes.sum(b.mul(values, weight))
    if kind == "uint8":
        total = b.mul(total, i32(257))
    if kind == "int8":
        total = b.add(b.mul(total, i32(258)), b.shl(b.ashr(total, i32(12)), i32(5)))
    rounded = b.add(total, i32(WHOLE // 2))
    if kind.startswith("u"):
        share = b.fdiv(b.uitofp(b.lshr(rounded, i32(8)), F32), F32(65535.0))
        return b.bitcast(share, I32)
    whole = b.ashr(rounded, i32(8))
    whole = b.select(b.icmp_signed("<", whole, i32(-32767)), i32(-32767), whole)
    return b.bitcast(b.fdiv(b.sitofp(whole, F32), F32(32767.0)), I32)


# --- floats -----------------------------------------------------------------------------------------------------------


def _float(lanes: _Lanes, kind: str, values: ir.Value, weight: ir.Value) -> ir.Value:
    """The bits of a blended float."""
    b, half = lanes.b, kind == "float16"
    exponents = b.and_(b.lshr(values, lanes.all(23)), lanes.all(0xFF))
    special = b.icmp_unsigned("==", lanes.largest(exponents), i32(0xFF))
    with b.if_else(special) as (is_special, is_finite):
        with is_special:
            of_special = _special(lanes, values, half=half)
            special_end = b.block
        with is_finite:
            of_finite = _finite(lanes, values, exponents, weight, half=half)
            finite_end = b.block
    result = b.phi(I32)
    result.add_incoming(of_special, special_end)
    result.add_incoming(of_finite, finite_end)
    return result


def _special(lanes: _Lanes, values: ir.Value, *, half: bool) -> ir.Value:
    """A NaN or an infinity."""
    b = lanes.b
    infinity = 0x7F800000
    size = b.and_(values, lanes.all(0x7FFFFFFF))
    nan = lanes.any(b.icmp_unsigned(">", size, lanes.all(infinity)))
    up = lanes.any(b.icmp_unsigned("==", values, lanes.all(infinity)))
    down = lanes.any(b.icmp_unsigned("==", values, lanes.all(infinity | 1 << 31)))
    infinite = b.select(up, i32(infinity), i32(infinity | 1 << 31))
    no_number = 0x7FFFE000 if half else 0x7FFFFFFF
    return b.select(b.or_(nan, b.and_(up, down)), i32(no_number), infinite)


def _finite(lanes: _Lanes, values: ir.Value, exponents: ir.Value, weight: ir.Value, *, half: bool) -> ir.Value:
    b = lanes.b
    zero = b.icmp_unsigned("==", exponents, lanes.all(0))
    fraction = b.or_(b.and_(values, lanes.all(0x7FFFFF)), lanes.all(1 << 23))
    significands = b.select(zero, lanes.all(0), fraction)
    idle = b.icmp_unsigned("==", weight, lanes.all(0))
    counting = b.select(idle, lanes.all(0), exponents)
    aligned = b.lshr(significands, lanes.all(9)) if half else b.shl(significands, lanes.all(4))
    size = min(lanes.count, _THREE_AXES // 2)
    planes = []
    for first in range(0, lanes.count, size):
        parts = [lanes.slice(item, first, size) for item in (values, exponents, counting, aligned, weight)]
        planes.append(_plane(lanes, *parts))
    # A texel of exponent E and its weight: units of 2^(E - 127 - 27 - 8), of a float16 2^(E - 127 - 14 - 8).
    total, exponent = planes[0]
    if len(planes) > 1:
        total, exponent = _joined(lanes, planes)
    shift = 22 if half else 35
    unit = _power_of_two(b, b.sub(exponent, i32(127 + shift)))
    nonzero = b.fcmp_ordered("!=", total, F64(0.0))
    positive = lanes.any(
        b.or_(b.icmp_signed(">=", values, lanes.all(0)), b.and_(idle, b.icmp_unsigned("!=", exponents, lanes.all(0))))
    )
    signless = b.select(positive, i32(0), i32(1 << 31))
    rounded = _rounded_to_half(lanes, total, unit) if half else _rounded_to_float(lanes, total, unit)
    return b.select(nonzero, b.bitcast(rounded, I32), signless)


def _plane(
    lanes: _Lanes, values: ir.Value, exponents: ir.Value, counting: ir.Value, aligned: ir.Value, weight: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The exact sum (double) of the aligned and truncated texels, and the exponent (i32) to which they are aligned."""
    b, count = lanes.b, values.type.count
    narrow = _Lanes(b, count)
    greatest = narrow.largest(counting)
    distance = b.sub(narrow.each(greatest), exponents)
    distance = b.select(b.icmp_unsigned(">", distance, narrow.all(31)), narrow.all(31), distance)
    size = b.lshr(aligned, distance)
    sign = b.ashr(values, narrow.all(31))
    signed = b.sub(b.xor(size, sign), sign)
    doubles = ir.VectorType(F64, count)
    terms = b.fmul(b.sitofp(signed, doubles), b.sitofp(weight, doubles))
    total = b.extract_element(terms, i32(0))
    for index in range(1, count):
        total = b.fadd(total, b.extract_element(terms, i32(index)))
    return total, greatest


def _joined(lanes: _Lanes, planes: list[tuple[ir.Value, ir.Value]]) -> tuple[ir.Value, ir.Value]:
    """The sum of two planes, and the exponent of its unit as if it were that of one."""
    b = lanes.b
    (first, low), (second, high) = planes
    greatest = b.select(b.icmp_unsigned(">", low, high), low, high)
    unit = b.sub(greatest, b.and_(greatest, i32(3)))
    parts = [
        lanes.real("floor", b.fmul(total, _power_of_two(b, b.sub(exponent, unit))))
        for total, exponent in ((first, low), (second, high))
    ]
    return b.fadd(*parts), unit


def _power_of_two(b: ir.IRBuilder, exponent: ir.Value) -> ir.Value:
    """2 to an exponent (i32), a double."""
    return b.bitcast(b.shl(b.sext(b.add(exponent, i32(1023)), I64), i64(52)), F64)


def _rounded(b: ir.IRBuilder, value: ir.Value, dropped: int) -> ir.Value:
    """A double without its last bits, rounded half away from zero."""
    bits = b.add(b.bitcast(value, I64), i64(1 << dropped - 1))
    return b.bitcast(b.and_(bits, i64(-1 << dropped)), F64)


def _rounded_to_float(lanes: _Lanes, total: ir.Value, unit: ir.Value) -> ir.Value:
    b = lanes.b
    value = b.fmul(_rounded(b, total, _ROUND_TO_FLOAT), unit)
    small = b.fcmp_ordered("<", lanes.real("fabs", value), F64(_LEAST_NORMAL))
    return b.fptrunc(b.select(small, b.fmul(value, F64(0.0)), value), F32)


def _rounded_to_half(lanes: _Lanes, total: ir.Value, unit: ir.Value) -> ir.Value:
    b = lanes.b
    exact = b.fmul(total, unit)
    small = b.fcmp_ordered("<", lanes.real("fabs", exact), F64(_LEAST_NORMAL_HALF))
    steps = lanes.real("floor", b.fadd(b.fmul(lanes.real("fabs", exact), F64(_HALF_STEPS)), F64(0.5)))
    size = b.fmul(steps, F64(1 / _HALF_STEPS))
    subnormal = b.select(b.fcmp_ordered("<", exact, F64(0.0)), b.fneg(size), size)
    return b.fptrunc(b.select(small, subnormal, _rounded(b, exact, _ROUND_TO_HALF)), F32)
