"""Additions of compiled programs to a plan: hidden arguments, descriptors and revisions.

The program decides the block, shared memory, the cluster and hidden arguments.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Argument, Buffer, Case, CompiledDescriptor, Launch, Program
from gpuregress.gpu.descriptors import TensorMap
from gpuregress.gpu.records import replace
from gpuregress.jobs import revision
from gpuregress.jobs.plan import named_members, warp_arguments
from gpuregress.jobs.spec.resolve import tensor_maps
from gpuregress.jobs.spec.resolve.launches import changed_once, number_argument

SCRATCH = "scratch_of_{}"
"""The name of the memory that a hidden pointer of a kernel points to."""


def completed(case: Case, programs: Sequence[Program], references: Mapping[str, Program] | None = None) -> Case:
    """Return a case whose launches are as their kernels' compiler wants them; the case itself where none decides.

    Args:
        case: as planned.
        programs: its compiled sources; without them, the launches stay as they are.
        references: buffer → the compiled source of its trusted kernels; those without one stay as they are.
    """
    references = references or {}
    compiled = (*programs, *references.values())
    is_decided = any(entry.launch is not None for program in compiled for entry in program.entries.values())
    if not is_decided and not has_named_members(case):
        return case
    added: dict[str, Buffer] = {}
    launches = _completed_launches(case.launches, case.buffers, programs, added)
    seeds = [
        replace(seed, launches=_completed_launches(seed.launches, case.buffers, programs, added)) for seed in case.seeds
    ]
    kernels = dict(case.reference_kernels)
    for name, program in references.items():
        reference_launches = _completed_launches(kernels[name].launches, case.buffers, [program], added)
        kernels[name] = replace(kernels[name], launches=reference_launches)
    buffers = {**case.buffers, **added}
    return replace(case, launches=launches, seeds=tuple(seeds), reference_kernels=kernels, buffers=buffers)


def _completed_launches(
    launches: Sequence[Launch], buffers: Mapping[str, Buffer], programs: Sequence[Program], added: dict[str, Buffer]
) -> tuple[Launch, ...]:
    if not programs:
        return tuple(launches)
    return changed_once(launches, lambda launch: _completed(launch, {**buffers, **added}, programs, added))


def has_named_members(case: Case) -> bool:
    """Tell whether a launch of a case or of its references gives members by name."""
    launches = [*case.launches]
    for seed in case.seeds:
        launches += seed.launches
    for reference in case.reference_kernels.values():
        launches += reference.launches
    distinct = {id(launch): launch for launch in launches}  # a step that is repeated a million times is one object
    return any(argument.names for launch in distinct.values() for argument in launch.args)


def _with_placed_members(launch: Launch, program: Program) -> Launch:
    """Place members that are given by name; a wrong one stays as it is, which `signature_check` reports."""
    types = program.types.get(launch.kernel, ())
    if len(types) != len(launch.args):
        return launch
    arguments = list(launch.args)
    for position, argument in enumerate(arguments):
        if argument.names:
            with contextlib.suppress(ValueError):
                arguments[position] = named_members.placed(argument, types[position])
    return replace(launch, args=tuple(arguments))


def _completed(
    launch: Launch, buffers: Mapping[str, Buffer], programs: Sequence[Program], added: dict[str, Buffer]
) -> Launch:
    entry = programs[launch.source].entries.get(launch.kernel)
    if any(argument.names for argument in launch.args):
        launch = _with_placed_members(launch, programs[launch.source])
    if entry is None or entry.launch is None:
        return launch
    decided = entry.launch
    if decided.warp is not None:
        assert decided.block is not None
        launch = warp_arguments.passed(launch, decided.warp, buffers, decided.block[0])
    arguments: list[Argument] = []
    descriptors = {descriptor.argument: descriptor for descriptor in decided.descriptors}
    for position, argument in enumerate(launch.args):
        is_array = position < len(decided.arguments) and bool(decided.arguments[position])
        if argument.kind == "buffer" and position in descriptors:
            arguments += descriptor_fields(argument, buffers[argument.buffer], descriptors[position], added)
        elif argument.kind == "buffer" and is_array:
            arguments += _array(argument, buffers[argument.buffer])
        else:
            arguments.append(argument)
    for size in decided.hidden:
        arguments.append(_hidden(launch, size, added))
    x, y, z = launch.grid
    return replace(
        launch,
        grid=(x * (decided.cluster or 1), y, z),
        block=decided.block or launch.block,
        shared=launch.shared if decided.shared is None else decided.shared,
        args=tuple(arguments),
    )


def _array(argument: Argument, buffer: Buffer) -> list[Argument]:
    """The fields of Numba's array: owner, its parent, elements, bytes of one, address, extents, strides."""
    size = dtypes.parse(buffer.dtype).size
    null = Argument("null", text="null")
    strides = [size * math.prod(buffer.shape[axis + 1 :]) for axis in range(len(buffer.shape))]
    count = _number("int64", math.prod(buffer.shape))
    extents_and_strides = [_number("int64", number) for number in (*buffer.shape, *strides)]
    return [null, null, count, _number("int64", size), argument, *extents_and_strides]


