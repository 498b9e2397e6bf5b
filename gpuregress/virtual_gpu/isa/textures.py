"""Textures and surfaces: tex, tld4, txq, suld, sust, suq through 64-bit handles.

A handle is looked up in the machine's table at each instruction; an unknown handle, or one of another kind of texture,
is a fault. Mipmaps and integer coordinates in two and three axes are refused.

PTX ISA manual, 9.7.10 and 9.7.11.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    F32,
    F64,
    I32,
    I64,
    POINTER,
    at,
    convert,
    entry_alloca,
    i32,
    i64,
    llvm_type,
    subroutine,
)
from gpuregress.virtual_gpu.checks import matrix_and_texel_notes
from gpuregress.virtual_gpu.checks.access_notes import AccessNote, note_access
from gpuregress.virtual_gpu.isa import texture_sampling
from gpuregress.virtual_gpu.isa.arithmetic import special_function_unit
from gpuregress.virtual_gpu.isa.memory.load_store import same_values
from gpuregress.virtual_gpu.ptx.modifiers import is_type, lanes, modifier_among, size, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Operand, Register, Sink, TextureAddress, elements
from gpuregress.virtual_gpu.runtime.checks import matrix_and_texel_reads
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_SURFACE, FAULT_TEXTURE, TEXTURE_SHIFT, TEXTURE_WINDOW
from gpuregress.virtual_gpu.runtime.textures import SURFACE_KEY, key

_AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2}
_LAYERED, _CUBES = frozenset(["a1d", "a2d", "acube"]), frozenset(["cube", "acube"])
_WHOLE_KEY = (1 << 16) - 1
_BOUNDS = ("trap", "clamp", "zero")
_QUERIES = ("width", "height", "depth")
_NOT_THERE = frozenset(["2dms", "a2dms", "p", "base", "f16x2", "f16", "mipmap", "unified", "array_size"])
_NULL = ir.Constant(POINTER, None)
_Values = tuple[ir.Value, ...]


class _Geometry(Record):
    """Dimensions of an instruction's image: its axes, and whether it is layered or a cube map."""

    axes: int
    layered: bool
    cube: bool

    def key(self, *, surface: bool = False) -> int:
        """The kind that the object must have."""
        return key(self.axes, surface=surface, layered=self.layered, cube=self.cube)


def _geometry(instruction: Instruction) -> _Geometry:
    for word in instruction.modifiers:
        if word in _NOT_THERE:
            raise unsupported(instruction, f".{word} is not implemented")
    axes = modifier_among(instruction, _AXES)
    if not axes:
        raise unsupported(instruction, "only 1d, 2d, 3d, layers and cubes are implemented")
    return _Geometry(_AXES[axes], axes in _LAYERED, axes in _CUBES)


def _axes(instruction: Instruction) -> int:
    """The axes of a plain image."""
    geometry = _geometry(instruction)
    if geometry.layered or geometry.cube:
        raise unsupported(instruction, "only 1d, 2d and 3d are implemented")
    return geometry.axes


def _parts(instruction: Instruction, operand: Operand) -> tuple[Register, tuple[Operand, ...]]:
    """The handle's register and the coordinates."""
    if not isinstance(operand, TextureAddress) or not isinstance(operand.base, Register):
        raise unsupported(instruction, "only texture and surface objects, through a handle, are implemented")
    return operand.base, elements(operand.coordinates)


def _targets(instruction: Instruction, operand: Operand, count: int) -> tuple[Operand, ...]:
    targets = elements(operand)
    if len(targets) != count or not all(isinstance(item, Register | Sink) for item in targets):
        raise unsupported(instruction, f"{count} registers are needed")
    return targets


def _row(emitter: Services, instruction: Instruction, handle: Operand, mask: int, required: int) -> ir.Value:
    """The row of a handle's texture; a fault if it is not of the required kind."""
    b = emitter.builder
    value = emitter.read(handle, "u64")
    site = i64(emitter.unit.site(instruction))
    row = _find(b, emitter.view.machine, value, i64(mask), i64(required), site)
    _leave_if(emitter, b.icmp_unsigned("==", row, _NULL))
    return row


def _leave_if(emitter: Services, lost: ir.Value) -> None:
    after = emitter.builder.append_basic_block("found")
    emitter.builder.cbranch(lost, emitter.fault_block, after).set_weights([1, 4000])
    emitter.builder.position_at_end(after)


