"""Records of the buffers of a case: their elements, and what they hold before the first launch."""

from __future__ import annotations

import math
from typing import Literal

from gpuregress.foundation import dtypes
from gpuregress.foundation.records.fills import FillOptions
from gpuregress.foundation.records.json_form import OneOf
from gpuregress.gpu.records import Record
from gpuregress.gpu.tensor_maps import TensorMap


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


class Texture(Record):
    """The sampling of a buffer that kernels take as a texture or a surface.

    Attributes:
        filter: `point` takes the nearest element, `linear` mixes its neighbours.
        address: along x, y, z: the address mode for coordinates outside.
        normalized: whether coordinates go from 0 to 1, not from 0 to the extent.
        read: `normalized_float` turns integers into 0 … 1 or -1 … 1.
        memory: `array`, or `linear` for tex1Dfetch.
        surface: whether it is a surface: then of the others only `kind` is used, which is `plain` or `layered`.
        kind: `layered`: the slowest axis counts images of their own; `cube`: six square faces, sampled by a direction;
            `cube-layered`: several such cubes.
    """

    filter: Literal["point", "linear"] = "point"
    address: tuple[str, str, str] = ("clamp", "clamp", "clamp")
    normalized: bool = False
    read: Literal["element", "normalized_float"] = "element"
    memory: Literal["array", "linear"] = "array"
    surface: bool = False
    kind: Literal["plain", "layered", "cube", "cube-layered"] = "plain"


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
