"""What keeps a number from being stored in an element's part; loads no numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuregress.dtypes import Scalar

PARK_MILLER_MODULUS = 2**31 - 1

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


def bounds_problem(values: Sequence[Any], scalar: Scalar) -> str | None:
    """Why one of these numbers cannot be stored, None if all can.

    Args:
        values: numbers.
        scalar: the part's type.
    """
    for value in values:
        problem = _float_problem(value, scalar) if scalar.is_float else _integer_problem(value, scalar)
        if problem:
            return problem
    return None


def _integer_problem(value: Any, scalar: Scalar) -> str | None:
    if not math.isfinite(float(value)) or value != int(value):
        return f"{value!r} is no whole number, and {scalar.name} holds only those"
    low, high = scalar.bounds
    return None if low <= value <= high else f"{value!r} does not fit {scalar.name}: {low} to {high}"


def _float_problem(value: Any, scalar: Scalar) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) > 2 ** _DIGITS[scalar.name] and float(value) != value:
        return f"{value!r} is no {scalar.name}: whole numbers are exact up to 2**{_DIGITS[scalar.name]}"
    if abs(value) > _LARGEST.get(scalar.name, math.inf):
        return f"{value!r} is too large for {scalar.name}"
    return None