@subroutine("texture.find", POINTER)
def _find(
    b: ir.IRBuilder, machine: ir.Value, handle: ir.Value, mask: ir.Value, required: ir.Value, site: ir.Value
) -> ir.Value:
    """`(machine, handle, mask, required, site) → row`; null, and a fault is recorded, if there is none."""
    number = b.sub(handle, i64(TEXTURE_WINDOW + 1))
    known = b.icmp_unsigned("<", number, field(b, machine, "texture_count"))
    number = b.select(known, number, i64(0))
    row = at(b, field(b, machine, "textures", POINTER), b.shl(number, i64(TEXTURE_SHIFT)))
    fits = b.icmp_unsigned("==", b.and_(texture_sampling.word(b, row, "key"), mask), required)
    good = b.and_(known, fits)
    with b.if_then(b.not_(good)):
        set_field(b, machine, "fault_kind", i64(FAULT_TEXTURE))
        set_field(b, machine, "fault_site", site)
        set_field(b, machine, "fault_address", handle)
    return b.select(good, row, _NULL)


# --- textures ---------------------------------------------------------------------------------------------------------


def _tex(emitter: Services, instruction: Instruction) -> None:
    geometry = _geometry(instruction)
    if len(instruction.operands) != 2 + ("level" in instruction.modifiers) + 2 * ("grad" in instruction.modifiers):
        raise unsupported(instruction, "offsets and depth comparison are not implemented")
    result, coordinate = _types(instruction)
    handle, coordinates = _parts(instruction, instruction.operands[1])
    out = _texel(emitter, instruction)
    if coordinate == "f32":
        row = _row(emitter, instruction, handle, _WHOLE_KEY, geometry.key())
        _sample(emitter, geometry, row, coordinates, out)
    else:
        _fetch_linear(emitter, instruction, _axes(instruction), handle, coordinates[0], out)
    _deliver(emitter, instruction, out, result)


def _sample(
    emitter: Services, geometry: _Geometry, row: ir.Value, coordinates: tuple[Operand, ...], out: ir.Value
) -> None:
    layer = emitter.read(coordinates[0], "u32") if geometry.layered else i32(0)
    count = 3 if geometry.cube else geometry.axes
    b = emitter.builder
    given = [emitter.read(item, "f32") for item in coordinates[geometry.layered :][:count]]
    if geometry.cube:
        given = _direction(emitter, given)
    given = [b.fpext(item, F64) for item in given]
    if geometry.cube:
        texture_sampling.sample_cube(emitter, b, row, *given, layer, out)
    elif geometry.layered:
        texture_sampling.sample_layer(emitter, count, b, row, *given, layer, out)
    else:
        texture_sampling.sample(emitter, count, b, row, *given, out)


def _direction(emitter: Services, given: list[ir.Value]) -> list[ir.Value]:
    """A cube's coordinates divided by their greatest magnitude: by its reciprocal, as ptxas does."""
    b = emitter.builder

    greatest, *others = (emitter.intrinsic("llvm.fabs.f32", F32, item) for item in given)
    for other in others:
        greatest = emitter.intrinsic("llvm.maxnum.f32", F32, greatest, other)
    reciprocal = special_function_unit.reciprocal(emitter, greatest)
    return [b.fmul(item, reciprocal) for item in given]


def _types(instruction: Instruction) -> tuple[str, str]:
    """The result's type and the coordinates'."""
    types = [word for word in instruction.modifiers if is_type(word)]
    if "v4" not in instruction.modifiers or len(types) != 2 or types[0] not in ("f32", "s32", "u32"):
        raise unsupported(instruction, "only .v4.f32, .v4.s32 and .v4.u32 are implemented")
    return types[0], types[1]


def _fetch_linear(
    emitter: Services, instruction: Instruction, axes: int, handle: Operand, index: Operand, out: ir.Value
) -> None:
    """Fetch an element of linear memory by its index (tex1Dfetch); zeros outside."""
    if axes != 1:
        raise unsupported(instruction, "integer coordinates are implemented in one axis only")
    row = _row(emitter, instruction, handle, _WHOLE_KEY, key(1, linear_memory=True))
    b = emitter.builder
    number = b.sext(emitter.read(index, "s32"), I64)
    number = b.select(b.icmp_unsigned("<", number, texture_sampling.word(b, row, "width")), number, i64(-1))
    texture_sampling.fetch(emitter, b, row, number, i64(0), i64(0), out)


