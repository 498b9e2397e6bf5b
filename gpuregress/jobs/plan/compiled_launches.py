"""Additions of compiled programs to a plan: hidden arguments, descriptors and revisions.

The program decides the block, shared memory, the cluster and hidden arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, records, storage
from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Argument, Buffer, Case, CompiledDescriptor, Launch, Program
from gpuregress.gpu.descriptors import TensorMap
from gpuregress.gpu.records import replace
from gpuregress.jobs import revision
from gpuregress.jobs.spec.resolve import launches, tensor_maps
from gpuregress.jobs.spec.resolve.launches import pack

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
    x, y, z = launch.grid
    grid = (x * (decided.cluster or 1), y, z)
    fields: list[Argument] = []
    descriptors = {one.argument: one for one in decided.descriptors}
    for position, argument in enumerate(launch.args):
        axes = decided.arguments[position] if position < len(decided.arguments) else 0
        if position in descriptors and argument.kind == "buffer":
            fields += descriptor_fields(argument, buffers[argument.buffer], descriptors[position], added)
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
    data, text = pack(dtypes.parse("int64"), (number,))
    return Argument("scalar", dtype="int64", data=data.hex(), text=text)


# --- revisions of sources whose text does not tell all that they read: what they were compiled to does ----------------


def of_programs(
    case: records.Case, programs: Sequence[records.Program], recorded: Callable[[str, str], Collection[str]]
) -> tuple[records.Case, str | None]:
    """Return a case with the revision of its compiled programs, and a note for the user.

    Where a source's text does not tell all that it reads, what it was compiled to does. Else the case is as planned.

    Args:
        case: as planned.
        programs: its compiled sources.
        recorded: job, label → the digests of the sources that were recorded under it before this run.
    """
    unknown = [program for program in programs if program.unknown]
    if not unknown:
        return case, None
    parts: list[str | bytes] = []
    for one in unknown:
        parts += [*one.options, storage.read_bytes(Path(one.ptx))]
    label, digest = revision.of_program(case.revision, case.source_digest, parts)
    name, note = revision.resolve(label, digest, lambda text: recorded(case.job, text))
    return replace(case, revision=name, source_digest=digest), f"{case.job}: {note}" if note else None


# --- descriptors of tensors that a kernel in Python takes: a tensor map, extents and strides --------------------------


def descriptor_fields(
    argument: Argument, buffer: Buffer, decided: CompiledDescriptor, added: dict[str, Buffer]
) -> list[Argument]:
    """Return what is passed for a descriptor.

    Args:
        argument: the job's, a buffer.
        buffer: its buffer; a tensor map of the job tells extents, strides and the elements outside.
        decided: what the compiler decided.
        added: gets the buffer with its map.

    Raises:
        CompileError: the buffer has another map already.
    """
    given = buffer.tensor_map or tensor_maps.plain(buffer)
    size = given.element_size
    extents, strides = given.extents[::-1], [*given.strides[::-1], size]
    shape = [_integer_value("int32", number) for number in extents]
    steps = [_integer_value("int64", number // size) for number in strides]
    if not decided.box:
        wide = [_integer_value("int64", number) for number in extents]
        flags = [_flag(given.oob_fill == "nan"), _flag(given.type.startswith("tfloat32"))]
        return [replace(argument, as_map=False), *wide, *steps, *flags, *shape, *steps]
    made = replace(given, box=decided.box[::-1], swizzle=decided.swizzle)
    if buffer.name in added and added[buffer.name].tensor_map != made:
        raise CompileError(
            f"{buffer.name} is taken as two descriptors with different maps ({_text(made)} and "
            f"{_text(added[buffer.name].tensor_map)}): give the kernels two buffers, the second with fill: {{same: …}}"
        )
    added[buffer.name] = replace(buffer, tensor_map=made)
    return [replace(argument, as_map=True), *shape, *steps]


def _text(given: TensorMap | None) -> str:
    return f"box {list(given.box[::-1])}, swizzle {given.swizzle}" if given is not None else "none"


def _integer_value(dtype: str, number: int) -> Argument:
    data, text = launches.pack(dtypes.parse(dtype), (number,))
    return Argument("scalar", dtype=dtype, data=data.hex(), text=text)


def _flag(value: bool) -> Argument:  # noqa: FBT001 - it is the value
    return _integer_value("uint8", int(value))
