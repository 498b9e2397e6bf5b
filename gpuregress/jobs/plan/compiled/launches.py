"""Launches, completed by what the compiler of a kernel in Python decided.

It decides the block, shared memory, the cluster and hidden arguments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Argument, Buffer, Case, Launch, Program
from gpuregress.gpu.records import replace

SCRATCH = "scratch_of_{}"
"""The name of the memory behind a hidden pointer of a kernel."""


def completed(case: Case, programs: Sequence[Program], references: Mapping[str, Program] | None = None) -> Case:
    """Return a case whose launches are as their kernels' compiler wants them; the case itself where none decides.

    Args:
        case: as planned.
        programs: its compiled sources; without them, the launches stay as they are.
        references: buffer → the compiled source of its trusted kernels; those without one stay as they are.
    """
    compiled = (*programs, *(references or {}).values())
    if not any(entry.launch is not None for program in compiled for entry in program.entries.values()):
        return case
    added: dict[str, Buffer] = {}

    def complete(launches: Sequence[Launch], programs: Sequence[Program]) -> tuple[Launch, ...]:
        if not programs:
            return tuple(launches)
        known: dict[int, Launch] = {}  # a step that is repeated a million times stays one object
        for launch in launches:
            if id(launch) not in known:
                known[id(launch)] = _completed(launch, {**case.buffers, **added}, programs, added)
        return tuple(known[id(launch)] for launch in launches)

    launches = complete(case.launches, programs)
    seeds = tuple(
        replace(one, launches=complete(one.launches, programs)) if one.launches else one for one in case.seeds
    )
    kernels = dict(case.reference_kernels)
    for name, program in (references or {}).items():
        kernels[name] = replace(kernels[name], launches=complete(kernels[name].launches, [program]))
    buffers = {**case.buffers, **added}
    return replace(case, launches=launches, seeds=seeds, reference_kernels=kernels, buffers=buffers)


def _completed(
    launch: Launch, buffers: Mapping[str, Buffer], programs: Sequence[Program], added: dict[str, Buffer]
) -> Launch:
    entry = programs[launch.source].entries.get(launch.kernel)
    decided = entry.launch if entry is not None else None
    if decided is None:
        return launch
    from gpuregress.jobs.plan.compiled import tensor_descriptors  # noqa: PLC0415 - loads the models of jobs

    x, y, z = launch.grid
    grid = (x * (decided.cluster or 1), y, z)
    fields: list[Argument] = []
    descriptors = {one.argument: one for one in decided.descriptors}
    for position, argument in enumerate(launch.args):
        axes = decided.arguments[position] if position < len(decided.arguments) else 0
        if position in descriptors and argument.kind == "buffer":
            fields += tensor_descriptors.fields(argument, buffers[argument.buffer], descriptors[position], added)
        else:
            fields += _array(argument, buffers[argument.buffer]) if axes and argument.kind == "buffer" else [argument]
    hidden = [_hidden(launch, size, math.prod(launch.grid), added) for size in decided.hidden]
    shared = launch.shared if decided.shared is None else decided.shared
    return replace(launch, grid=grid, block=decided.block or launch.block, shared=shared, args=(*fields, *hidden))


def _array(argument: Argument, buffer: Buffer) -> list[Argument]:
    """The fields of Numba's array: owner, its parent, elements, bytes of one, address, extents, strides."""
    size, null = dtypes.parse(buffer.dtype).size, Argument("null", text="null")
    strides = [size * math.prod(buffer.shape[axis + 1 :]) for axis in range(len(buffer.shape))]
    counts = [_integer(number) for number in (math.prod(buffer.shape), size)]
    return [null, null, *counts, argument, *(_integer(number) for number in (*buffer.shape, *strides))]


def _hidden(launch: Launch, size: int, blocks: int, scratch: dict[str, Buffer]) -> Argument:
    if not size:
        return Argument("null", text="null")
    name = SCRATCH.format(launch.kernel)
    taken = scratch.get(name)
    extent = max(size * blocks, taken.size if taken else 0)
    scratch[name] = Buffer(name, "uint8", (extent,))
    return Argument("buffer", buffer=name)


def _integer(number: int) -> Argument:
    from gpuregress.jobs.spec.resolve import scalar_arguments  # noqa: PLC0415 - as above

    data, text = scalar_arguments.pack(dtypes.parse("int64"), (number,))
    return Argument("scalar", dtype="int64", data=data.hex(), text=text)
