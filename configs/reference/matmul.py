"""The gold standard of configs/matmul.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def matmul(inputs: Mapping[str, Array], case: Case) -> Array:
    """A B in float64: its own error is far below the job's bound."""
    del case
    return inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
