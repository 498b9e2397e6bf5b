"""Numbers → an element part's storage, and what keeps them from fitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes
from gpuregress.dtypes import Scalar

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


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
    if not np.isfinite(float(value)) or value != int(value):
        return f"{value!r} is no whole number, and {scalar.name} holds only those"
    low, high = integer_bounds(scalar)
    return None if low <= value <= high else f"{value!r} does not fit {scalar.name}: {low} to {high}"


def _float_problem(value: Any, scalar: Scalar) -> str | None:
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) > 2 ** _DIGITS[scalar.name] and float(value) != value:
        return f"{value!r} is no {scalar.name}: whole numbers are exact up to 2**{_DIGITS[scalar.name]}"
    if abs(value) > _LARGEST.get(scalar.name, np.inf):
        return f"{value!r} is too large for {scalar.name}"
    return None


def integer_bounds(scalar: Scalar) -> tuple[int, int]:
    """The smallest and largest number of an integer type, or of bool."""
    if scalar.kind == "bool":
        return 0, 1
    bits = 8 * scalar.size
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if scalar.kind == "int" else (0, 2**bits - 1)
