"""The gold standard of configs/morton.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def codes(inputs: Mapping[str, Array], case: Case) -> Array:
    """The bits of x and y in turn, one after the other."""
    del case
    x, y = inputs["x"], inputs["y"]
    code = np.zeros_like(x)
    for bit in range(16):
        code |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << 2 * bit + 1
    return code
