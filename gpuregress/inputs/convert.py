"""Numbers → an element part's storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes
from gpuregress.dtypes import Scalar


def to_scalar(values: npt.NDArray[Any], scalar: Scalar) -> npt.NDArray[Any]:
    """Numbers in a part's storage dtype, rounded to nearest even; bfloat16 by way of float32, NaNs as a GPU makes them.

    Args:
        values: float64, int64, uint64, or Python numbers; known to fit.
        scalar: the part's type.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if scalar.kind == "bfloat":
            stored = dtypes.from_float32(values.astype(np.float64).astype("<f4"))
        elif values.dtype == object:
            stored = np.array([scalar.storage.type(value) for value in values], scalar.storage)
        else:
            stored = values.astype(scalar.storage)
    return dtypes.canonical_nans(stored, scalar)
