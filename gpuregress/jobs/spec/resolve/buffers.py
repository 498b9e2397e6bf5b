"""Resolution of a case's buffers: shapes, fills, files and textures."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document import units
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.buffer import BufferSpec, FillSpec, TextureSpec
from gpuregress.jobs.spec.resolve import tensor_maps
from gpuregress.jobs.spec.resolve.scope import (
    Scope,
    complete,
    existing_file,
    existing_user_function,
    record,
    resolved_dtype,
)

MAX_ELEMENTS = 2**40


def buffers(file: JobFile, scope: Scope, *, memory: int, seed: int, earlier: FindEarlier) -> dict[str, records.Buffer]:
    """All buffers of a case, in the job's order; those that are wrong are left out.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        memory: bytes that all of them may take.
        seed: from which those of fills derive.
        earlier: finds results of earlier runs.
    """
    given = file.job.buffers
    origins: dict[str, str] = {}
    for name, item in given.items():
        origin = _origin(file, scope, name, item)
        if origin is not None:
            origins[name] = origin
    resolved: dict[str, records.Buffer] = {}
    for name in sorted(given, key=lambda name: name in origins):  # what others are filled from comes first
        item = given[name]
        fill = None
        if item.fill is not None and item.fill.same is not None:
            if origins.get(name) in resolved:
                fill = _same(resolved[origins[name]])
        elif item.fill is not None:
            fill = _fill(scope, item.fill, name, inputs.seed_for(seed, name), earlier)
        buffer = _buffer(scope, name, item, fill)
        if buffer is not None and _is_sound(scope, item, buffer, memory):
            resolved[name] = buffer
    total = sum(buffer.size for buffer in resolved.values())
    if total > memory and len(resolved) == len(given):
        extents = itertools.chain.from_iterable(item.shape for item in given.values())
        scope.error(("buffers",), f"take {units.size_text(total)} together: {_over(memory)}", *extents)
    return {name: resolved[name] for name in given if name in resolved}


def _same(contents: records.Buffer) -> records.Fill:
    """The fill of a buffer that holds what another one does; its seed is the other one's."""
    assert contents.fill is not None, "a chain of `same` ends at a buffer with a fill"
    return records.Fill("same", records.NoOptions(), contents.fill.seed, contents)


def _buffer(scope: Scope, name: str, item: BufferSpec, fill: records.Fill | None) -> records.Buffer | None:
    key: Key = ("buffers", name)
    shape = scope.wholes(item.shape, (*key, "shape"), low=1, high=MAX_ELEMENTS, what="elements")
    dtype = resolved_dtype(scope, item.dtype, (*key, "dtype"))
    symbol = scope.text(item.symbol, (*key, "symbol"), strict=True) if item.symbol else None
    if shape is None or dtype is None or (item.fill and fill is None) or (item.symbol and symbol is None):
        return None
    buffer = records.Buffer(name, dtype, shape, fill, symbol)
    sampled = texture(scope, item.texture, buffer, key, surface=item.surface)
    if item.tensormap is not None and (item.texture is not None or item.surface):
        text = "a buffer is a texture, a surface or a tensor map: kernels are given one of them"
        scope.error((*key, "tensormap"), text)
    mapped = tensor_maps.tensor_map(scope, item.tensormap, buffer, key)
    return replace(buffer, texture=sampled, tensor_map=mapped)


def _is_sound(scope: Scope, item: BufferSpec, buffer: records.Buffer, memory: int) -> bool:
    key: Key = ("buffers", buffer.name)
    if buffer.size > memory:
        text = f"{list(buffer.shape)} of {buffer.dtype} is {units.size_text(buffer.size)}: {_over(memory)}"
        scope.error((*key, "shape"), text, *item.shape)
        return False
    problem = inputs.fill_problem(buffer)
    if problem:
        scope.error((*key, "fill"), problem, *item.shape)
    return not problem


def _origin(file: JobFile, scope: Scope, name: str, item: BufferSpec) -> str | None:
    """The buffer at the end of a chain of `same`; None without one, or where the chain is wrong, which is reported."""
    if item.fill is None or item.fill.same is None:
        return None
    key: Key = ("buffers", name, "fill", "same")
    chain, following = [name], item.fill.same
    while following not in chain:
        chain.append(following)
        other = file.job.buffers.get(following)
        if other is None:
            if len(chain) == 2 and ("buffers", following) not in file.broken and ("buffers",) not in file.broken:
                scope.problems.add(key, f"unknown buffer {following!r}{suggestion(following, file.job.buffers)}")
            return None
        if other.fill is None:
            if len(chain) == 2:
                text = f"{following} has no fill: same takes what a buffer holds before the first launch"
                scope.problems.add(key, text)
            return None
        if other.fill.same is None:
            return following
        following = other.fill.same
    cycle = [*chain[chain.index(following) :], following]
    scope.problems.add(key, f"{' → '.join(cycle)} is a cycle: one of them needs contents of its own")
    return None


def _over(memory: int) -> str:
    return f"more than the limit of {units.size_text(memory)} (limits: {{memory: …}})"


def _fill(scope: Scope, fill: FillSpec, name: str, seed: int, earlier: FindEarlier) -> records.Fill | None:
    kind = fill.kind
    before = scope.problems.reported
    options = _options(scope, kind, getattr(fill, kind), ("buffers", name, "fill", kind), earlier)
    if options is None or scope.problems.reported > before:
        return None
    return records.Fill(kind, options, seed)