def _tld4(emitter: Services, instruction: Instruction) -> None:
    result, coordinate = _types(instruction)
    channel = modifier_among(instruction, ("r", "g", "b", "a"))
    if _axes(instruction) != 2 or not channel or coordinate != "f32" or len(instruction.operands) != 2:
        raise unsupported(instruction, "only 2d, without offsets, is implemented")
    handle, coordinates = _parts(instruction, instruction.operands[1])
    row = _row(emitter, instruction, handle, _WHOLE_KEY, key(2))
    out, b = _texel(emitter, instruction), emitter.builder
    x, y = (b.fpext(emitter.read(item, "f32"), F64) for item in coordinates[:2])
    texture_sampling.gather(emitter, "rgba".index(channel), b, row, x, y, out)
    _deliver(emitter, instruction, out, result)


def _texel(emitter: Services, instruction: Instruction) -> ir.Value:
    """A slot for the texel that an instruction fetches."""
    out = entry_alloca(emitter.view.entry.function, texture_sampling.TEXEL)
    matrix_and_texel_notes.tell_reader(emitter, instruction, at(emitter.builder, out, texture_sampling.READER))
    return out


def _deliver(emitter: Services, instruction: Instruction, out: ir.Value, type_name: str) -> None:
    b = emitter.builder
    values = [b.load(at(b, out, 4 * index), typ=I32) for index in range(4)]
    for target, value in zip(_targets(instruction, instruction.operands[0], 4), values, strict=True):
        emitter.write(target, convert(b, value, llvm_type(type_name)), type_name)


def _query(emitter: Services, instruction: Instruction) -> None:
    """Lower a query of an extent: txq, suq."""
    queries = [word for word in instruction.modifiers if word in _QUERIES]
    source = instruction.operands[1]
    if instruction.modifiers != (*queries, "b32") or not isinstance(source, Address) or source.offset:
        raise unsupported(instruction, "only width, height and depth can be queried")
    if not isinstance(source.base, Register):
        raise unsupported(instruction, "only texture and surface objects, through a handle, are implemented")
    required = SURFACE_KEY if instruction.opcode == "suq" else 0
    row = _row(emitter, instruction, source.base, SURFACE_KEY, required)
    extent = emitter.builder.trunc(texture_sampling.word(emitter.builder, row, queries[0]), I32)
    emitter.write(instruction.operands[0], extent, "b32")


# --- surfaces ---------------------------------------------------------------------------------------------------------


def _suld(emitter: Services, instruction: Instruction) -> None:
    type_name, count = type_of(instruction), lanes(instruction)
    targets = _targets(instruction, instruction.operands[0], count)
    place = _surface(emitter, instruction, instruction.operands[1], matrix_and_texel_reads.SURFACE_READ)
    pointer = place.pointer
    b, type_ = emitter.builder, llvm_type(type_name)
    there = b.icmp_unsigned("!=", pointer, _NULL)
    with b.if_then(there):
        _watch(emitter, instruction, place, "read", None)
    zeros = entry_alloca(emitter.view.entry.function, ir.ArrayType(I64, 4))
    for index in range(4):
        b.store(i64(0), at(b, zeros, 8 * index))
    safe = b.select(there, pointer, zeros)
    for index, target in enumerate(targets):
        value = b.load(at(b, safe, size(type_name) * index), typ=type_, align=size(type_name))
        emitter.write(target, value, type_name)


def _sust(emitter: Services, instruction: Instruction) -> None:
    type_name, count = type_of(instruction), lanes(instruction)
    sources = elements(instruction.operands[1])
    if len(sources) != count:
        raise unsupported(instruction, f"{count} values are needed")
    place = _surface(emitter, instruction, instruction.operands[0], matrix_and_texel_reads.SURFACE_WRITE)
    pointer = place.pointer
    values = [emitter.read(item, type_name) for item in sources]
    b = emitter.builder
    with b.if_then(b.icmp_unsigned("!=", pointer, _NULL)):
        same = functools.partial(same_values, emitter, pointer, values, size(type_name))
        _watch(emitter, instruction, place, "write", same)
        for index, value in enumerate(values):
            b.store(value, at(b, pointer, size(type_name) * index), align=size(type_name))


class _SurfacePlace(Record):
    """The bytes that an instruction accesses.

    Attributes:
        pointer: null where an access outside is ignored (`.zero`).
        row: of the surface.
        count: bytes.
        site: the number of the instruction's site.
    """

    pointer: ir.Value
    row: ir.Value
    count: int
    site: int


