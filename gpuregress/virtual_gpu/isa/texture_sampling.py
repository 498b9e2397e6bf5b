"""Sampling of textures."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.descriptors import FORMATS
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    F64,
    I1,
    I32,
    I64,
    POINTER,
    at,
    call_intrinsic,
    counted,
    entry_alloca,
    i32,
    i64,
    subroutine,
)
from gpuregress.virtual_gpu.checks import matrix_and_texel_notes
from gpuregress.virtual_gpu.isa import texture_filtering
from gpuregress.virtual_gpu.runtime.textures import LINEAR_FILTER, MODES, NORMALIZED_READ, WORDS

# --- coordinates ------------------------------------------------------------------------------------------------------


STEPS = 256
"""Steps between two elements under linear filtering."""
_OUTSIDE = 8.0
"""A normalized coordinate beyond every element, whatever the extent."""
_FARTHEST = float(1 << 40)
_LEAST_NORMAL = 2.0**-126
_Values = tuple[ir.Value, ...]


@subroutine("texture.nearest", I64)
def nearest_texel(b: ir.IRBuilder, mode: ir.Value, extent: ir.Value, bits: ir.Value, coordinate: ir.Value) -> ir.Value:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: the element that contains a coordinate.

    `bits` are those of fraction that a normalized coordinate keeps; 0 for one in elements.
    """
    return _position(b, (mode, extent, bits), coordinate, nearest_of_product, lambda value: value)


@subroutine("texture.steps", I64)
def steps(b: ir.IRBuilder, mode: ir.Value, extent: ir.Value, bits: ir.Value, coordinate: ir.Value) -> ir.Value:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: the coordinate minus half an element, in steps."""

    def moved(value: ir.Value) -> ir.Value:
        return b.fadd(b.fmul(value, F64(float(STEPS))), F64((1 - STEPS) / 2))

    return _position(b, (mode, extent, bits), coordinate, steps_of_product, moved)


def _position(
    b: ir.IRBuilder,
    axis: _Values,
    coordinate: ir.Value,
    of_product: Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value],
    of_elements: Callable[[ir.Value], ir.Value],
) -> ir.Value:
    """A position (i64) on an axis.

    Args:
        b: the subroutine's builder.
        axis: mode, extent and bits, i64.
        coordinate: double.
        of_product: the position, from a normalized coordinate's fixed-point number times the extent.
        of_elements: the position before it is floored, from a coordinate in elements.
    """
    mode, extent, bits = axis
    value = _number(b, coordinate)
    with b.if_else(b.icmp_unsigned("!=", bits, i64(0))) as (normalized, plain):
        with normalized:
            fixed = of_product(b, b.mul(_fixed_point(b, mode, bits, value), extent), bits)
            fixed_end = b.block
        with plain:
            floored = _real(b, "floor", of_elements(_limited(b, value, _FARTHEST)))
            whole, whole_end = b.fptosi(floored, I64), b.block
    position = b.phi(I64)
    position.add_incoming(fixed, fixed_end)
    position.add_incoming(whole, whole_end)
    return position


def nearest_of_product(b: ir.IRBuilder, product: ir.Value, bits: ir.Value) -> ir.Value:
    """A fixed-point coordinate times the extent, floored."""
    return b.ashr(product, bits)


def steps_of_product(b: ir.IRBuilder, product: ir.Value, bits: ir.Value) -> ir.Value:
    """A fixed-point coordinate times the extent, minus half an element, rounded half up to steps."""
    doubled = b.add(b.mul(product, i64(2 * STEPS)), b.shl(i64(1), bits))
    return b.sub(b.ashr(doubled, b.add(bits, i64(1))), i64(STEPS // 2))


@subroutine("texture.address", I64)
def addressed(b: ir.IRBuilder, mode: ir.Value, index: ir.Value, extent: ir.Value) -> ir.Value:
    """`(mode, index, extent) → index`: apply an address mode; -1 stands for the border.

    Wrap and mirror get an index of at least -1 and at most twice the extent, out of a coordinate below 2.
    """
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


def cube_face(b: ir.IRBuilder, direction: _Values, bits: ir.Value) -> _Values:
    """The face's number, and the two coordinates on it as fixed-point numbers (i64).

    Args:
        b: the subroutine's builder.
        direction: x, y, z (double), already divided by the greatest magnitude.
        bits: of fraction.
    """
    known = [b.fcmp_ordered("ord", value, value) for value in direction]
    sizes = [b.select(there, _real(b, "fabs", value), F64(-1.0)) for there, value in zip(known, direction, strict=True)]
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
    return (number, *(_on_face(b, value, bits) for value in (s, t)))


def _on_face(b: ir.IRBuilder, value: ir.Value, bits: ir.Value) -> ir.Value:
    """(value + 1) / 2, floored to a fixed-point number."""
    limited = _limited(b, _number(b, value), _OUTSIDE)
    before = b.sub(bits, i64(1))
    floored = _real(b, "floor", b.fmul(limited, _power_of_two(b, before)))
    return b.add(b.fptosi(floored, I64), b.shl(i64(1), before))


def _real(b: ir.IRBuilder, name: str, *values: ir.Value) -> ir.Value:
    """Call an LLVM intrinsic of doubles."""
    return call_intrinsic(b, f"llvm.{name}.f64", F64, *values)


def _number(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A coordinate; 0 for a NaN or a subnormal float32."""
    return b.select(b.fcmp_ordered(">=", _real(b, "fabs", value), F64(_LEAST_NORMAL)), value, F64(0.0))


