"""The gold standard of configs/histogram.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def histogram(inputs: Mapping[str, Array], case: Case) -> Array:
    """How often each value stands in `data`, [bins]."""
    return np.bincount(inputs["data"], minlength=int(case.parameters["bins"])).astype(np.uint32)
