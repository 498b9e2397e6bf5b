from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, inputs
from gpuregress.records import Buffer, Fill


def buffer(kind: str, dtype: str, *shape: int, seed: int = 7, **options: Any) -> Buffer:
    return Buffer("x", dtype, shape, Fill(kind, options or OPTIONS[kind], seed))


def numbers(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    """Every number of an array as float64, parts last."""
    element = dtypes.parse(dtype)
    columns = zip(element.columns(array), element.parts, strict=True)
    return np.stack([dtypes.to_float(column, part.scalar).astype(np.float64) for column, part in columns], axis=-1)


OPTIONS: dict[str, dict[str, Any]] = {
    "zeros": {},
    "ones": {},
    "arange": {},
    "permutation": {},
    "value": {"values": [3]},
    "uniform": {"low": 2.0, "high": 3.0},
    "normal": {"mean": 0.0, "std": 1.0},
    "integers": {"low": 3, "high": 9},
    "choice": {"values": [1, 5, 7]},
    "park_miller": {"seed": 1},
}


def python(path: Path, text: str, dtype: str = "float32", *shape: int) -> npt.NDArray[Any]:
    path.write_text(text)
    return inputs.fill(Buffer("x", dtype, shape or (2,), Fill("python", {"function": f"{path}:make"}, 5)))