def _limited(b: ir.IRBuilder, value: ir.Value, most: float) -> ir.Value:
    return _real(b, "maxnum", _real(b, "minnum", value, F64(most)), F64(-most))


def _fixed_point(b: ir.IRBuilder, mode: ir.Value, bits: ir.Value, value: ir.Value) -> ir.Value:
    """A normalized coordinate in units of 2^-bits; its remainder by 2 where the mode repeats the texture."""
    unit, limited = _power_of_two(b, bits), _limited(b, value, _OUTSIDE)
    floored = _real(b, "floor", b.fmul(value, unit))
    rounds = _real(b, "floor", b.fmul(floored, _power_of_two(b, b.sub(i64(-1), bits))))
    rest = b.fsub(floored, b.fmul(rounds, b.fadd(unit, unit)))
    rest = b.select(b.fcmp_ordered("ord", rest, rest), rest, F64(0.0))
    repeats = b.or_(*(b.icmp_unsigned("==", mode, i64(MODES.index(name))) for name in ("wrap", "mirror")))
    return b.fptosi(b.select(repeats, rest, _real(b, "floor", b.fmul(limited, unit))), I64)


def _power_of_two(b: ir.IRBuilder, exponent: ir.Value) -> ir.Value:
    return b.bitcast(b.shl(b.add(exponent, i64(1023)), i64(52)), F64)


