"""Texture sampling: addressing, filtering and conversion of texels.

Each operation is a subroutine of the module, built on first use. It reads the texture's row in the machine's table.
Coordinates are computed in float64, where the product of a float32 coordinate and an extent is exact. Weights of linear
filtering have 8 fractional bits; the weighted sum is rounded once, which the guide does not define: linear filtering
agrees with a GPU within a tolerance. CUDA programming guide, "Texture Fetching".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import Cell, at, entry_alloca, i32, i64
from gpuregress.devices.cpu.builder.types import F32, F64, I1, I8, I16, I32, I64, POINTER
from gpuregress.devices.cpu.runtime.textures import LINEAR_FILTER, MODES, NORMALIZED_COORDINATES, NORMALIZED_READ, WORDS
from gpuregress.devices.textures import FORMATS

TEXEL = ir.ArrayType(I32, 4)
"""Four channels, as the bits that registers get."""
_EXTENTS = ("width", "height", "depth")
_FACES = 6
_FARTHEST = float(1 << 40)
_Values = tuple[ir.Value, ...]


def word(b: ir.IRBuilder, row: ir.Value, name: str, type_: ir.Type = I64) -> ir.Value:
    """A word of a texture's row."""
    return b.load(at(b, row, WORDS[name]), typ=type_, align=8)


def sample(emitter: Services, axes: int) -> ir.Function:
    """`(row, x, y, z: double, texel) → 0`: sample at normalized or texel coordinates, with the texture's filter."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, *coordinates, out = arguments
        texture = _Texture(emitter, b, row)
        texture.filter(texture.scaled(coordinates[:axes]), out)
        return i32(0)

    return emitter.subroutine(f"texture.sample.{axes}", I32, (POINTER, F64, F64, F64, POINTER), build)


def sample_layer(emitter: Services, axes: int) -> ir.Function:
    """`(row, x, y: double, layer: i32, texel) → 0`: the same in a layer; the last one, if the index is too large."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, *coordinates, layer, out = arguments
        texture = _Texture(emitter, b, row)
        last = b.sub(texture.word("depth"), i64(1))
        texture.filter(texture.scaled(coordinates[:axes]), out, _at_most(b, b.zext(layer, I64), last))
        return i32(0)

    return emitter.subroutine(f"texture.sample_layer.{axes}", I32, (POINTER, F64, F64, I32, POINTER), build)


def sample_cube(emitter: Services) -> ir.Function:
    """`(row, x, y, z: double, cube: i32, texel) → 0`: the texel of a cube's face to which a direction points.

    CUDA programming guide, "Cubemap Textures": the greatest coordinate names the face. It does not say which of two
    equal ones is the greater: an H200 takes z before y before x, and the middle of the face for no direction at all.
    """

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, z, cube, out = arguments
        texture = _Texture(emitter, b, row)
        face, s, t, m = texture.face(x, y, z)
        extent = b.uitofp(texture.word("width"), F64)
        nowhere = b.fcmp_ordered("==", m, F64(0.0))
        coordinates = []
        for coordinate in (s, t):
            along = b.select(nowhere, F64(0.0), b.fdiv(coordinate, m))
            share = b.fmul(b.fadd(along, F64(1.0)), F64(0.5))
            share = b.select(b.fcmp_unordered("uno", share, share), F64(0.0), share)
            coordinates.append(b.fmul(share, extent))
        last = b.sub(b.udiv(texture.word("depth"), i64(_FACES)), i64(1))
        number = b.add(b.mul(_at_most(b, b.zext(cube, I64), last), i64(_FACES)), face)
        texture.filter(coordinates, out, number)
        return i32(0)

    return emitter.subroutine("texture.sample_cube", I32, (POINTER, F64, F64, F64, I32, POINTER), build)


def gather(emitter: Services, channel: int) -> ir.Function:
    """`(row, x, y: double, texel) → 0`: one channel of the four texels around a point (PTX ISA, tld4)."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, out = arguments
        # The builder is in the first block: a slot allocated by another builder would move its position.
        texel = b.alloca(TEXEL)
        texel.type = POINTER
        texture = _Texture(emitter, b, row)
        first = [texture.floor(b.fsub(coordinate, F64(0.5))) for coordinate in texture.scaled([x, y])]
        for index, steps in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
            corner = [b.add(start, i64(step)) for start, step in zip(first, steps, strict=True)]
            texture.take(corner, texel)
            b.store(b.load(at(b, texel, 4 * channel), typ=I32), at(b, out, 4 * index))
        return i32(0)

    return emitter.subroutine(f"texture.gather.{channel}", I32, (POINTER, F64, F64, POINTER), build)


def fetch(emitter: Services) -> ir.Function:
    """`(row, x, y, z: i64, texel) → 0`: one texel; zeros where an index is negative."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        row, x, y, z, out = arguments
        for channel in range(4):
            b.store(i32(0), at(b, out, 4 * channel))
        inside = b.icmp_signed(">=", b.or_(x, b.or_(y, z)), i64(0))
        with b.if_then(inside):
            texture = _Texture(emitter, b, row)
            line = b.add(b.mul(z, texture.word("height")), y)
            index = b.add(b.mul(line, texture.word("width")), x)
            host = at(b, texture.word("host", POINTER), b.mul(index, texture.word("element")))
            texture.channels(host, out)
        return i32(0)

    return emitter.subroutine("texture.fetch", I32, (POINTER, I64, I64, I64, POINTER), build)


