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


_Step = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def nearest_texel(emitter: Services) -> ir.Function:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: the element that contains a coordinate.

    `bits` are those of fraction that a normalized coordinate keeps; 0 for one in elements.
    """
    return _position(emitter, "texture.nearest", nearest_of_product, lambda _, value: value)


def steps(emitter: Services) -> ir.Function:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: the coordinate minus half an element, in steps."""

    def moved(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return b.fadd(b.fmul(value, F64(float(STEPS))), F64((1 - STEPS) / 2))

    return _position(emitter, "texture.steps", steps_of_product, moved)


def _position(
    emitter: Services, name: str, of_product: _Step, of_elements: Callable[[ir.IRBuilder, ir.Value], ir.Value]
) -> ir.Function:
    """`(mode, extent, bits: i64, coordinate: double) → i64`: a position on an axis.

    Args:
        emitter: for the subroutine.
        name: the subroutine's.
        of_product: the position, from a normalized coordinate's fixed-point number times the extent.
        of_elements: the position before it is floored, from a coordinate in elements.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        mode, extent, bits, coordinate = arguments
        value = _number(b, coordinate)
        with b.if_else(b.icmp_unsigned("!=", bits, i64(0))) as (normalized, plain):
            with normalized:
                fixed = of_product(b, b.mul(_fixed_point(b, mode, bits, value), extent), bits)
                fixed_end = b.block
            with plain:
                floored = _real(b, "floor", of_elements(b, _limited(b, value, _FARTHEST)))
                whole, whole_end = b.fptosi(floored, I64), b.block
        position = b.phi(I64)
        position.add_incoming(fixed, fixed_end)
        position.add_incoming(whole, whole_end)
        return position

    return emitter.subroutine(name, I64, (I64, I64, I64, F64), build)


def nearest_of_product(b: ir.IRBuilder, product: ir.Value, bits: ir.Value) -> ir.Value:
    """A fixed-point coordinate times the extent, floored."""
    return b.ashr(product, bits)


def steps_of_product(b: ir.IRBuilder, product: ir.Value, bits: ir.Value) -> ir.Value:
    """A fixed-point coordinate times the extent, minus half an element, rounded half up to steps."""
    doubled = b.add(b.mul(product, i64(2 * STEPS)), b.shl(i64(1), bits))
    return b.sub(b.ashr(doubled, b.add(bits, i64(1))), i64(STEPS // 2))


def addressed(emitter: Services) -> ir.Function:
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
# CUDA programming guide, "Texture Fetching"; `coordinates.py` and `filtering.py` have the rules that it leaves open.


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


def sample(emitter: Services, axes: int) -> ir.Function:
    """`(row, x, y, z: double, texel) → 0`: sample at normalized or texel coordinates, with the texture's filter."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, *given, out = arguments
        _Texture(emitter, b, row).filter(given[:axes], out)
        return i32(0)

    return emitter.subroutine(f"texture.sample.{axes}", I32, (POINTER, F64, F64, F64, POINTER), build)


def sample_layer(emitter: Services, axes: int) -> ir.Function:
    """`(row, x, y: double, layer: i32, texel) → 0`: the same in a layer; the last one, if the index is too large."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, *given, layer, out = arguments
        texture = _Texture(emitter, b, row)
        last = b.sub(texture.word("depth"), i64(1))
        texture.filter(given[:axes], out, _at_most(b, b.zext(layer, I64), last))
        return i32(0)

    return emitter.subroutine(f"texture.sample_layer.{axes}", I32, (POINTER, F64, F64, I32, POINTER), build)


def sample_cube(emitter: Services) -> ir.Function:
    """`(row, x, y, z: double, cube: i32, texel) → 0`: sample the face of a cube to which a direction points.

    The direction is already divided by its greatest magnitude.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, z, cube, out = arguments
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
        return i32(0)

    return emitter.subroutine("texture.sample_cube", I32, (POINTER, F64, F64, F64, I32, POINTER), build)


def gather(emitter: Services, channel: int) -> ir.Function:
    """`(row, x, y: double, texel) → 0`: one channel of the four texels around a point (PTX ISA, tld4).

    A texel that could be filtered is converted as if it were the only one, whatever the texture's filter.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, out = arguments
        texel_slot = entry_alloca(b.function, TEXEL)
        matrix_and_texel_notes.pass_reader(emitter, b, at(b, out, READER), at(b, texel_slot, READER))
        texture = _Texture(emitter, b, row)
        first = [b.ashr(texture.steps(axis, value), i64(_STEP_BITS)) for axis, value in enumerate((x, y))]
        for index, steps in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
            corner = [b.add(start, i64(step)) for start, step in zip(first, steps, strict=True)]
            b.call(_one(emitter), (row, *corner, texel_slot))
            b.store(b.load(at(b, texel_slot, 4 * channel), typ=I32), at(b, out, 4 * index))
        return i32(0)

    return emitter.subroutine(f"texture.gather.{channel}", I32, (POINTER, F64, F64, POINTER), build)


def fetch(emitter: Services) -> ir.Function:
    """`(row, x, y, z: i64, texel) → 0`: one texel; zeros where an index is negative."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, z, out = arguments
        for channel in range(_CHANNELS):
            b.store(i32(0), at(b, out, 4 * channel))
        inside = b.icmp_signed(">=", b.or_(x, b.or_(y, z)), i64(0))
        with b.if_then(inside):
            texture = _Texture(emitter, b, row)
            host = texture.host((x, y, z))
            texture.note(host, texture.word("element"), out)
            texture.channels(host, out)
        return i32(0)

    return emitter.subroutine("texture.fetch", I32, (POINTER, I64, I64, I64, POINTER), build)


def _one(emitter: Services) -> ir.Function:
    """`(row, x, y: i64, texel) → 0`: one texel at integer indices, converted as linear filtering converts it."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, out = arguments
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
                b.call(fetch(emitter), (row, *kept, i64(0), out))
        return i32(0)

    return emitter.subroutine("texture.one", I32, (POINTER, I64, I64, POINTER), build)


def _mix(emitter: Services, axes: int) -> ir.Function:
    """`(row, x, y, z in steps: i64, layer: i64, texel) → 0`: linear filtering of the 2, 4 or 8 texels of a cell.

    A texel at whose side the fraction is 0 is replaced by its neighbour: it takes no part. Under clamp a coordinate
    beyond the middle of the last element is moved there.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, *given, layer, out = arguments
        pointers, shares = (entry_alloca(b.function, ir.ArrayType(type_, 1 << axes)) for type_ in (POINTER, I32))
        border = entry_alloca(b.function, TEXEL)
        for channel in range(_CHANNELS):
            b.store(i32(0), at(b, border, 4 * channel))
        texture = _Texture(emitter, b, row)
        fractions, sides, moves = [], [], []
        for axis, value in enumerate(given[:axes]):
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
        return i32(0)

    return emitter.subroutine(f"texture.mix.{axes}", I32, (POINTER, I64, I64, I64, I64, POINTER), build)


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
        return self.b.call(steps(self.emitter), (*self._axis(axis), value))

    def _axis(self, axis: int) -> _Values:
        return (self.word(f"mode{axis}"), self.word(_EXTENTS[axis]), self.word(f"bits{axis}"))

    def filter(self, given: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at coordinates: the nearest one, or its neighbours interpolated."""
        with self.b.if_else(self.flag(LINEAR_FILTER)) as (linear, point):
            with linear:
                self.mix([self.steps(axis, value) for axis, value in enumerate(given)], out, layer)
            with point:
                nearest = nearest_texel(self.emitter)
                self.take(
                    [self.b.call(nearest, (*self._axis(axis), value)) for axis, value in enumerate(given)], out, layer
                )

    def mix(self, steps: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """Linear filtering at coordinates in steps."""
        missing = [i64(0)] * (len(_EXTENTS) - len(steps))
        if layer is None:
            layer = i64(0)
        self.b.call(_mix(self.emitter, len(steps)), (self.row, *steps, *missing, layer, out))

    def take(self, indices: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at integer indices, after the address modes are applied."""
        full = [self.address(axis, index) for axis, index in enumerate(indices)]
        full += [i64(0)] * (len(_EXTENTS) - len(full))
        if layer is not None:
            full[2] = layer
        self.b.call(fetch(self.emitter), (self.row, *full, out))

    def address(self, axis: int, index: ir.Value) -> ir.Value:
        """An index after the address mode is applied; -1 stands for the border."""
        address = addressed(self.emitter)
        return self.b.call(address, (self.word(f"mode{axis}"), index, self.word(_EXTENTS[axis])))

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
            b.call(texture_filtering.blend(self.emitter, kind, count), (pointers, shares, stride, channels, out))
            b.branch(done)
        b.position_at_end(done)

    def channels(self, host: ir.Value, out: ir.Value) -> None:
        """Read a texel; missing channels are 0."""
        b, count, format_ = self.b, self.word("channels"), self.word("format")
        normalized = self.flag(NORMALIZED_READ)
        step = b.udiv(self.word("element"), count)
        with counted(b, count) as channel:
            pointer = at(b, host, b.mul(step, channel))
            value = b.call(texture_filtering.channel(self.emitter), (pointer, format_, normalized))
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
