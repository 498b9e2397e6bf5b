"""Launches of the host code that may have written an array before a kernel reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.lab.drafts import types
from gpuregress.lab.drafts.types import KnownTypes
from gpuregress.lab.host_programs import objects
from gpuregress.lab.host_programs.objects import ArrayPointer, HostArray, HostTexture, Object, SeenLaunch, Structure
from gpuregress.lab.host_programs.program import HostFiles
from gpuregress.toolchain.cxx_declarations import CxxParameter


def last_writer(
    memory: HostArray, launches: Sequence[SeenLaunch], program: HostFiles, known: KnownTypes, *, is_strict: bool = False
) -> SeenLaunch | None:
    """Return the last launch whose kernel may write an array, as far as const tells; None where there is none.

    Args:
        memory: the array.
        launches: in the order of the program.
        program: what the files define.
        known: of the types of the kernels' parameters.
        is_strict: whether a kernel of which no declaration is seen counts as one that writes what it is given.
    """
    for launch in reversed(launches):
        kernel = program.kernel(launch.kernel)
        if kernel is None and is_strict and memory in _arrays(launch.arguments):
            return launch
        for parameter, value in zip(kernel.parameters if kernel else (), launch.arguments, strict=False):
            if not parameter.const and any(one is memory for one in _written(parameter, value, known)):
                return launch
    return None


def _arrays(values: Sequence[Object | None]) -> list[HostArray]:
    """List the arrays that arguments point to."""
    return [one.memory for one in values if isinstance(one, (ArrayPointer, HostTexture)) and one.memory is not None]


def _written(parameter: CxxParameter, value: Object | None, known: KnownTypes) -> Iterator[HostArray | None]:
    """List the arrays that a kernel may write through an argument."""
    type_ = types.plain(parameter.type)
    layout = known.layouts.get(type_)
    if isinstance(value, ArrayPointer) or (isinstance(value, HostTexture) and type_ == "cudaSurfaceObject_t"):
        yield value.memory
    elif layout is not None:
        for field in layout.fields:
            member = objects.member_of(value, field.path)
            if isinstance(member, ArrayPointer) and "const" not in field.type:
                yield member.memory
    elif isinstance(value, Structure):
        for cell in value.members.values():
            yield from _written(parameter, cell.value, known)
