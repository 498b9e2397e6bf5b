"""One launch as records: the input of the partition."""

from __future__ import annotations

from collections.abc import Mapping

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import StoredFootprint
from gpuregress.virtual_gpu.runtime.textures import Textures

Range = tuple[int, int]
"""Least and greatest value, both included."""
Box = Mapping[str, Range]
"""Range of each coordinate of some blocks."""


class AddressMap(Record):
    """The memory that addresses, handles and names refer to.

    Attributes:
        space: where the buffers are.
        textures: of textures and surfaces.
        symbols: addresses of the program's variables.
    """

    space: AddressSpace
    textures: Textures
    symbols: Mapping[str, int]


class KernelLaunch(Record):
    """One launch: grid, block, arguments, and the kernel's footprint.

    Attributes:
        footprint: of the kernel; None where the order of its blocks may matter.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        parameters: the argument bytes.
        addresses: the memory that they refer to.
    """

    footprint: StoredFootprint | None
    grid: Dim3
    block: Dim3
    parameters: bytes
    addresses: AddressMap

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def box(self) -> Box:
        """Ranges of all coordinates in the whole launch."""
        ranges = {}
        for axis, name in enumerate("xyz"):
            ranges[f"tid.{name}"] = 0, self.block[axis] - 1
            ranges[f"ctaid.{name}"] = 0, self.grid[axis] - 1
            ranges[f"ntid.{name}"] = self.block[axis], self.block[axis]
            ranges[f"nctaid.{name}"] = self.grid[axis], self.grid[axis]
        return ranges
