"""The gold standard of configs/park_miller.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from gpuregress import Case

    Array = npt.NDArray[Any]


def park_miller(inputs: Mapping[str, Array], case: Case) -> Array:
    """The first n numbers after seed 1, one after another, as Park and Miller (CACM 31(10), 1988) define them."""
    del inputs
    numbers = np.empty(int(case.parameters["n"]), np.uint32)
    x = 1
    for i in range(numbers.size):
        x = 16807 * x % 2147483647
        numbers[i] = x
    return numbers
