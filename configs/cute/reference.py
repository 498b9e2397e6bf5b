"""The gold standard of the job of this folder, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def row_norm(inputs: Mapping[str, Array], case: Case) -> Array:
    """Each row divided by its length."""
    del case
    values = inputs["x"].astype(np.float64)
    lengths = np.sqrt((values**2).sum(axis=1, keepdims=True) + 1e-6)
    result: Array = (values / lengths).astype(np.float16)
    return result
