"""Arguments of a Warp kernel as Warp passes them: launch bounds, and arrays as structs.

The layouts are those of `launch_bounds_t` in Warp's `builtin.h` and of `array_t` in its `array.h`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.reader import Key, dotted
from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Argument, Buffer, Launch, Program, WarpLaunch, WarpParameter
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.resolve.launches import DIM, first_of_entries, number_argument

_MOST_AXES = 4
"""Axes of every `array_t`, whatever its array has."""


def contradictions(
    launches: Sequence[Launch], programs: Sequence[Program], buffers: Mapping[str, Buffer], section: Key
) -> dict[Key, str]:
    """Compare the launches of Warp kernels, as the job has them, with the types that the kernels declare.

    Args:
        launches: as planned.
        programs: the compiled sources.
        buffers: of the case.
        section: where the launches are in the job.
    """
    problems: dict[Key, str] = {}
    for origin, launch in first_of_entries(launches).items():
        entry = programs[launch.source].entries.get(launch.kernel)
        if entry is None or entry.launch is None or entry.launch.warp is None:
            continue
        for key, problem in _problems(launch, entry.launch.warp, buffers):
            problems[*section, origin, *key] = problem
    return problems


def _problems(launch: Launch, warp: WarpLaunch, buffers: Mapping[str, Buffer]) -> Iterator[tuple[Key, str]]:
    if not launch.args or launch.args[0].text != DIM:
        yield (), f"missing key dim: the threads of {launch.kernel} along each axis, as wp.launch takes them"
        return
    dim, *arguments = launch.args
    if len(dim.fields) != warp.axes:
        yield ("dim",), f"{launch.kernel} takes {plural(warp.axes, 'dimension')} of wp.tid(), not {len(dim.fields)}"
    if len(arguments) != len(warp.parameters):
        names = ", ".join(parameter.name for parameter in warp.parameters)
        wanted = f"{plural(len(warp.parameters), 'argument')} ({names})"
        yield ("args",), f"{launch.kernel} takes {wanted}, not {len(arguments)}"
        return
    for position, (argument, parameter) in enumerate(zip(arguments, warp.parameters, strict=True)):
        problem = _problem(argument, parameter, buffers)
        if problem:
            yield ("args", position), f"{problem}, and {parameter.name} of {launch.kernel} is {_type(parameter)}"


def _problem(argument: Argument, parameter: WarpParameter, buffers: Mapping[str, Buffer]) -> str:
    if not parameter.axes:
        if argument.kind in ("buffer", "null"):
            return f"{argument.buffer or 'null'} is a pointer"
        is_other = bool(parameter.dtype) and argument.kind == "scalar" and argument.dtype != parameter.dtype
        return f"{argument.dtype} is given" if is_other else ""
    if argument.kind == "null":
        return ""
    if argument.kind != "buffer":
        return f"a {argument.dtype or 'struct'} is given: name a buffer"
    if argument.offset:
        return f"offset {argument.offset} is given: an array is a whole buffer"
    buffer = buffers[argument.buffer]
    if _extents(buffer, parameter) is None:
        return f"{buffer.name} is {buffer.dtype} of shape [{', '.join(map(str, buffer.shape))}]"
    return ""


def _type(parameter: WarpParameter) -> str:
    """Write a parameter's type in the words of a job."""
    if not parameter.axes:
        return parameter.dtype or "a structure: write {struct: [...]}"
    if not parameter.dtype:
        return f"an array of structures of {parameter.element[0]} bytes with {plural(parameter.axes, 'dimension')}"
    text = f"an array of {parameter.dtype} with {plural(parameter.axes, 'dimension')}"
    return f"{text} and elements [{', '.join(map(str, parameter.element))}]" if parameter.element else text


def _extents(buffer: Buffer, parameter: WarpParameter) -> tuple[int, ...] | None:
    """Return the extents of the array that a buffer holds; None if it holds no such array.

    The elements of an array of vectors are vectors of CUDA (`float3`), or further axes of the buffer; those of an array
    of structures are structures of the same size, or bytes on a further axis.
    """
    element = dtypes.parse(buffer.dtype)
    scalar = dtypes.parse(parameter.dtype or "uint8")
    further = parameter.element
    if element.name != scalar.name:
        is_other = bool(parameter.dtype) and {part.scalar.name for part in element.parts} != {scalar.name}
        if is_other or element.size != math.prod(parameter.element) * scalar.size:
            return None
        further = ()
    extents = tuple(buffer.shape[: parameter.axes])
    if len(extents) != parameter.axes or tuple(buffer.shape[parameter.axes :]) != further:
        return None
    return extents


def passed(launch: Launch, warp: WarpLaunch, buffers: Mapping[str, Buffer], block: int) -> Launch:
    """Return a launch as Warp makes it.

    Args:
        launch: as the job has it, without a grid.
        warp: what the kernel declares.
        buffers: of the case.
        block: threads of a block.

    Raises:
        CompileError: an argument is none that the kernel declares.
    """
    for key, problem in _problems(launch, warp, buffers):
        raise CompileError(f"{dotted(('launches', launch.origin, *key))}: {problem}")
    dim, *arguments = launch.args
    extents = [int(field.text) for field in dim.fields]
    threads = math.prod(extents)
    bounds = replace(dim, text="", fields=(*dim.fields, _number("uint64", threads), _number("uint64", 1)))
    own: list[Argument] = []
    for argument, parameter in zip(arguments, warp.parameters, strict=True):
        own.append(_array(argument, parameter, buffers) if parameter.axes else argument)
    return replace(launch, grid=(-(-threads // block), 1, 1), args=(bounds, *own))


def _array(argument: Argument, parameter: WarpParameter, buffers: Mapping[str, Buffer]) -> Argument:
    """Return Warp's `array_t`: the address, that of gradients, four extents, four strides in bytes, axes, flags."""
    null = Argument("null", text="null")
    shape: tuple[int, ...] = ()
    strides: list[int] = []
    if argument.kind == "buffer":
        buffer = buffers[argument.buffer]
        shape = _extents(buffer, parameter) or ()
        size = buffer.size // math.prod(shape)
        strides = [size * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    rest = [0] * (_MOST_AXES - len(shape))
    numbers = [_number("int32", number) for number in (*shape, *rest, *strides, *rest)]
    return Argument("struct", fields=(argument, null, *numbers, _number("uint16", len(shape)), _number("uint16", 0)))


def _number(dtype: str, number: int) -> Argument:
    return number_argument(dtype, (number,))
