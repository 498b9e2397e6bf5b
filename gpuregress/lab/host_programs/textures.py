"""Textures, surfaces and CUDA arrays of host code: how they are made, and from what."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tree_sitter import Node

from gpuregress.lab.host_programs import scalars
from gpuregress.lab.host_programs.objects import (
    ArrayPointer,
    HostArray,
    HostCell,
    HostTexture,
    Object,
    Reference,
    Run,
    Structure,
)
from gpuregress.lab.host_programs.scalars import HostScalar, constant
from gpuregress.toolchain.host_code import grammar

ENUMERATORS: Mapping[str, int] = {
    "cudaAddressModeWrap": 0,
    "cudaAddressModeClamp": 1,
    "cudaAddressModeMirror": 2,
    "cudaAddressModeBorder": 3,
    "cudaFilterModePoint": 0,
    "cudaFilterModeLinear": 1,
    "cudaReadModeElementType": 0,
    "cudaReadModeNormalizedFloat": 1,
    "cudaResourceTypeArray": 0,
    "cudaResourceTypeMipmappedArray": 1,
    "cudaResourceTypeLinear": 2,
    "cudaResourceTypePitch2D": 3,
    "cudaArrayDefault": 0,
    "cudaArrayLayered": 1,
    "cudaArraySurfaceLoadStore": 2,
    "cudaArrayCubemap": 4,
    "cudaChannelFormatKindSigned": 0,
    "cudaChannelFormatKindUnsigned": 1,
    "cudaChannelFormatKindFloat": 2,
}
_ADDRESSES = ("wrap", "clamp", "mirror", "border")
_LINEAR, _PITCHED = 2, 3
_BASES = {
    (0, 8): "char",
    (0, 16): "short",
    (0, 32): "int",
    (1, 8): "uchar",
    (1, 16): "ushort",
    (1, 32): "uint",
    (2, 32): "float",
}
_SCALARS = {"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int"}
_LAYERED_OR_CUBE = 5
_FLAGS = {1: "layered", 4: "cube", 5: "cube-layered"}


def _channel(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    """`cudaCreateChannelDesc<T>()`, or with the bits of each component and their kind."""
    function = node.child_by_field_name("function")
    spelled = re.search(r"<\s*([\w: ]+?)\s*>$", grammar.text(function)) if function is not None else None
    if spelled is not None:
        return _described(run.resolved(spelled[1]))
    numbers = [int(one.number) if isinstance(one, HostScalar) else 0 for one in values]
    lanes = sum(bits > 0 for bits in numbers[:4])
    base = _BASES.get((numbers[4], numbers[0]), "") if len(numbers) == 5 else ""
    if len(numbers) == 5 and (numbers[4], numbers[0]) == (2, 16):
        base = "half"
    return _described("" if not base else _SCALARS.get(base, base) if lanes == 1 else f"{base}{lanes}")


def _described(element: str) -> Structure:
    return Structure({"element": HostCell("element", element)}, "cudaChannelFormatDesc")


def _element(value: Object | None) -> str:
    described = value.cell.value if isinstance(value, Reference) else value
    cell = described.members.get("element") if isinstance(described, Structure) else None
    return cell.type if cell is not None else ""


def _allocate_array(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    sizes = [one for one in values[2:4] if isinstance(one, HostScalar)]
    _make_array(run, values, [one for one in reversed(sizes) if one.number > 0], "", node)
    return constant(0)


def _allocate_volume(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    extent = values[2] if len(values) > 2 else None
    flags = values[3] if len(values) > 3 else None
    members = extent.members if isinstance(extent, Structure) else {}
    sizes = [cell.value for one in ("depth", "height", "width") if (cell := members.get(one)) is not None]
    known = [one for one in sizes if isinstance(one, HostScalar) and one.number > 0]
    kind = _FLAGS.get(int(flags.number) & _LAYERED_OR_CUBE, "") if isinstance(flags, HostScalar) else ""
    _make_array(run, values, known if len(sizes) == 3 else [], kind, node)
    return constant(0)


def _make_array(
    run: Run, values: Sequence[Object | None], extents: Sequence[HostScalar], kind: str, node: Node
) -> None:
    cell = values[0].cell if values and isinstance(values[0], Reference) else None
    if cell is None:
        return
    element = _element(values[1]) if len(values) > 1 else ""
    total = run.size(element, node) if element else constant(4)
    for one in extents:
        total = scalars.binary("*", total, one)
    memory = HostArray(cell.name, total if extents else None, run.place(node), element)
    memory.extents, memory.kind = tuple(extents), kind
    cell.value = ArrayPointer(memory, element)


def _extent(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    names = ("width", "height", "depth")
    return Structure({name: HostCell(name, "", one) for name, one in zip(names, values, strict=False)}, "cudaExtent")


def _copy_to_array(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    """`cudaMemcpyToArray` and `cudaMemcpy2DToArray`: array, two offsets, source."""
    if len(values) > 3 and isinstance(values[0], ArrayPointer):
        _fill(values[0].memory, values[3])
    return constant(0)


def _copy_volume(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    given = values[0].cell.value if values and isinstance(values[0], Reference) else None
    members = given.members if isinstance(given, Structure) else {}
    target, source = (cell.value if (cell := members.get(name)) else None for name in ("dstArray", "srcPtr"))
    if isinstance(target, ArrayPointer):
        _fill(target.memory, source)
    plain = members.get("dstPtr")
    if plain is not None and isinstance(plain.value, ArrayPointer):
        plain.value.memory.contents = plain.value.memory.contents.changed()
    return constant(0)


def _pitched_pointer(_: Run, values: Sequence[Object | None], __: Node) -> Object | None:
    return values[0] if values else None


def _fill(memory: HostArray, source: Object | None) -> None:
    if isinstance(source, ArrayPointer):
        is_whole = source.offset.number == 0
        memory.contents = memory.contents.with_copy(source.memory.contents, is_whole=is_whole)
    else:
        memory.contents = memory.contents.changed()


def _create_texture(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    cell = values[0].cell if values and isinstance(values[0], Reference) else None
    if cell is not None:
        resource, description = (_structure(values, at) for at in (1, 2))
        cell.value = HostTexture(*_resource(resource), _settings(description))
    return constant(0)


def _create_surface(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    cell = values[0].cell if values and isinstance(values[0], Reference) else None
    if cell is not None:
        cell.value = HostTexture(*_resource(_structure(values, 1)), {})
    return constant(0)


def _structure(values: Sequence[Object | None], at: int) -> Structure | None:
    value = values[at] if at < len(values) else None
    value = value.cell.value if isinstance(value, Reference) else value
    return value if isinstance(value, Structure) else None


def _at(value: Object | None, *names: str) -> Object | None:
    for name in names:
        cell = value.members.get(name) if isinstance(value, Structure) else None
        value = cell.value if cell is not None else None
    return value


def _resource(resource: Structure | None) -> tuple[HostArray | None, str]:
    """Return the memory of a resource, with its extents and elements, and `linear` or `array`."""
    kind = _at(resource, "resType")
    name = {_LINEAR: "linear", _PITCHED: "pitch2D"}.get(int(kind.number) if isinstance(kind, HostScalar) else 0, "")
    if not name:
        array = _at(resource, "res", "array", "array")
        return (array.memory if isinstance(array, ArrayPointer) else None), "array"
    pointer = _at(resource, "res", name, "devPtr")
    memory = pointer.memory if isinstance(pointer, ArrayPointer) else None
    if memory is not None:
        memory.element = _element(_at(resource, "res", name, "desc")) or memory.element
        sizes = [_at(resource, "res", name, one) for one in ("height", "width")]
        known = tuple(one for one in sizes if isinstance(one, HostScalar))
        memory.extents = known if len(known) == len(sizes) and name == "pitch2D" else ()
    return memory, "linear" if name == "linear" else "array"


def _settings(description: Structure | None) -> dict[str, str]:
    """Write a texture's settings as a job does; defaults are left out."""
    modes = _at(description, "addressMode")
    cells = modes.members.values() if isinstance(modes, Structure) else ()
    numbers = [int(one.value.number) if isinstance(one.value, HostScalar) else 0 for one in cells] or [0]
    names = [_ADDRESSES[one] if one < len(_ADDRESSES) else "clamp" for one in numbers]
    made = {"address": names[0] if len(set(names)) == 1 else f"[{', '.join(names)}]"}
    normalized = _flag(description, "normalizedCoords")
    if not normalized and "border" not in names:
        made = {}  # without normalized coordinates, wrap and mirror are clamp
    if _flag(description, "filterMode"):
        made["filter"] = "linear"
    if normalized:
        made["normalized"] = "true"
    if _flag(description, "readMode"):
        made["read"] = "normalized_float"
    return made


def _flag(description: Structure | None, name: str) -> bool:
    value = _at(description, name)
    return isinstance(value, HostScalar) and bool(value.number)


CALLS: Mapping[str, Callable[[Run, Sequence[Object | None], Node], Object | None]] = {
    "cudaCreateChannelDesc": _channel,
    "cudaMallocArray": _allocate_array,
    "cudaMalloc3DArray": _allocate_volume,
    "make_cudaExtent": _extent,
    "make_cudaPitchedPtr": _pitched_pointer,
    "cudaMemcpyToArray": _copy_to_array,
    "cudaMemcpy2DToArray": _copy_to_array,
    "cudaMemcpy2DToArrayAsync": _copy_to_array,
    "cudaMemcpyToArrayAsync": _copy_to_array,
    "cudaMemcpy3D": _copy_volume,
    "cudaMemcpy3DAsync": _copy_volume,
    "cudaCreateTextureObject": _create_texture,
    "cudaCreateSurfaceObject": _create_surface,
}
