"""Resolution of a buffer's texture or surface, checked against the GPU's limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.reader import Key
from gpuregress.jobs.spec.models.texture import TextureSpec
from gpuregress.jobs.spec.resolve.scope import Scope

FORMATS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32")
"""The scalar types of a channel."""

# The largest extents along x, y, z: CUDA programming guide, "Technical Specifications", the same from sm_70 on.
_ARRAYS = {1: (131072,), 2: (131072, 65536), 3: (16384, 16384, 16384)}
_SURFACES = {**_ARRAYS, 1: (32768,)}
_LINEAR = {1: (1 << 28,)}
_LAYERED: dict[int, tuple[int, ...]] = {2: (32768, 2048), 3: (32768, 32768, 2048)}
_CUBES: dict[str, dict[int, tuple[int, ...]]] = {
    "cube": {3: (32768, 32768, 6)},
    "cube-layered": {4: (32768, 32768, 6, 341)},
}
_FACES = 6
_SHAPES = {
    "plain": "[w], [h, w] or [d, h, w]",
    "layered": "[layers, w] or [layers, h, w]",
    "cube": "[6, w, w]",
    "cube-layered": "[cubes, 6, w, w]",
}


def texture(
    scope: Scope, given: TextureSpec | None, buffer: records.Buffer, key: Key, *, surface: bool | str
) -> records.Texture | None:
    """Resolve the sampling of a buffer.

    Args:
        scope: the case's numbers.
        given: `texture:`, if it is there.
        buffer: that is sampled.
        key: the buffer's.
        surface: what `surface:` says.
    """
    if given is None and not surface:
        return None
    own_key: Key = (*key, "surface" if given is None else "texture")
    if given is not None and surface:
        scope.error(own_key, "a buffer is a texture or a surface: kernels are given one object for it")
        return None
    resolved = _surface_of(surface) if given is None else _sampler(scope, given, buffer, own_key)
    if buffer.symbol is not None:
        scope.error(own_key, f"the buffer is the variable {buffer.symbol}: it cannot be a texture or surface, too")
    if given is not None and buffer.fill is None:
        scope.error(own_key, "kernels only read a texture: it needs a fill (they write to a buffer with surface: true)")
    _check_dtype(scope, buffer, (*key, "dtype"))
    _check_shape(scope, resolved, buffer, (*key, "shape"))
    return resolved


def _surface_of(surface: bool | str) -> records.Texture:  # noqa: FBT001 - what the key holds
    return records.Texture(surface=True, kind="layered" if surface == "layered" else "plain")


def _sampler(scope: Scope, given: TextureSpec, buffer: records.Buffer, key: Key) -> records.Texture:
    axes = len(buffer.shape) - (given.kind == "layered") if not given.kind.startswith("cube") else 1
    many = given.address * axes if len(given.address) == 1 else given.address
    _check_kind(scope, given, key)
    if len(many) != axes and 0 < axes <= len(_ARRAYS):
        scope.error(
            (*key, "address"), f"{len(many)} modes are given and the buffer has {axes} ax{'i' if axes == 1 else 'e'}s"
        )
    modes = (*many, "clamp", "clamp")[:3]
    for mode in ("wrap", "mirror"):
        if mode in many and not given.normalized:
            text = f"{mode} needs normalized coordinates: add normalized: true (the GPU would clamp)"
            scope.error((*key, "address"), text)
    _check_read(scope, given, buffer, key)
    address = cast("tuple[str, str, str]", modes)
    return records.Texture(given.filter, address, given.normalized, given.read, given.memory, kind=given.kind)


def _check_kind(scope: Scope, given: TextureSpec, key: Key) -> None:
    if given.kind != "plain" and given.memory == "linear":
        scope.error((*key, "memory"), f"linear memory is one row: nothing in it is {given.kind}")
    if not given.kind.startswith("cube"):
        return
    if given.normalized:
        scope.error((*key, "normalized"), "a cube is sampled by a direction, whatever its length")
    if set(given.address) != {"clamp"}:
        scope.error((*key, "address"), "a cube is sampled by a direction: nothing is outside")


def _check_read(scope: Scope, given: TextureSpec, buffer: records.Buffer, key: Key) -> None:
    scalar = dtypes.parse(buffer.dtype).parts[0].scalar
    small = scalar.kind in ("int", "uint") and scalar.size <= 2
    floats = scalar.is_float or (small and given.read == "normalized_float")
    if given.read == "normalized_float" and not small:
        scope.error((*key, "read"), f"normalized_float is for integers of 8 and 16 bits, not {scalar.name}")
    elif given.filter == "linear" and not floats:
        hint = ": add read: normalized_float" if small else ""
        scope.error((*key, "filter"), f"linear filtering gives floats, and {scalar.name} is read as it is{hint}")
    if given.memory == "linear" and (given.filter == "linear" or given.normalized or set(given.address) != {"clamp"}):
        scope.error((*key, "memory"), "linear memory is read by element numbers: no filter, address or normalized")


def _check_dtype(scope: Scope, buffer: records.Buffer, key: Key) -> None:
    element = dtypes.parse(buffer.dtype)
    names = {part.scalar.name for part in element.parts}
    packed = element.size == sum(part.scalar.size for part in element.parts)
    if len(element.parts) not in (1, 2, 4) or len(names) > 1 or not names <= set(FORMATS) or not packed:
        scope.error(key, f"{buffer.dtype}: textures and surfaces hold 1, 2 or 4 of {', '.join(FORMATS)}")


def _check_shape(scope: Scope, given: records.Texture, buffer: records.Buffer, key: Key) -> None:
    linear = given.memory == "linear" and given.kind == "plain"
    limits = _limits(given).get(len(buffer.shape))
    if limits is None:
        wanted = "[w], for tex1Dfetch" if linear else _SHAPES[given.kind]
        scope.error(key, f"has {len(buffer.shape)} axes; expected {wanted}")
        return
    if given.kind.startswith("cube") and (buffer.shape[-3] != _FACES or buffer.shape[-1] != buffer.shape[-2]):
        scope.error(key, f"a {given.kind} texture has six square faces: {_SHAPES[given.kind]}")
        return
    for extent, most, axis in zip(reversed(buffer.shape), limits, _axes(given.kind, len(limits)), strict=True):
        if extent > most:
            scope.error(key, f"{extent} {axis}: the limit of a GPU is {most}", extent)


def _limits(given: records.Texture) -> Mapping[int, tuple[int, ...]]:
    """Return the largest extents along each axis, fastest first, by the number of axes."""
    if given.kind != "plain":
        return _CUBES.get(given.kind, _LAYERED)
    if given.memory == "linear":
        return _LINEAR
    return _SURFACES if given.surface else _ARRAYS


def _axes(kind: str, count: int) -> list[str]:
    """Name the axes of a shape in messages, fastest first."""
    names = ["along x", "along y", "along z", ""][:count]
    if kind == "layered":
        names[-1] = "layers"
    return [*names[:2], "faces", "cubes"][:count] if kind.startswith("cube") else names
