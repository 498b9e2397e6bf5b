"""Mapping of elements to blocks, warps and lanes, guessed from the sizes of a launch.

A launch does not determine which thread writes which element. These usual mappings are assumed if the sizes fit:

* one element a block, with as many blocks as elements (block sums);
* for two dimensions, block and grid tile rows (y) and columns (x);
* element i is global thread i, with enough threads and no more blocks than needed;
* several elements a thread: each block has one stretch of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Launch
from gpuregress.gpu.records import Record

Indices = npt.NDArray[np.int64]
WARP = 32


class ThreadMapping(Record):
    """Mapping of elements to blocks and threads.

    Attributes:
        kind: `block`, `tile`, `thread` or `stretch`.
        blocks: in the launch.
        threads: in a block.
        per_block: elements of a whole block.
        width: of a row, for `tile`.
        tile: (rows, columns) of a block, for `tile`.
        across: blocks along a row, for `tile`.
    """

    kind: str
    blocks: int
    threads: int
    per_block: int
    width: int = 1
    tile: tuple[int, int] = (1, 1)
    across: int = 1

    def block_of(self, indices: Indices) -> Indices:
        """The linear block index of each element."""
        if self.kind != "tile":
            return indices // self.per_block
        row, column = indices // self.width, indices % self.width
        return (row // self.tile[0]) * self.across + column // self.tile[1]

    def thread_of(self, indices: Indices) -> Indices | None:
        """The linear thread index of each element in its block; None if the mapping does not determine it."""
        if self.kind == "thread":
            return indices % self.threads
        if self.kind == "tile":
            row, column = indices // self.width, indices % self.width
            return (row % self.tile[0]) * self.tile[1] + column % self.tile[1]
        return None

    def describe(self, index: int) -> str:
        """Describe an element's thread: `block 7, thread 44 (warp 1, lane 12)`."""
        indices = np.array([index], np.int64)
        block, thread = int(self.block_of(indices)[0]), self.thread_of(indices)
        if thread is None:
            return f"block {block}"
        number = int(thread[0])
        return f"block {block}, thread {number} (warp {number // WARP}, lane {number % WARP})"


def fitting_mapping(launch: Launch, shape: tuple[int, ...]) -> ThreadMapping | None:
    """Find the mapping that fits a launch and a buffer.

    Args:
        launch: the one that writes the buffer.
        shape: elements along each axis.
    """
    total = int(np.prod(shape, dtype=np.int64))
    blocks, threads = int(np.prod(launch.grid)), int(np.prod(launch.block))
    if not total:
        return None
    if len(shape) >= 2 and launch.block[1] > 1:
        return _tiles(launch, shape, blocks, threads)
    if launch.block[1] > 1 or launch.block[2] > 1:
        return None
    if total == blocks and blocks > 1:
        return ThreadMapping("block", blocks, threads, 1)
    if (blocks - 1) * threads < total <= blocks * threads:
        return ThreadMapping("thread", blocks, threads, threads)
    if total > blocks * threads:
        return ThreadMapping("stretch", blocks, threads, -(-total // blocks))
    return None


def _tiles(launch: Launch, shape: tuple[int, ...], blocks: int, threads: int) -> ThreadMapping | None:
    width = shape[-1]
    rows = int(np.prod(shape[:-1], dtype=np.int64))
    columns_done, rows_done = launch.grid[0] * launch.block[0], launch.grid[1] * launch.block[1]
    if columns_done < width or rows_done < rows or launch.grid[2] * launch.block[2] > 1:
        return None
    return ThreadMapping("tile", blocks, threads, threads, width, (launch.block[1], launch.block[0]), launch.grid[0])
