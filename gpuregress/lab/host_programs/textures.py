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
    cell_at,
    member_of,
    number_at,
    value_at,
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
    if function is not None:
        spelled = re.search(r"<\s*([\w: ]+?)\s*>$", grammar.text(function))
        if spelled is not None:
            return _described(run.resolved(spelled[1]))
    numbers = [int(value.number) if isinstance(value, HostScalar) else 0 for value in values]
    if len(numbers) != 5:
        return _described("")
    kind_and_bits = (numbers[4], numbers[0])
    base = "half" if kind_and_bits == (2, 16) else _BASES.get(kind_and_bits, "")
    lanes = len([bits for bits in numbers[:4] if bits > 0])
    if not base:
        return _described("")
    if lanes == 1:
        return _described(_SCALARS.get(base, base))
    return _described(f"{base}{lanes}")


def _described(element: str) -> Structure:
    return Structure({"element": HostCell("element", element)}, "cudaChannelFormatDesc")


def _element(value: Object | None) -> str:
    """Return the type of an element that a `cudaChannelFormatDesc` describes; "" where it is not known."""
    if isinstance(value, Reference):
        value = value.cell.value
    if not isinstance(value, Structure) or "element" not in value.members:
        return ""
    return value.members["element"].type


def _allocate_array(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    sizes = [value for value in values[2:4] if isinstance(value, HostScalar)]
    _make_array(run, values, [size for size in reversed(sizes) if size.number > 0], "", node)
    return constant(0)


def _allocate_volume(run: Run, values: Sequence[Object | None], node: Node) -> Object:
    extent = value_at(values, 2)
    extents: list[HostScalar] = []
    if isinstance(extent, Structure) and {"depth", "height", "width"} <= extent.members.keys():
        sizes = [extent.members[name].value for name in ("depth", "height", "width")]
        extents = [size for size in sizes if isinstance(size, HostScalar) and size.number > 0]
    flags = number_at(values, 3)
    kind = ""
    if flags is not None:
        kind = _FLAGS.get(int(flags.number) & _LAYERED_OR_CUBE, "")
    _make_array(run, values, extents, kind, node)
    return constant(0)


def _make_array(
    run: Run, values: Sequence[Object | None], extents: Sequence[HostScalar], kind: str, node: Node
) -> None:
    cell = cell_at(values, 0)
    if cell is None:
        return
    element = _element(value_at(values, 1))
    total = run.size(element, node) if element else constant(4)
    for size in extents:
        total = scalars.binary("*", total, size)
    known_total = total if extents else None
    memory = HostArray(cell.name, known_total, run.place(node), element, extents=tuple(extents), kind=kind)
    cell.value = ArrayPointer(memory, element)


def _extent(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    sizes = zip(("width", "height", "depth"), values, strict=False)
    return Structure({name: HostCell(name, "", size) for name, size in sizes}, "cudaExtent")


def _copy_to_array(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    """`cudaMemcpyToArray` and `cudaMemcpy2DToArray`: array, two offsets, source."""
    if len(values) > 3 and isinstance(values[0], ArrayPointer):
        _fill(values[0].memory, values[3])
    return constant(0)


def _copy_volume(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    """`cudaMemcpy3D`: its parameters are a structure."""
    parameters = _structure(values, 0)
    target = member_of(parameters, "dstArray")
    if isinstance(target, ArrayPointer):
        _fill(target.memory, member_of(parameters, "srcPtr"))
    linear = member_of(parameters, "dstPtr")
    if isinstance(linear, ArrayPointer):
        linear.memory.contents = linear.memory.contents.changed()
    return constant(0)


def _pitched_pointer(_: Run, values: Sequence[Object | None], __: Node) -> Object | None:
    return value_at(values, 0)


def _fill(memory: HostArray, source: Object | None) -> None:
    if isinstance(source, ArrayPointer):
        is_whole = source.offset.number == 0
        memory.contents = memory.contents.with_copy(source.memory.contents, is_whole=is_whole)
    else:
        memory.contents = memory.contents.changed()


def _create_texture(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    cell = cell_at(values, 0)
    if cell is not None:
        memory, layout = _resource(_structure(values, 1))
        cell.value = HostTexture(memory, layout, _settings(_structure(values, 2)))
    return constant(0)


def _create_surface(_: Run, values: Sequence[Object | None], __: Node) -> Object:
    cell = cell_at(values, 0)
    if cell is not None:
        memory, layout = _resource(_structure(values, 1))
        cell.value = HostTexture(memory, layout, {})
    return constant(0)


def _structure(values: Sequence[Object | None], position: int) -> Structure | None:
    """Return the structure that an argument points to."""
    value = value_at(values, position)
    if isinstance(value, Reference):
        value = value.cell.value
    return value if isinstance(value, Structure) else None


def _resource(resource: Structure | None) -> tuple[HostArray | None, str]:
    """Return the memory of a resource, with its extents and elements, and `linear` or `array`."""
    kind = _number(member_of(resource, "resType"))
    if kind not in (_LINEAR, _PITCHED):
        array = member_of(resource, "res.array.array")
        return (array.memory if isinstance(array, ArrayPointer) else None), "array"
    part = "res.linear" if kind == _LINEAR else "res.pitch2D"
    layout = "linear" if kind == _LINEAR else "array"
    pointer = member_of(resource, f"{part}.devPtr")
    if not isinstance(pointer, ArrayPointer):
        return None, layout
    memory = pointer.memory
    memory.element = _element(member_of(resource, f"{part}.desc")) or memory.element
    height = member_of(resource, f"{part}.height")
    width = member_of(resource, f"{part}.width")
    memory.extents = ()
    if kind == _PITCHED and isinstance(height, HostScalar) and isinstance(width, HostScalar):
        memory.extents = (height, width)
    return memory, layout


def _number(value: Object | None) -> int:
    """Return an enumerator or a flag; 0 where it is not known."""
    if isinstance(value, HostScalar):
        return int(value.number)
    return 0


def _settings(description: Structure | None) -> dict[str, str]:
    """Write a texture's settings as a job does; defaults are left out."""
    modes = member_of(description, "addressMode")
    numbers = [0]
    if isinstance(modes, Structure) and modes.members:
        numbers = [_number(cell.value) for cell in modes.members.values()]
    names = [_ADDRESSES[number] if number < len(_ADDRESSES) else "clamp" for number in numbers]
    is_normalized = _is_set(description, "normalizedCoords")
    settings: dict[str, str] = {}
    if is_normalized or "border" in names:  # without normalized coordinates, wrap and mirror are clamp
        settings["address"] = names[0] if len(set(names)) == 1 else f"[{', '.join(names)}]"
    if _is_set(description, "filterMode"):
        settings["filter"] = "linear"
    if is_normalized:
        settings["normalized"] = "true"
    if _is_set(description, "readMode"):
        settings["read"] = "normalized_float"
    return settings


def _is_set(description: Structure | None, name: str) -> bool:
    value = member_of(description, name)
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
