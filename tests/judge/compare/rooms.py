"""Small builders for the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Comparison, Rule
from gpuregress.judge import compare

Array = npt.NDArray[Any]


def request(dtype: str, shape: tuple[int, ...], rule: Rule | None = None) -> compare.ComparisonRequest:
    return compare.ComparisonRequest("x", dtypes.parse(dtype), shape, rule or Rule())


def array(dtype: str, values: Any) -> Array:
    """Values in a dtype's storage; bfloat16 is rounded from float32."""
    if dtype == "bfloat16":
        return dtypes.from_float32(np.array(values, np.float32))
    return np.array(values, dtypes.parse(dtype).storage)


def against(dtype: str, expected: Any, actual: Any, rule: Rule | None = None) -> Comparison:
    e, a = array(dtype, expected), array(dtype, actual)
    return compare.compare(request(dtype, a.shape, rule), e, a)
