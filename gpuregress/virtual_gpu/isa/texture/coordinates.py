"""Texture coordinates in elements and in steps of 1/256, and address modes.

Measured on an H200, bit for bit:

1. A subnormal coordinate and a NaN count as 0.
2. A normalized coordinate is floored to a multiple of 2^-21, in long textures 2^-22 or 2^-23 (`fraction_bits`), and
   then multiplied by the extent. Wrap and mirror keep its remainder by 2; an infinite one counts as 0 there.
3. The nearest element is the product, floored. Linear filtering starts from g = x - 0.5, rounded half up to a multiple
   of 1/256: its integer part is the first element, its fraction the weight of the second. tld4 takes the same element.
4. For a cube the three coordinates are multiplied by the `rcp.approx.ftz` of the greatest magnitude, in float32; the
   instruction's operands are these products. Their greatest magnitude names the face, z before y before x where some
   are equal, a NaN below all. The coordinate on the face is (s + 1) / 2, floored likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i64
from gpuregress.virtual_gpu.builder.types import F64, I64
from gpuregress.virtual_gpu.runtime.textures import MODES

STEPS = 256
"""Steps between two elements under linear filtering."""
_OUTSIDE = 8.0
"""A normalized coordinate beyond every element, whatever the extent."""
_FARTHEST = float(1 << 40)
_LEAST_NORMAL = 2.0**-126
_Values = tuple[ir.Value, ...]
_Call = Callable[..., ir.Value]


def nearest(emitter: Services) -> ir.Function:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: the element that contains a coordinate.

    `bits` are those of fraction that a normalized coordinate keeps; 0 for one in elements.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        mode, extent, bits, coordinate = arguments
        call = _intrinsics(emitter, b)
        value = _number(b, call, coordinate)
        with _by_kind(b, bits) as (normalized, plain, results):
            with normalized:
                product = b.mul(_fixed_point(b, call, mode, bits, value), extent)
                results.append((nearest_of_product(b, product, bits), b.block))
            with plain:
                floored = call("llvm.floor.f64", _limited(call, value, _FARTHEST))
                results.append((b.fptosi(floored, I64), b.block))
        return _chosen(b, results)

    return emitter.subroutine("texture.nearest", I64, (I64, I64, I64, F64), build)


def steps(emitter: Services) -> ir.Function:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: the coordinate minus half an element, in steps."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        mode, extent, bits, coordinate = arguments
        call = _intrinsics(emitter, b)
        value = _number(b, call, coordinate)
        with _by_kind(b, bits) as (normalized, plain, results):
            with normalized:
                product = b.mul(_fixed_point(b, call, mode, bits, value), extent)
                results.append((steps_of_product(b, product, bits), b.block))
            with plain:
                moved = b.fadd(b.fmul(_limited(call, value, _FARTHEST), F64(float(STEPS))), F64((1 - STEPS) / 2))
                results.append((b.fptosi(call("llvm.floor.f64", moved), I64), b.block))
        return _chosen(b, results)

    return emitter.subroutine("texture.steps", I64, (I64, I64, I64, F64), build)


def nearest_of_product(b: ir.IRBuilder, product: ir.Value, bits: ir.Value) -> ir.Value:
    """A fixed-point coordinate times the extent, floored."""
    return b.ashr(product, bits)


def steps_of_product(b: ir.IRBuilder, product: ir.Value, bits: ir.Value) -> ir.Value:
    """A fixed-point coordinate times the extent, minus half an element, rounded half up to steps."""
    doubled = b.add(b.mul(product, i64(2 * STEPS)), b.shl(i64(1), bits))
    return b.sub(b.ashr(doubled, b.add(bits, i64(1))), i64(STEPS // 2))


def address(emitter: Services) -> ir.Function:
    """`(mode, index, extent) → index`: apply an address mode; -1 stands for the border.

    Wrap and mirror get an index of at least -1 and at most twice the extent, out of a coordinate below 2.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        mode, index, extent = arguments
        last, twice = b.sub(extent, i64(1)), b.shl(extent, i64(1))
        low = b.select(b.icmp_signed("<", index, i64(0)), i64(0), index)
        chosen = b.select(b.icmp_signed(">", low, last), last, low)
        wrap = _less_if_beyond(b, _less_if_beyond(b, _more_if_negative(b, index, extent), extent), extent)
        turned = _less_if_beyond(b, _more_if_negative(b, index, twice), twice)
        back = b.sub(b.sub(twice, i64(1)), turned)
        mirror = b.select(b.icmp_signed("<", turned, extent), turned, back)
        border = b.select(b.icmp_unsigned("<", index, extent), index, i64(-1))
        for name, value in (("wrap", wrap), ("mirror", mirror), ("border", border)):
            chosen = b.select(b.icmp_unsigned("==", mode, i64(MODES.index(name))), value, chosen)
        return chosen

    return emitter.subroutine("texture.address", I64, (I64, I64, I64), build)