def _more_if_negative(b: ir.IRBuilder, index: ir.Value, period: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", index, i64(0)), b.add(index, period), index)


def _less_if_beyond(b: ir.IRBuilder, index: ir.Value, period: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed(">=", index, period), b.sub(index, period), index)


# --- sampling ---------------------------------------------------------------------------------------------------------
# Texture sampling: the texels at a coordinate, by the nearest element or by linear filtering.
#
# Each operation is a subroutine of the module, built on first use. It reads the texture's row in the machine's table.
# Coordinates are computed in float64, where the product of a float32 coordinate and an extent is exact.
# CUDA programming guide, "Texture Fetching"; above and in `texture_filtering.py` are the rules that it leaves open.


TEXEL = ir.LiteralStructType([ir.ArrayType(I32, 4), matrix_and_texel_notes.READER])
"""Four channels, as the bits that registers get. After them the caller tells the dynamic checks who reads."""
READER = 16
"""Where it does so, in bytes."""
_EXTENTS = ("width", "height", "depth")
_FACES = 6
_STEP_BITS = STEPS.bit_length() - 1
_CHANNELS = 4


def word(b: ir.IRBuilder, row: ir.Value, name: str, type_: ir.Type = I64) -> ir.Value:
    """A word of a texture's row."""
    return b.load(at(b, row, WORDS[name]), typ=type_, align=8)


@subroutine(lambda _, axes: f"texture.sample.{axes}")
def sample(emitter: Services, _axes: int, b: ir.IRBuilder, row: ir.Value, *given: ir.Value) -> None:
    """`(row, coordinates: double, texel)`: sample at normalized or texel coordinates, with the texture's filter."""
    *coordinates, out = given
    _Texture(emitter, b, row).filter(coordinates, out)


@subroutine(lambda _, axes: f"texture.sample_layer.{axes}")
def sample_layer(emitter: Services, _axes: int, b: ir.IRBuilder, row: ir.Value, *given: ir.Value) -> None:
    """`(row, coordinates: double, layer: i32, texel)`: the same in a layer; the last one, if the index is too large."""
    *coordinates, layer, out = given
    texture = _Texture(emitter, b, row)
    last = b.sub(texture.word("depth"), i64(1))
    texture.filter(coordinates, out, _at_most(b, b.zext(layer, I64), last))


@subroutine("texture.sample_cube")
def sample_cube(emitter: Services, b: ir.IRBuilder, row: ir.Value, *given: ir.Value) -> None:
    """`(row, x, y, z: double, cube: i32, texel)`: sample the face of a cube to which a direction points.

    The direction is already divided by its greatest magnitude.
    """
    x, y, z, cube, out = given
    texture = _Texture(emitter, b, row)
    bits = texture.word("bits0")
    face, s, t = cube_face(b, (x, y, z), bits)
    last = b.sub(b.udiv(texture.word("depth"), i64(_FACES)), i64(1))
    number = b.add(b.mul(_at_most(b, b.zext(cube, I64), last), i64(_FACES)), face)
    extent = texture.word("width")
    s, t = b.mul(s, extent), b.mul(t, extent)
    with b.if_else(texture.flag(LINEAR_FILTER)) as (linear, point):
        with linear:
            texture.mix([steps_of_product(b, item, bits) for item in (s, t)], out, number)
        with point:
            texture.take([nearest_of_product(b, item, bits) for item in (s, t)], out, number)


@subroutine(lambda _, channel: f"texture.gather.{channel}")
def gather(
    emitter: Services, channel: int, b: ir.IRBuilder, row: ir.Value, x: ir.Value, y: ir.Value, out: ir.Value
) -> None:
    """`(row, x, y: double, texel)`: one channel of the four texels around a point (PTX ISA, tld4).

    A texel that could be filtered is converted as if it were the only one, whatever the texture's filter.
    """
    texel_slot = entry_alloca(b.function, TEXEL)
    matrix_and_texel_notes.pass_reader(emitter, b, at(b, out, READER), at(b, texel_slot, READER))
    texture = _Texture(emitter, b, row)
    first = [b.ashr(texture.steps(axis, value), i64(_STEP_BITS)) for axis, value in enumerate((x, y))]
    for index, steps in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
        corner = [b.add(start, i64(step)) for start, step in zip(first, steps, strict=True)]
        _one(emitter, b, row, *corner, texel_slot)
        b.store(b.load(at(b, texel_slot, 4 * channel), typ=I32), at(b, out, 4 * index))


@subroutine("texture.fetch")
def fetch(emitter: Services, b: ir.IRBuilder, row: ir.Value, *place: ir.Value) -> None:
    """`(row, x, y, z: i64, texel)`: one texel; zeros where an index is negative."""
    x, y, z, out = place
    for channel in range(_CHANNELS):
        b.store(i32(0), at(b, out, 4 * channel))
    inside = b.icmp_signed(">=", b.or_(x, b.or_(y, z)), i64(0))
    with b.if_then(inside):
        texture = _Texture(emitter, b, row)
        host = texture.host((x, y, z))
        texture.note(host, texture.word("element"), out)
        texture.channels(host, out)


@subroutine("texture.one")
def _one(emitter: Services, b: ir.IRBuilder, row: ir.Value, *place: ir.Value) -> None:
    """`(row, x, y: i64, texel)`: one texel at integer indices, converted as linear filtering converts it."""
    x, y, out = place
    pointer, weight = (entry_alloca(b.function, type_) for type_ in (POINTER, I32))
    texture = _Texture(emitter, b, row)
    b.store(i32(texture_filtering.WHOLE), weight)
    filterable = b.or_(texture.flag(NORMALIZED_READ), texture.is_float())
    kept = [texture.address(axis, index) for axis, index in enumerate((x, y))]
    inside = b.icmp_signed(">=", b.or_(*kept), i64(0))
    with b.if_else(b.and_(filterable, inside)) as (converted, plain):
        with converted:
            host = texture.host((*kept, i64(0)))
            texture.note(host, texture.word("element"), out)
            b.store(host, pointer)
            texture.blend(pointer, weight, 1, out)
        with plain:
            fetch(emitter, b, row, *kept, i64(0), out)


@subroutine(lambda _, axes: f"texture.mix.{axes}")
def _mix(emitter: Services, axes: int, b: ir.IRBuilder, row: ir.Value, *place: ir.Value) -> None:
    """`(row, coordinates in steps: i64, layer: i64, texel)`: linear filtering of the 2, 4 or 8 texels of a cell.

    A texel at whose side the fraction is 0 is replaced by its neighbour: it takes no part. Under clamp a coordinate
    beyond the middle of the last element is moved there.
    """
    *given, layer, out = place
    pointers, shares = (entry_alloca(b.function, ir.ArrayType(type_, 1 << axes)) for type_ in (POINTER, I32))
    border = entry_alloca(b.function, TEXEL)
    for channel in range(_CHANNELS):
        b.store(i32(0), at(b, border, 4 * channel))
    texture = _Texture(emitter, b, row)
    fractions, sides, moves = [], [], []
    for axis, value in enumerate(given):
        position = texture.kept_inside(axis, value)
        fraction, first = b.and_(position, i64(STEPS - 1)), b.ashr(position, i64(_STEP_BITS))
        near, far = texture.address(axis, b.add(first, i64(0))), texture.address(axis, b.add(first, i64(1)))
        moves.append(b.icmp_unsigned("!=", fraction, i64(0)))
        sides.append((near, b.select(moves[-1], far, near)))
        fractions.append(b.trunc(fraction, I32))
    found = texture_filtering.weights(b, fractions)
    for index, (steps, weight) in enumerate(zip(texture_filtering.corners(axes), found, strict=True)):
        corner = [side[step] for side, step in zip(sides, steps, strict=True)]
        inside = b.icmp_signed(">=", _any_negative(b, corner), i64(0))
        full = corner + [i64(0)] * (3 - axes)
        if axes < len(_EXTENTS):
            full[2] = layer
        host = texture.host(tuple(full))
        is_read = b.and_(inside, _all(b, [moves[axis] for axis in range(axes) if steps[axis]]))
        texture.note(host, b.select(is_read, texture.word("element"), i64(0)), out)
        b.store(b.select(inside, host, border), at(b, pointers, 8 * index))
        b.store(weight, at(b, shares, 4 * index))
    texture.blend(pointers, shares, 1 << axes, out)


# --- code for one texture ---------------------------------------------------------------------------------------------


class _Texture(Record):
    """Code that samples a texture, in one subroutine.

    Attributes:
        emitter: for other subroutines.
        b: the subroutine's builder.
        row: the texture's row in the table.
    """

    emitter: Services
    b: ir.IRBuilder
    row: ir.Value

    def word(self, name: str, type_: ir.Type = I64) -> ir.Value:
        """A word of the row."""
        return word(self.b, self.row, name, type_)

    def flag(self, bit: int) -> ir.Value:
        """Whether a flag is set."""
        return self.b.icmp_unsigned("!=", self.b.and_(self.word("flags"), i64(bit)), i64(0))

    def is_float(self) -> ir.Value:
        """Whether a channel is a float."""
        return self.b.icmp_unsigned(">=", self.word("format"), i64(FORMATS.index("float16")))

    def steps(self, axis: int, value: ir.Value) -> ir.Value:
        """A coordinate minus half an element, in steps."""
        return steps(self.b, *self._axis(axis), value)

    def _axis(self, axis: int) -> tuple[ir.Value, ir.Value, ir.Value]:
        return (self.word(f"mode{axis}"), self.word(_EXTENTS[axis]), self.word(f"bits{axis}"))

    def filter(self, given: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at coordinates: the nearest one, or its neighbours interpolated."""
        with self.b.if_else(self.flag(LINEAR_FILTER)) as (linear, point):
            with linear:
                self.mix([self.steps(axis, value) for axis, value in enumerate(given)], out, layer)
            with point:
                nearest = [nearest_texel(self.b, *self._axis(axis), value) for axis, value in enumerate(given)]
                self.take(nearest, out, layer)

    def mix(self, steps: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """Linear filtering at coordinates in steps."""
        if layer is None:
            layer = i64(0)
        _mix(self.emitter, len(steps), self.b, self.row, *steps, layer, out)

    def take(self, indices: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at integer indices, after the address modes are applied."""
        full = [self.address(axis, index) for axis, index in enumerate(indices)]
        full += [i64(0)] * (len(_EXTENTS) - len(full))
        if layer is not None:
            full[2] = layer
        fetch(self.emitter, self.b, self.row, *full, out)

    def address(self, axis: int, index: ir.Value) -> ir.Value:
        """An index after the address mode is applied; -1 stands for the border."""
        return addressed(self.b, self.word(f"mode{axis}"), index, self.word(_EXTENTS[axis]))

    def kept_inside(self, axis: int, steps: ir.Value) -> ir.Value:
        """A coordinate in steps; under clamp between the middles of the first and last element."""
        b = self.b
        last = b.shl(b.sub(self.word(_EXTENTS[axis]), i64(1)), i64(_STEP_BITS))
        low = b.select(b.icmp_signed("<", steps, i64(0)), i64(0), steps)
        inside = b.select(b.icmp_signed(">", low, last), last, low)
        clamps = b.icmp_unsigned("==", self.word(f"mode{axis}"), i64(MODES.index("clamp")))
        return b.select(clamps, inside, steps)

    def host(self, indices: _Values) -> ir.Value:
        """A pointer to a texel in host memory."""
        b = self.b
        x, y, z = indices
        line = b.add(b.mul(z, self.word("height")), y)
        index = b.add(b.mul(line, self.word("width")), x)
        return at(b, self.word("host", POINTER), b.mul(index, self.word("element")))

    def note(self, host: ir.Value, count: ir.Value, out: ir.Value) -> None:
        """Show the dynamic checks a texel that is read: its bytes, or 0 for none."""
        b = self.b
        offset = b.sub(b.ptrtoint(host, I64), self.word("host"))
        address = b.add(self.word("address"), offset)
        matrix_and_texel_notes.note_texel(self.emitter, b, address, count, at(b, out, READER))

    def blend(self, pointers: ir.Value, shares: ir.Value, count: int, out: ir.Value) -> None:
        """The weighted sum of texels; missing channels are 0."""
        b, channels = self.b, self.word("channels")
        for channel in range(_CHANNELS):
            b.store(i32(0), at(b, out, 4 * channel))
        stride = b.udiv(self.word("element"), channels)
        done = b.append_basic_block("blended")
        choice = b.switch(self.word("format"), done)
        for kind in texture_filtering.KINDS:
            block = b.append_basic_block(kind)
            choice.add_case(i64(FORMATS.index(kind)), block)
            b.position_at_end(block)
            texture_filtering.blend(kind, count, b, pointers, shares, stride, channels, out)
            b.branch(done)
        b.position_at_end(done)

    def channels(self, host: ir.Value, out: ir.Value) -> None:
        """Read a texel; missing channels are 0."""
        b, count, format_ = self.b, self.word("channels"), self.word("format")
        normalized = self.flag(NORMALIZED_READ)
        step = b.udiv(self.word("element"), count)
        with counted(b, count) as channel:
            pointer = at(b, host, b.mul(step, channel))
            value = texture_filtering.channel(b, pointer, format_, normalized)
            b.store(value, at(b, out, b.shl(channel, i64(2))))


def _any_negative(b: ir.IRBuilder, values: list[ir.Value]) -> ir.Value:
    """A value that is negative if one of some values is."""
    joined = values[0]
    for value in values[1:]:
        joined = b.or_(joined, value)
    return joined


def _all(b: ir.IRBuilder, conditions: list[ir.Value]) -> ir.Value:
    """Whether all of some conditions hold, i1."""
    joined: ir.Value = ir.Constant(I1, 1)
    for condition in conditions:
        joined = b.and_(joined, condition)
    return joined


def _at_most(b: ir.IRBuilder, number: ir.Value, last: ir.Value) -> ir.Value:
    return b.select(b.icmp_unsigned(">", number, last), last, number)
