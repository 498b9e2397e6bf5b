"""An image turned around its middle, bilinearly interpolated, 0 beyond its edges: what a texture does, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]

COSINE, SINE = 0.8, 0.6


def rotate(inputs: Mapping[str, Array], case: Case) -> Array:
    """The turned image, float64 of the input's shape."""
    del case
    image = np.asarray(inputs["in"], np.float64)
    rows, columns = image.shape
    row, column = np.indices(image.shape)
    x, y = column + 0.5 - columns / 2, row + 0.5 - rows / 2
    from_column = COSINE * x - SINE * y + columns / 2 - 0.5
    from_row = SINE * x + COSINE * y + rows / 2 - 0.5
    framed = np.pad(image, 1)  # a border of zeros, so that every neighbour is there
    left, top = np.floor(from_column).astype(int), np.floor(from_row).astype(int)
    right_weight, low_weight = from_column - left, from_row - top
    result = np.zeros(image.shape)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (low_weight if down else 1 - low_weight) * (right_weight if right else 1 - right_weight)
        place = np.clip(top + down + 1, 0, rows + 1), np.clip(left + right + 1, 0, columns + 1)
        result += weight * framed[place]
    return result
