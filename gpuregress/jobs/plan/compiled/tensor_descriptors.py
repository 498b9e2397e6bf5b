"""Descriptors of tensors that a kernel in Python takes: a tensor map, extents and strides."""

from __future__ import annotations

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Argument, Buffer, CompiledDescriptor
from gpuregress.gpu.descriptors import TensorMap
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.resolve import scalar_arguments, tensor_maps


def fields(argument: Argument, buffer: Buffer, decided: CompiledDescriptor, added: dict[str, Buffer]) -> list[Argument]:
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
    shape = [_integer("int32", number) for number in extents]
    steps = [_integer("int64", number // size) for number in strides]
    if not decided.box:
        wide = [_integer("int64", number) for number in extents]
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


def _integer(dtype: str, number: int) -> Argument:
    data, text = scalar_arguments.pack(dtypes.parse(dtype), (number,))
    return Argument("scalar", dtype=dtype, data=data.hex(), text=text)


def _flag(value: bool) -> Argument:  # noqa: FBT001 - it is the value
    return _integer("uint8", int(value))
