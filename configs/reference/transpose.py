"""The gold standard of configs/transpose.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def transpose(inputs: Mapping[str, Array], case: Case) -> Array:
    """The matrix, rows and columns exchanged."""
    del case
    return np.ascontiguousarray(inputs["in"].T)
