"""The gold standard of configs/scan.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def inclusive_scan(inputs: Mapping[str, Array], case: Case) -> Array:
    """out[i] = in[0] + … + in[i], exact: the sums stay below 2^31."""
    del case
    return np.cumsum(inputs["in"], dtype=np.int32)
