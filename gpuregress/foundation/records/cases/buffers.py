"""Records of the buffers of a case: their elements, and what they hold before the first launch."""

from __future__ import annotations

import math

from gpuregress.foundation import dtypes
from gpuregress.foundation.records.fills import FillOptions
from gpuregress.foundation.records.json_form import OneOf
from gpuregress.gpu.descriptors import TensorMap, Texture, TextureDescription
from gpuregress.gpu.records import Record

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
