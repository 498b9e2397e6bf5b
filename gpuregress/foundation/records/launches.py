"""Records of what a case launches: arguments, launches, and buffers with their fills."""

from __future__ import annotations

import math
from typing import Literal

from gpuregress.foundation import dtypes
from gpuregress.foundation.json_form import OneOf
from gpuregress.gpu.descriptors import TensorMap, Texture, TextureDescription
from gpuregress.gpu.programs import Dim3, LaunchShape
from gpuregress.gpu.records import Record, Sparse


class Argument(Record):
    """One argument of a kernel.

    Attributes:
        kind: `buffer`, `scalar`, `null` or `struct`.
        buffer: the buffer's name, for `buffer`.
        dtype: the scalar's (or CUDA vector's) type, for `scalar`.
        data: the scalar's little-endian bytes in hexadecimal, for `scalar`.
        text: the scalar as the launch log writes it.
        label: the expression where it is a plain name, as `n`; "" otherwise.
        fields: the members, in order, for `struct`; laid out as C does.
        as_map: whether it is the buffer's tensor map, not its address.
        in_memory: whether the tensor map is in global memory, and its address is passed.
        untyped: whether the kernel may take the buffer's elements for others.
        offset: bytes from the buffer's beginning to the address that is passed.
        names: of the fields, where the job gives members by name; the compiled program places them.
    """

    kind: Literal["buffer", "scalar", "null", "struct"]
    buffer: str = ""
    dtype: str = ""
    data: str = ""
    text: str = ""
    label: str = ""
    fields: tuple[Argument, ...] = ()
    as_map: bool = False
    in_memory: bool = False
    untyped: bool = False
    offset: int = 0
    names: tuple[str, ...] = ()

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that the kernel is given with it, those inside structs, too."""
        own = (self.buffer,) if self.kind == "buffer" else ()
        return (*own, *(name for member in self.fields for name in member.buffers))

    @property
    def maps_in_memory(self) -> tuple[str, ...]:
        """The buffers whose tensor maps it takes in global memory."""
        own = (self.buffer,) if self.in_memory else ()
        return (*own, *(name for member in self.fields for name in member.maps_in_memory))


class Launch(Record):
    """One launch of one kernel.

    Attributes:
        kernel: its C++ name, as `block_sum<float>`.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.
        args: in the kernel's order.
        swap: pairs of buffers that exchange their memory after this launch.
        origin: which entry of the job's `launches` it comes from.
        source: position of the kernel's source among the case's sources.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    args: tuple[Argument, ...]
    swap: tuple[tuple[str, str], ...] = ()
    origin: int = 0
    source: int = 0

    @property
    def shape(self) -> LaunchShape:
        """Its threads."""
        return LaunchShape(self.grid, self.block, self.shared)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that it takes or exchanges."""
        pending, names = list(self.args), dict[str, None]()
        while pending:
            argument = pending.pop()
            names |= {argument.buffer: None} if argument.kind == "buffer" else {}
            pending += argument.fields
        return (*names, *(name for pair in self.swap for name in pair))


# --- records of the buffers of a case: their elements, and what they hold before the first launch ---------------------


_LAYERED_ROW = 2
"""Axes of a shape: layers and width."""


class Fill(Record):
    """The contents of a buffer before the first launch.

    Attributes:
        kind: a name from `inputs.FILLS`.
        options: its settings.
        seed: derived from the job's seed and the buffer's name.
        same: the buffer whose contents these are, for `same`.
    """

    kind: str
    options: OneOf[FillOptions]
    seed: int
    same: Buffer | None = None

    @property
    def runs_user_code(self) -> bool:
        """Tell whether a Python function of the user makes the contents."""
        origin = self.same.fill if self.same is not None else self
        return origin is not None and origin.kind == "python"


class Buffer(Record):
    """A stretch of device memory.

    Attributes:
        name: as the job calls it.
        dtype: a name that `dtypes.parse` takes.
        shape: elements along each axis, slowest first.
        fill: None for an output, which is poisoned.
        symbol: the `__constant__` or `__device__` variable that this buffer is, if it is one.
        symbol_source: position of its source among the case's sources.
        texture: how it is read where kernels are given a texture or surface object; None: they are given a pointer.
        tensor_map: the tensor map that kernels are given; None: they are given a pointer.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    fill: Fill | None = None
    symbol: str | None = None
    texture: Texture | None = None
    symbol_source: int = 0
    tensor_map: TensorMap | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * dtypes.parse(self.dtype).size

    @property
    def is_poisoned(self) -> bool:
        """Tell whether it holds the poison before the first launch: it has neither a fill nor an initial value."""
        return self.fill is None and self.symbol is None

    @property
    def texture_description(self) -> TextureDescription | None:
        """What a device is asked for where this is read as a texture or surface; None where it is plain memory."""
        if self.texture is None:
            return None
        parts = dtypes.parse(self.dtype).parts
        extents = _extents(self.shape, self.texture)
        return TextureDescription(parts[0].scalar.name, len(parts), extents, self.texture)


def _extents(shape: tuple[int, ...], texture: Texture) -> tuple[int, int, int]:
    if texture.kind == "cube-layered":
        cubes, faces, height, width = shape
        return (width, height, cubes * faces)
    if texture.kind == "layered" and len(shape) == _LAYERED_ROW:
        return (shape[1], 0, shape[0])
    width, height, depth = (*reversed(shape), 0, 0)[:3]
    return (width, height, depth)


# --- options of fills, a record for each set of names; their JSON objects differ by their keys ----------------


Number = int | float


class NoOptions(Record):
    """Options of `zeros`, `ones`, `permutation` and `same`: none."""


class Progression(Record):
    """Options of `arange`: the first value, and from one to the next."""

    start: Number
    step: Number


class Interval(Record):
    """Options of `uniform` and `integers`: the smallest value, and the end, which is above every value."""

    low: Number
    high: Number


class NormalDistribution(Record):
    """Options of `normal`: mean and standard deviation."""

    mean: Number
    std: Number


class Values(Record):
    """Options of `value` (one, or one for each part) and of `choice` (possible elements)."""

    values: tuple[Number, ...]


class GeneratorSeed(Record):
    """Options of `park_miller`: the generator's state before the first step."""

    seed: Number


class InputFile(Sparse):
    """Options of `file`.

    Attributes:
        path: absolute; `x.npz:name` is one array of an archive.
        origin: an earlier result as the job names it, `baseline:reduce/n=8/sum`; "" for other files.
        digest: of the file of an earlier result, "" for other files.
    """

    path: str
    origin: str = ""
    digest: str = ""


class PythonFunction(Record):
    """Options of `python`: `/abs/module.py:function`."""

    function: str


FillOptions = (
    NoOptions | Progression | Interval | NormalDistribution | Values | GeneratorSeed | InputFile | PythonFunction
)
