"""Texture sampling: the texels at a coordinate, by the nearest element or by linear filtering.

Each operation is a subroutine of the module, built on first use. It reads the texture's row in the machine's table.
Coordinates are computed in float64, where the product of a float32 coordinate and an extent is exact.
CUDA programming guide, "Texture Fetching"; `coordinates.py` and `filtering.py` have the rules that it leaves open.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.gpu.textures import FORMATS
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, counted, i32, i64
from gpuregress.virtual_gpu.builder.types import F64, I1, I32, I64, POINTER
from gpuregress.virtual_gpu.checks import matrix_and_texel_notes
from gpuregress.virtual_gpu.isa.texture import coordinates, filtering, texel
from gpuregress.virtual_gpu.isa.texture.coordinates import STEPS
from gpuregress.virtual_gpu.runtime.textures import LINEAR_FILTER, MODES, NORMALIZED_READ, WORDS

TEXEL = ir.LiteralStructType([ir.ArrayType(I32, 4), matrix_and_texel_notes.READER])
"""Four channels, as the bits that registers get. Behind them the caller tells the dynamic checks who reads."""
READER = 16
"""Where it does so, in bytes."""
_EXTENTS = ("width", "height", "depth")
_FACES = 6
_STEP_BITS = STEPS.bit_length() - 1
_CHANNELS = 4
_Values = tuple[ir.Value, ...]


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
        face, s, t = coordinates.face(emitter, b, (x, y, z), bits)
        last = b.sub(b.udiv(texture.word("depth"), i64(_FACES)), i64(1))
        number = b.add(b.mul(_at_most(b, b.zext(cube, I64), last), i64(_FACES)), face)
        extent = texture.word("width")
        s, t = b.mul(s, extent), b.mul(t, extent)
        with b.if_else(texture.flag(LINEAR_FILTER)) as (linear, point):
            with linear:
                texture.mix([coordinates.steps_of_product(b, item, bits) for item in (s, t)], out, number)
            with point:
                texture.take([coordinates.nearest_of_product(b, item, bits) for item in (s, t)], out, number)
        return i32(0)

    return emitter.subroutine("texture.sample_cube", I32, (POINTER, F64, F64, F64, I32, POINTER), build)


def gather(emitter: Services, channel: int) -> ir.Function:
    """`(row, x, y: double, texel) → 0`: one channel of the four texels around a point (PTX ISA, tld4).

    A texel that could be filtered is converted as if it were the only one, whatever the texture's filter.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, out = arguments
        # The builder is in the first block: a slot allocated by another builder would move its position.
        texel_slot = _slot(b, TEXEL)
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
        pointer, weight = _slot(b, POINTER), _slot(b, I32)
        texture = _Texture(emitter, b, row)
        b.store(i32(filtering.WHOLE), weight)
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
        pointers, shares = _slot(b, ir.ArrayType(POINTER, 1 << axes)), _slot(b, ir.ArrayType(I32, 1 << axes))
        border = _slot(b, TEXEL)
        for channel in range(_CHANNELS):
            b.store(i32(0), at(b, border, 4 * channel))
        texture = _Texture(emitter, b, row)
        fractions, sides, moves = [], [], []
        for axis, value in enumerate(given[:axes]):
            position = texture.kept_inside(axis, value)
            fraction, first = b.and_(position, i64(STEPS - 1)), b.ashr(position, i64(_STEP_BITS))
            near, far = (texture.address(axis, b.add(first, i64(step))) for step in (0, 1))
            moves.append(b.icmp_unsigned("!=", fraction, i64(0)))
            sides.append((near, b.select(moves[-1], far, near)))
            fractions.append(b.trunc(fraction, I32))
        found = filtering.weights(b, fractions)
        for index, (steps, weight) in enumerate(zip(filtering.corners(axes), found, strict=True)):
            corner = [side[step] for side, step in zip(sides, steps, strict=True)]
            inside = b.icmp_signed(">=", _any_negative(b, corner), i64(0))
            full = [*corner, *[i64(0)] * (3 - axes)]
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
        return self.b.call(coordinates.steps(self.emitter), (*self._axis(axis), value))

    def _axis(self, axis: int) -> _Values:
        return (self.word(f"mode{axis}"), self.word(_EXTENTS[axis]), self.word(f"bits{axis}"))

    def filter(self, given: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at coordinates: the nearest one, or its neighbours interpolated."""
        with self.b.if_else(self.flag(LINEAR_FILTER)) as (linear, point):
            with linear:
                self.mix([self.steps(axis, value) for axis, value in enumerate(given)], out, layer)
            with point:
                nearest = coordinates.nearest(self.emitter)
                self.take(
                    [self.b.call(nearest, (*self._axis(axis), value)) for axis, value in enumerate(given)], out, layer
                )

    def mix(self, steps: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """Linear filtering at coordinates in steps."""
        missing = [i64(0)] * (len(_EXTENTS) - len(steps))
        layer = i64(0) if layer is None else layer
        self.b.call(_mix(self.emitter, len(steps)), (self.row, *steps, *missing, layer, out))

    def take(self, indices: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at integer indices, after the address modes are applied."""
        kept = [self.address(axis, index) for axis, index in enumerate(indices)]
        full = [*kept, *[i64(0)] * (len(_EXTENTS) - len(kept))]
        if layer is not None:
            full[2] = layer
        self.b.call(fetch(self.emitter), (self.row, *full, out))

    def address(self, axis: int, index: ir.Value) -> ir.Value:
        """An index after the address mode is applied; -1 stands for the border."""
        address = coordinates.address(self.emitter)
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
        for kind in filtering.KINDS:
            block = b.append_basic_block(kind)
            choice.add_case(i64(FORMATS.index(kind)), block)
            b.position_at_end(block)
            b.call(filtering.blend(self.emitter, kind, count), (pointers, shares, stride, channels, out))
            b.branch(done)
        b.position_at_end(done)

    def channels(self, host: ir.Value, out: ir.Value) -> None:
        """Read a texel; missing channels are 0."""
        b, count, format_ = self.b, self.word("channels"), self.word("format")
        normalized = self.flag(NORMALIZED_READ)
        step = b.udiv(self.word("element"), count)
        with counted(b, count) as channel:
            pointer = at(b, host, b.mul(step, channel))
            value = b.call(texel.channel(self.emitter), (pointer, format_, normalized))
            b.store(value, at(b, out, b.shl(channel, i64(2))))


def _slot(b: ir.IRBuilder, type_: ir.Type) -> ir.Value:
    """A stack slot in the builder's block, which must be the first one."""
    slot = b.alloca(type_)
    slot.type = POINTER
    return slot


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