def face(emitter: Services, b: ir.IRBuilder, direction: _Values, bits: ir.Value) -> _Values:
    """The face's number, and the two coordinates on it as fixed-point numbers (i64).

    Args:
        emitter: for intrinsics.
        b: the subroutine's builder.
        direction: x, y, z (double), already divided by the greatest magnitude.
        bits: of fraction.
    """
    call = _intrinsics(emitter, b)
    known = [b.fcmp_ordered("ord", value, value) for value in direction]
    sizes = [
        b.select(there, call("llvm.fabs.f64", value), F64(-1.0)) for there, value in zip(known, direction, strict=True)
    ]
    x, _, z = direction
    back = [b.fcmp_ordered("<", value, F64(0.0)) for value in direction]
    turned = [b.fneg(value) for value in direction]
    along_z = b.and_(b.fcmp_ordered(">=", sizes[2], sizes[0]), b.fcmp_ordered(">=", sizes[2], sizes[1]))
    along_y = b.fcmp_ordered(">=", sizes[1], sizes[0])

    def chosen(of_x: ir.Value, of_y: ir.Value, of_z: ir.Value) -> ir.Value:
        return b.select(along_z, of_z, b.select(along_y, of_y, of_x))

    number = chosen(*(b.add(i64(2 * axis), b.zext(back[axis], I64)) for axis in range(3)))
    s = chosen(b.select(back[0], z, turned[2]), x, b.select(back[2], turned[0], x))
    t = chosen(turned[1], b.select(back[1], turned[2], z), turned[1])
    return (number, *(_on_face(b, call, value, bits) for value in (s, t)))


def _on_face(b: ir.IRBuilder, call: _Call, value: ir.Value, bits: ir.Value) -> ir.Value:
    """(value + 1) / 2, floored to a fixed-point number."""
    limited = _limited(call, _number(b, call, value), _OUTSIDE)
    before = b.sub(bits, i64(1))
    floored = call("llvm.floor.f64", b.fmul(limited, _power_of_two(b, before)))
    return b.add(b.fptosi(floored, I64), b.shl(i64(1), before))


_Results = list[tuple[ir.Value, ir.Block]]


@contextmanager
def _by_kind(
    b: ir.IRBuilder, bits: ir.Value
) -> Iterator[tuple[AbstractContextManager[ir.Block], AbstractContextManager[ir.Block], _Results]]:
    """Branch on whether coordinates are normalized."""
    with b.if_else(b.icmp_unsigned("!=", bits, i64(0))) as (normalized, plain):
        yield normalized, plain, []


def _chosen(b: ir.IRBuilder, results: _Results) -> ir.Value:
    value = b.phi(I64)
    for result in results:
        value.add_incoming(*result)
    return value


def _intrinsics(emitter: Services, b: ir.IRBuilder) -> _Call:
    def call(name: str, *values: ir.Value) -> ir.Value:
        return b.call(emitter.unit.intrinsic(name, F64, (F64,) * len(values)), values)

    return call


def _number(b: ir.IRBuilder, call: _Call, value: ir.Value) -> ir.Value:
    """A coordinate; 0 for a NaN or a subnormal float32."""
    return b.select(b.fcmp_ordered(">=", call("llvm.fabs.f64", value), F64(_LEAST_NORMAL)), value, F64(0.0))


def _limited(call: _Call, value: ir.Value, most: float) -> ir.Value:
    return call("llvm.maxnum.f64", call("llvm.minnum.f64", value, F64(most)), F64(-most))


def _fixed_point(b: ir.IRBuilder, call: _Call, mode: ir.Value, bits: ir.Value, value: ir.Value) -> ir.Value:
    """A normalized coordinate in units of 2^-bits; its remainder by 2 where the mode repeats the texture."""
    unit, limited = _power_of_two(b, bits), _limited(call, value, _OUTSIDE)
    floored = call("llvm.floor.f64", b.fmul(value, unit))
    rounds = call("llvm.floor.f64", b.fmul(floored, _power_of_two(b, b.sub(i64(-1), bits))))
    rest = b.fsub(floored, b.fmul(rounds, b.fadd(unit, unit)))
    rest = b.select(b.fcmp_ordered("ord", rest, rest), rest, F64(0.0))
    repeats = b.or_(*(b.icmp_unsigned("==", mode, i64(MODES.index(name))) for name in ("wrap", "mirror")))
    return b.fptosi(b.select(repeats, rest, call("llvm.floor.f64", b.fmul(limited, unit))), I64)


def _power_of_two(b: ir.IRBuilder, exponent: ir.Value) -> ir.Value:
    return b.bitcast(b.shl(b.add(exponent, i64(1023)), i64(52)), F64)


def _more_if_negative(b: ir.IRBuilder, index: ir.Value, period: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", index, i64(0)), b.add(index, period), index)


def _less_if_beyond(b: ir.IRBuilder, index: ir.Value, period: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed(">=", index, period), b.sub(index, period), index)