def _options(scope: Scope, kind: str, setting: Any, key: Key, earlier: FindEarlier) -> records.FillOptions | None:
    """Evaluate the options of a fill; None if one is invalid, which is reported."""
    if setting is True and kind in ("zeros", "ones", "permutation"):
        return records.NoOptions()
    if kind == "file":
        return data_file(scope, key, setting, earlier)
    if kind == "python":
        return records.PythonFunction(str(existing_user_function(scope, setting, key)))
    if kind in ("value", "choice"):
        if isinstance(setting, list):
            values = complete([scope.number(value, (*key, position)) for position, value in enumerate(setting)])
        else:
            values = complete([scope.number(setting, key)])
        return None if values is None else records.Values(tuple(values))
    options = record(scope, setting, _NUMERIC[kind], key)
    if options is not None:
        _check_options(scope, kind, options, key)
    return options


NumericOptions = records.Progression | records.Interval | records.NormalDistribution | records.GeneratorSeed
_NUMERIC: dict[str, type[NumericOptions]] = {
    "arange": records.Progression,
    "uniform": records.Interval,
    "integers": records.Interval,
    "normal": records.NormalDistribution,
    "park_miller": records.GeneratorSeed,
}


def _check_options(scope: Scope, kind: str, options: records.FillOptions, key: Key) -> None:
    match options:
        case records.Interval(low, high):
            if low >= high:
                scope.error(key, f"low is {low} and high is {high}: high must be above low")
            if kind != "integers":
                return
            for name, value in (("low", low), ("high", high)):
                if value != int(value):
                    scope.error((*key, name), f"expected a whole number, got {value}")
        case records.NormalDistribution(std=std) if std < 0:
            scope.error((*key, "std"), f"is {std}: a standard deviation must be at least 0")
        case records.GeneratorSeed(seed) if not (1 <= seed <= 2**31 - 2 and seed == int(seed)):
            scope.error((*key, "seed"), f"expected a whole number from 1 to {2**31 - 2}, got {seed}")


# --- resolution of data files: of fills and references, in the project or from earlier results ------------------------


FindEarlier = Callable[[str], records.InputFile]
"""An earlier result, as `baseline:CASE/BUFFER` → its dump; raises GpuregressError."""
_EARLIER = re.compile(r"(baseline|run):")


def data_file(scope: Scope, key: Key, text: str, earlier: FindEarlier) -> records.InputFile | None:
    """Resolve a file for one case; None if it does not exist, which is reported.

    Args:
        scope: the case's numbers, which replace `{n}`; errors are reported there.
        key: of the file.
        text: as the job has it.
        earlier: finds earlier results.
    """
    name = scope.text(text, key)
    if name is None:
        return None
    if _EARLIER.match(name):
        try:
            return earlier(name)
        except GpuregressError as error:
            scope.error(key, str(error), text)
            return None
    file, member = inputs.split_member(name)
    path = existing_file(scope.problems, key, str(file), "file")
    if path is None:
        return None
    return records.InputFile(f"{path}:{member}" if member else str(path))


# --- resolution of a buffer's texture or surface, checked against the GPU's limits ------------------------------------


FORMATS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32")
"""The scalar types of a channel."""

# The largest extents along x, y, z: CUDA programming guide, "Technical Specifications", the same from sm_70 on.
_ARRAYS = {1: (131072,), 2: (131072, 65536), 3: (16384, 16384, 16384)}
_SURFACES = {**_ARRAYS, 1: (32768,)}
_LINEAR_EXTENTS = {1: (1 << 28,)}
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
    axes = len(buffer.shape)
    if given.kind == "layered":
        axes -= 1
    elif given.kind.startswith("cube"):
        axes = 1
    address = given.address * axes if len(given.address) == 1 else given.address
    _check_kind(scope, given, key)
    if len(address) != axes and 0 < axes <= len(_ARRAYS):
        count = "1 axis" if axes == 1 else f"{axes} axes"
        scope.error((*key, "address"), f"{len(address)} modes are given and the buffer has {count}")
    for mode in ("wrap", "mirror"):
        if mode in address and not given.normalized:
            text = f"{mode} needs normalized coordinates: add normalized: true (the GPU would clamp)"
            scope.error((*key, "address"), text)
    _check_read(scope, given, buffer, key)
    modes = cast("tuple[str, str, str]", (*address, "clamp", "clamp")[:3])
    return records.Texture(
        filter=given.filter,
        address=modes,
        normalized=given.normalized,
        read=given.read,
        memory=given.memory,
        kind=given.kind,
    )


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
    limits = _texture_limits(given).get(len(buffer.shape))
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


def _texture_limits(given: records.Texture) -> Mapping[int, tuple[int, ...]]:
    """Return the largest extents along each axis, fastest first, by the number of axes."""
    if given.kind != "plain":
        return _CUBES.get(given.kind, _LAYERED)
    if given.memory == "linear":
        return _LINEAR_EXTENTS
    return _SURFACES if given.surface else _ARRAYS


def _axes(kind: str, count: int) -> list[str]:
    """Name the axes of a shape in messages, fastest first."""
    if kind.startswith("cube"):
        return ["along x", "along y", "faces", "cubes"][:count]
    names = ["along x", "along y", "along z", ""][:count]
    if kind == "layered":
        names[-1] = "layers"
    return names
