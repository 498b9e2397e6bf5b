"""The gold standards of configs/reduce.yaml: float32 sums in the order of the kernels, so the bits are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def block_sums(inputs: Mapping[str, Array], case: Case) -> Array:
    """Each block's sum, [ceil(n / tile)]: a tree of halves, as in shared memory."""
    x, tile = inputs["x"], int(case.parameters["tile"])
    padded = np.zeros(-(-x.size // tile) * tile, np.float32)
    padded[: x.size] = x
    return _tree(padded.reshape(-1, tile))


def total(inputs: Mapping[str, Array], case: Case) -> Array:
    """The sum of the block sums, [1]: 32 lanes in strides of 32, then the warp's tree."""
    partial = block_sums(inputs, case)
    lanes = np.zeros(32, np.float32)
    for start in range(0, partial.size, 32):
        row = partial[start : start + 32]
        lanes[: row.size] += row
    return _tree(lanes[np.newaxis, :])


def _tree(rows: Array) -> Array:
    """Adds the upper half of each row to its lower half until one column is left."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return rows[:, 0]