def _hidden(launch: Launch, size: int, scratch: dict[str, Buffer]) -> Argument:
    """Return a hidden pointer of a kernel to `size` bytes a block; a null pointer for none."""
    if not size:
        return Argument("null", text="null")
    name = SCRATCH.format(launch.kernel)
    extent = size * math.prod(launch.grid)
    if name in scratch:
        extent = max(extent, scratch[name].size)
    scratch[name] = Buffer(name, "uint8", (extent,))
    return Argument("buffer", buffer=name)


def _number(dtype: str, number: int) -> Argument:
    return number_argument(dtype, (number,))


# --- revisions of sources whose text does not tell all that they read: what they were compiled to does ----------------


def of_programs(
    case: Case, programs: Sequence[Program], recorded: Callable[[str, str], Collection[str]]
) -> tuple[Case, str | None]:
    """Return a case with the revision of its compiled programs, and a note for the user.

    Where a source's text does not tell all that it reads, what it was compiled to does. Else the case is as planned.

    Args:
        case: as planned.
        programs: its compiled sources.
        recorded: job, label → the digests of the sources that were recorded under it before this run.
    """
    parts: list[str | bytes] = []
    for program in programs:
        if program.unknown:
            parts += [*program.options, storage.read_bytes(Path(program.ptx))]
    if not parts:
        return case, None
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
    tensor_map = buffer.tensor_map or tensor_maps.plain(buffer)
    size = tensor_map.element_size
    extents = tensor_map.extents[::-1]
    shape = [_number("int32", extent) for extent in extents]
    strides = [_number("int64", stride // size) for stride in (*tensor_map.strides[::-1], size)]
    if not decided.box:
        wide = [_number("int64", extent) for extent in extents]
        fills_nan = _number("uint8", int(tensor_map.oob_fill == "nan"))
        is_tfloat32 = _number("uint8", int(tensor_map.type.startswith("tfloat32")))
        return [replace(argument, as_map=False), *wide, *strides, fills_nan, is_tfloat32, *shape, *strides]
    tensor_map = replace(tensor_map, box=decided.box[::-1], swizzle=decided.swizzle)
    if buffer.name in added and added[buffer.name].tensor_map != tensor_map:
        raise CompileError(
            f"{buffer.name} is taken as two descriptors with different maps ({_text(tensor_map)} and "
            f"{_text(added[buffer.name].tensor_map)}): give the kernels two buffers, the second with fill: {{same: …}}"
        )
    added[buffer.name] = replace(buffer, tensor_map=tensor_map)
    return [replace(argument, as_map=True), *shape, *strides]


def _text(given: TensorMap | None) -> str:
    return f"box {list(given.box[::-1])}, swizzle {given.swizzle}" if given is not None else "none"