def _watch(
    emitter: Services, instruction: Instruction, place: _SurfacePlace, action: str, same: Callable[[], ir.Value] | None
) -> None:
    """Show an access to the dynamic checks, where there are any; `same` is that of `note_access`."""
    if emitter.unit.granules is None:
        return
    b = emitter.builder
    offset = b.sub(b.ptrtoint(place.pointer, I64), texture_sampling.word(b, place.row, "host"))
    address = b.add(texture_sampling.word(b, place.row, "address"), offset)
    note_access(emitter, AccessNote(instruction, action, "global", place.count, place.site), address, same)


def _surface(emitter: Services, instruction: Instruction, operand: Operand, action: str) -> _SurfacePlace:
    geometry = _geometry(instruction)
    if geometry.cube:
        raise unsupported(instruction, "a cube's faces are the layers of a surface")
    bounds = modifier_among(instruction, _BOUNDS, "trap")
    if "b" not in instruction.modifiers:
        raise unsupported(instruction, "only the .b form is implemented")
    handle, coordinates = _parts(instruction, operand)
    row = _row(emitter, instruction, handle, _WHOLE_KEY, geometry.key(surface=True))
    count = size(type_of(instruction)) * lanes(instruction)
    site = emitter.unit.site(instruction, action, "surface", count)
    b = emitter.builder
    inside = coordinates[geometry.layered :][: geometry.axes]
    given = [b.sext(emitter.read(item, "s32"), I64) for item in inside]
    given += [i64(0)] * (3 - geometry.axes)
    if geometry.layered:
        given[2] = b.zext(emitter.read(coordinates[0], "u32"), I64)
    number = emitter.read(handle, "u64")
    pointer = _surface_address(bounds, b, emitter.view.machine, number, row, *given, i64(count), i64(site))
    if bounds == "trap":
        _leave_if(emitter, b.icmp_unsigned("==", pointer, _NULL))
    return _SurfacePlace(pointer, row, count, site)


@subroutine(lambda bounds: f"surface.address.{bounds}", POINTER)
def _surface_address(
    bounds: str, b: ir.IRBuilder, machine: ir.Value, handle: ir.Value, row: ir.Value, *place: ir.Value
) -> ir.Value:
    """`(machine, handle, row, x in bytes, y, z, bytes, site) → pointer or null`; `.trap`: a fault recorded, then.

    An x that is no multiple of the access's bytes traps, or is rounded down: the device's choice (PTX ISA, "suld").
    Here it traps where others do, and is rounded down where nothing traps.
    """
    x, y, z, count, site = place
    extents = [texture_sampling.word(b, row, name) for name in ("width", "height", "depth")]
    extents[0] = b.mul(extents[0], texture_sampling.word(b, row, "element"))
    lasts = [b.sub(extents[0], count), b.sub(extents[1], i64(1)), b.sub(extents[2], i64(1))]
    coordinates = [x, y, z]
    down = b.sub(i64(0), count)
    if bounds == "clamp":
        coordinates = [_clamped(b, value, last) for value, last in zip(coordinates, lasts, strict=True)]
    good = b.icmp_signed(">=", lasts[0], i64(0))
    for value, last in zip(coordinates, lasts, strict=True):
        # As unsigned numbers negative ones are too large; a negative last is caught by the line above.
        good = b.and_(good, b.icmp_unsigned("<=", value, last))
    if bounds == "trap":
        aligned = b.icmp_unsigned("==", b.and_(x, b.sub(count, i64(1))), i64(0))
        good = b.and_(good, aligned)
        with b.if_then(b.not_(good)):
            set_field(b, machine, "fault_kind", i64(FAULT_SURFACE))
            set_field(b, machine, "fault_site", site)
            set_field(b, machine, "fault_address", handle)
            for name, value in zip("xyz", coordinates, strict=True):
                set_field(b, machine, f"fault_{name}", value)
    line = b.add(b.mul(coordinates[2], extents[1]), coordinates[1])
    offset = b.add(b.mul(line, extents[0]), b.and_(coordinates[0], down))
    return b.select(good, at(b, texture_sampling.word(b, row, "host", POINTER), offset), _NULL)


def _clamped(b: ir.IRBuilder, value: ir.Value, last: ir.Value) -> ir.Value:
    low = b.select(b.icmp_signed("<", value, i64(0)), i64(0), value)
    return b.select(b.icmp_signed(">", low, last), last, low)


TABLE = {"tex": _tex, "tld4": _tld4, "txq": _query, "suq": _query, "suld": _suld, "sust": _sust}
