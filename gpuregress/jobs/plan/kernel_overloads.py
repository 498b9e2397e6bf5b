"""Choice among overloaded kernels: the declaration that the arguments of a launch fit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.records import Argument, Launch
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cxx_aliases, cxx_declarations
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration

_OBJECTS = ("cudaTextureObject_t", "cudaSurfaceObject_t", "CUtensorMap")
_WORDS = ("uint64", "int64")
"""The types that a texture's handle may have."""


def resolved(
    launches: tuple[Launch, ...],
    contents: Sequence[tuple[bytes, ...]],
    buffers: Mapping[str, records.Buffer],
    defines: Callable[[], Mapping[str, str]],
) -> tuple[Launch, ...]:
    """Return the launches; the kernel of one whose name several kernels have is named with its parameters' types.

    A name stays as it is where not exactly one declaration fits the arguments: the compiler then lists them.

    Args:
        launches: of a case.
        contents: of the sources, each with the files that it includes.
        buffers: of the case.
        defines: the macros of the compilation, wanted only where a name is overloaded.
    """
    several = [_overloaded(one) for one in contents]
    if not any(several):
        return launches
    chosen: dict[int, Launch] = {}  # a step that is repeated a million times stays one object
    for launch in {id(launch): launch for launch in launches}.values():
        names = several[launch.source] if launch.source < len(several) else {}
        name = _of_several(launch, names, contents[launch.source], buffers, defines) if names else launch.kernel
        chosen[id(launch)] = replace(launch, kernel=name) if name != launch.kernel else launch
    return tuple(chosen[id(launch)] for launch in launches)


@functools.lru_cache(maxsize=64)
def _overloaded(contents: tuple[bytes, ...]) -> Mapping[str, tuple[Declaration, ...]]:
    """The kernels of a source and of its headers whose name has several types: name → its declarations."""
    found: dict[str, dict[object, Declaration]] = {}
    for content in contents:
        if content.count(b"__global__") and not content.startswith(b"\x7fELF"):
            for one in cxx_declarations.declarations(content.decode(errors="replace")):
                found.setdefault(one.name, {}).setdefault((bool(one.template), one.type_words), one)
    return {name: tuple(known.values()) for name, known in found.items() if len(known) > 1}


def _of_several(
    launch: Launch,
    several: Mapping[str, tuple[Declaration, ...]],
    contents: tuple[bytes, ...],
    buffers: Mapping[str, records.Buffer],
    defines: Callable[[], Mapping[str, str]],
) -> str:
    plain = cxx_declarations.strip_template_arguments(launch.kernel)
    given = cxx_declarations.template_arguments(launch.kernel)
    is_told = launch.kernel.startswith("_Z") or cxx_declarations.split_signature(launch.kernel)[1] is not None
    same = [one for one in several.get(plain.removeprefix("::"), ()) if bool(one.template) == bool(given)]
    if is_told or len(same) < 2:
        return launch.kernel
    aliases = cxx_aliases.aliases([content.decode(errors="replace") for content in contents], defines())
    for judge in (_is_exact, _is_possible):
        fitting = [one for one in same if _takes(one, launch, buffers, aliases, judge)]
        if len(fitting) == 1:
            return fitting[0].signature(given)
    return launch.kernel


def _takes(
    declared: Declaration,
    launch: Launch,
    buffers: Mapping[str, records.Buffer],
    aliases: Mapping[str, str],
    judge: Callable[[str, str | None], bool],
) -> bool:
    """Tell whether a kernel takes the arguments of a launch."""
    if len(declared.parameters) != len(launch.args):
        return False
    pointees = cxx_aliases.pointees(launch.kernel, declared, aliases)
    values = cxx_aliases.values(launch.kernel, declared, aliases)
    pairs = zip(launch.args, declared.parameters, pointees, values, strict=True)
    return all(
        _fits(argument, parameter, pointee, value, buffers, judge) for argument, parameter, pointee, value in pairs
    )


def _fits(
    argument: Argument,
    parameter: CxxParameter,
    pointee: str | None,
    value: str | None,
    buffers: Mapping[str, records.Buffer],
    judge: Callable[[str, str | None], bool],
) -> bool:
    buffer = buffers.get(argument.buffer) if argument.kind == "buffer" else None
    if argument.as_map or (buffer is not None and buffer.texture is not None):
        return value in _WORDS or any(name in parameter.type for name in _OBJECTS)
    if argument.kind == "struct":
        return not parameter.pointer and value is None
    if argument.kind == "scalar":
        return not parameter.pointer and judge(argument.dtype, value)
    return parameter.pointer and (buffer is None or argument.untyped or judge(buffer.dtype, pointee))


def _is_exact(own: str, wanted: str | None) -> bool:
    return own == wanted


def _is_possible(own: str, wanted: str | None) -> bool:
    """Tell whether a type that may not be known is one of the same kind and size."""
    if wanted is None:
        return True
    element, other = dtypes.parse(own), dtypes.parse(wanted)
    scalars = [{part.scalar for part in one.parts} for one in (element, other)]
    if own.startswith("{") or any(len(one) != 1 for one in scalars):
        return False
    (one,), (two,) = scalars
    return one.holds(two) or (one.size == two.size == 2 and one.is_float != two.is_float)