# --- code for one texture ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Texture:
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
        return word(self.b, self.row, name, type_)

    def _flag(self, bit: int) -> ir.Value:
        return self.b.icmp_unsigned("!=", self.b.and_(self.word("flags"), i64(bit)), i64(0))

    def _call(self, name: str, *values: ir.Value) -> ir.Value:
        return self.b.call(self.emitter.unit.intrinsic(name, F64, (F64,) * len(values)), values)

    def floor(self, value: ir.Value) -> ir.Value:
        return self.b.fptosi(self._call("llvm.floor.f64", value), I64)

    def face(self, x: ir.Value, y: ir.Value, z: ir.Value) -> _Values:
        """The face's number, and the guide's s, t and m."""
        b = self.b
        sizes = [self._call("llvm.fabs.f64", coordinate) for coordinate in (x, y, z)]
        back = [b.fcmp_ordered("<", coordinate, F64(0.0)) for coordinate in (x, y, z)]
        turned = [b.fneg(coordinate) for coordinate in (x, y, z)]
        along_z = b.and_(b.fcmp_ordered(">=", sizes[2], sizes[0]), b.fcmp_ordered(">=", sizes[2], sizes[1]))
        along_y = b.fcmp_ordered(">=", sizes[1], sizes[0])

        def chosen(of_x: ir.Value, of_y: ir.Value, of_z: ir.Value) -> ir.Value:
            return b.select(along_z, of_z, b.select(along_y, of_y, of_x))

        numbers = [b.add(i64(2 * axis), b.zext(back[axis], I64)) for axis in range(3)]
        s = chosen(b.select(back[0], z, turned[2]), x, b.select(back[2], turned[0], x))
        t = chosen(turned[1], b.select(back[1], turned[2], z), turned[1])
        return (chosen(*numbers), s, t, chosen(*sizes))

    def scaled(self, coordinates: list[ir.Value]) -> list[ir.Value]:
        """Coordinates in texels; a NaN becomes 0, and very large ones are clamped."""
        b, normalized = self.b, self._flag(NORMALIZED_COORDINATES)
        scaled = []
        for coordinate, extent in zip(coordinates, _EXTENTS, strict=False):
            times = b.select(normalized, b.uitofp(self.word(extent), F64), F64(1.0))
            value = b.fmul(coordinate, times)
            value = b.select(b.fcmp_unordered("uno", value, value), F64(0.0), value)
            value = self._call("llvm.minnum.f64", value, F64(_FARTHEST))
            scaled.append(self._call("llvm.maxnum.f64", value, F64(-_FARTHEST)))
        return scaled

    def filter(self, scaled: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at coordinates in texels: the nearest one, or its neighbours interpolated."""
        with self.b.if_else(self._flag(LINEAR_FILTER)) as (linear, point):
            with linear:
                self._mix(scaled, out, layer)
            with point:
                self.take([self.floor(coordinate) for coordinate in scaled], out, layer)

    def take(self, indices: list[ir.Value], out: ir.Value, layer: ir.Value | None = None) -> None:
        """The texel at integer indices, after the address modes are applied."""
        address = _address(self.emitter)
        kept = [
            self.b.call(address, (self.word(f"mode{axis}"), index, self.word(_EXTENTS[axis])))
            for axis, index in enumerate(indices)
        ]
        coordinates = [*kept, *[i64(0)] * (3 - len(kept))]
        if layer is not None:
            coordinates[2] = layer
        self.b.call(fetch(self.emitter), (self.row, *coordinates, out))

    def _mix(self, scaled: list[ir.Value], out: ir.Value, layer: ir.Value | None) -> None:
        """Linear filtering of the 2, 4 or 8 texels around a point; texels of weight 0 are not read."""
        b = self.b
        first, weights = [], []
        for coordinate in scaled:
            shifted = b.fsub(coordinate, F64(0.5))
            low = self._call("llvm.floor.f64", shifted)
            steps = b.fadd(b.fmul(b.fsub(shifted, low), F64(256.0)), F64(0.5))
            high = b.fmul(self._call("llvm.floor.f64", steps), F64(1 / 256))
            first.append(b.fptosi(low, I64))
            weights.append((b.fsub(F64(1.0), high), high))
        sums = [Cell(b, F64(0.0)) for _ in range(4)]
        texel = entry_alloca(b.function, TEXEL)
        for steps in product((0, 1), repeat=len(scaled)):
            weight = F64(1.0)
            for axis, step in enumerate(steps):
                weight = b.fmul(weight, weights[axis][step])
            with b.if_then(b.fcmp_unordered("!=", weight, F64(0.0))):
                corner = [b.add(start, i64(step)) for start, step in zip(first, steps, strict=True)]
                self.take(corner, texel, layer)
                for channel, total in enumerate(sums):
                    value = b.fpext(b.load(at(b, texel, 4 * channel), typ=F32), F64)
                    total.set(b.fadd(total.get(), b.fmul(weight, value)))
        for channel, total in enumerate(sums):
            b.store(b.fptrunc(total.get(), F32), at(b, out, 4 * channel))

    def channels(self, host: ir.Value, out: ir.Value) -> None:
        """Read a texel; missing channels are 0, the fourth 1."""
        b, count, format_ = self.b, self.word("channels"), self.word("format")
        normalized = self._flag(NORMALIZED_READ)
        step = b.udiv(self.word("element"), count)
        floats = b.or_(normalized, b.icmp_unsigned(">=", format_, i64(FORMATS.index("float16"))))
        b.store(b.select(floats, i32(0x3F800000), i32(1)), at(b, out, 12))
        for channel in range(4):
            with b.if_then(b.icmp_unsigned("<", i64(channel), count)):
                pointer = at(b, host, b.mul(step, i64(channel)))
                b.store(b.call(_channel(self.emitter), (pointer, format_, normalized)), at(b, out, 4 * channel))


# --- coordinates ------------------------------------------------------------------------------------------------------


def _at_most(b: ir.IRBuilder, number: ir.Value, last: ir.Value) -> ir.Value:
    return b.select(b.icmp_unsigned(">", number, last), last, number)


def _address(emitter: Services) -> ir.Function:
    """`(mode, index, extent) → index`: apply an address mode; -1 stands for the border."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        mode, index, extent = arguments
        last = b.sub(extent, i64(1))
        low = b.select(b.icmp_signed("<", index, i64(0)), i64(0), index)
        clamp = b.select(b.icmp_signed(">", low, last), last, low)
        wrap = _modulo(b, index, extent)
        twice = b.shl(extent, i64(1))
        turned = _modulo(b, index, twice)
        back = b.sub(b.sub(twice, i64(1)), turned)
        mirror = b.select(b.icmp_signed("<", turned, extent), turned, back)
        border = b.select(b.icmp_unsigned("<", index, extent), index, i64(-1))
        wrapped = clamp
        for name, value in (("wrap", wrap), ("mirror", mirror), ("border", border)):
            wrapped = b.select(b.icmp_unsigned("==", mode, i64(MODES.index(name))), value, wrapped)
        return wrapped

    return emitter.subroutine("texture.address", I64, (I64, I64, I64), build)


def _modulo(b: ir.IRBuilder, index: ir.Value, extent: ir.Value) -> ir.Value:
    rest = b.srem(index, extent)
    return b.select(b.icmp_signed("<", rest, i64(0)), b.add(rest, extent), rest)


# --- texels -----------------------------------------------------------------------------------------------------------


def _channel(emitter: Services) -> ir.Function:
    """`(pointer, format, normalized) → bits`: read and convert one channel."""

    def build(b: ir.IRBuilder, arguments: _Values) -> ir.Value:
        pointer, format_, normalized = arguments
        done = b.append_basic_block("done")
        choice = b.switch(format_, done)
        incoming = [(i32(0), b.block)]
        for number, name in enumerate(FORMATS):
            block = b.append_basic_block(name)
            choice.add_case(i64(number), block)
            b.position_at_end(block)
            incoming.append((_number(b, pointer, name, normalized), b.block))
            b.branch(done)
        b.position_at_end(done)
        bits = b.phi(I32)
        for value, block in incoming:
            bits.add_incoming(value, block)
        return bits

    return emitter.subroutine("texture.channel", I32, (POINTER, I64, I1), build)


def _number(b: ir.IRBuilder, pointer: ir.Value, name: str, normalized: ir.Value) -> ir.Value:
    if name.endswith("32"):
        return b.load(pointer, typ=I32, align=4)
    bits = 8 if name.endswith("8") else 16
    value = b.load(pointer, typ=I8 if bits == 8 else I16, align=bits // 8)
    if name == "float16":
        return _widened_half(b, value)
    signed = not name.startswith("u")
    whole = b.sext(value, I32) if signed else b.zext(value, I32)
    largest = F32(float((1 << bits - signed) - 1))
    share = b.fdiv(b.sitofp(whole, F32), largest)
    share = b.select(b.fcmp_ordered("<", share, F32(-1.0)), F32(-1.0), share)
    return b.select(normalized, b.bitcast(share, I32), whole)


def _widened_half(b: ir.IRBuilder, half: ir.Value) -> ir.Value:
    """A float16's value as a float32's bits: the exponent moves by a product with 2^112, exact for subnormals too."""
    bits = b.zext(half, I32)
    magnitude = b.shl(b.and_(bits, i32(0x7FFF)), i32(13))
    moved = b.bitcast(b.fmul(b.bitcast(magnitude, F32), i32(0x77800000).bitcast(F32)), I32)
    special = b.icmp_unsigned(">=", magnitude, i32(0x7C00 << 13))
    value = b.select(special, b.or_(magnitude, i32(0x7F800000)), moved)
    return b.or_(value, b.shl(b.and_(bits, i32(0x8000)), i32(16)))
