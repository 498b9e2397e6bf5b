from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import (
    Buffer,
    Fill,
    FillOptions,
    GeneratorSeed,
    InputFile,
    Interval,
    NoOptions,
    NormalDistribution,
    Progression,
    PythonFunction,
    Values,
)
from gpuregress.gpu.records import replace
from gpuregress.jobs import inputs


def buffer(kind: str, dtype: str, *shape: int, seed: int = 7, **options: Any) -> Buffer:
    made = InputFile(**options) if kind == "file" else replace(OPTIONS[kind], **options)
    return Buffer("x", dtype, shape, Fill(kind, made, seed))


def numbers(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    """Every number of an array as float64, parts last."""
    element = dtypes.parse(dtype)
    columns = zip(element.columns(array), element.parts, strict=True)
    return np.stack([dtypes.to_float(column, part.scalar).astype(np.float64) for column, part in columns], axis=-1)


OPTIONS: dict[str, FillOptions] = {
    "zeros": NoOptions(),
    "ones": NoOptions(),
    "arange": Progression(0, 1),
    "permutation": NoOptions(),
    "value": Values((3,)),
    "uniform": Interval(2.0, 3.0),
    "normal": NormalDistribution(0.0, 1.0),
    "integers": Interval(3, 9),
    "choice": Values((1, 5, 7)),
    "park_miller": GeneratorSeed(1),
}


def python(path: Path, text: str, dtype: str = "float32", *shape: int) -> npt.NDArray[Any]:
    path.write_text(text)
    return inputs.fill(Buffer("x", dtype, shape or (2,), Fill("python", PythonFunction(f"{path}:make"), 5)))
