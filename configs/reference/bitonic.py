"""The gold standard of configs/bitonic.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def sorted_keys(inputs: Mapping[str, Array], case: Case) -> Array:
    """The keys, ascending."""
    del case
    return np.sort(inputs["keys"])
