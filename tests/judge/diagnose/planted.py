"""Arrays with a planted difference, and the evidence made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Launch
from gpuregress.judge.diagnose import pattern_table
from gpuregress.judge.diagnose.evidence import Evidence

Array = npt.NDArray[Any]
POISON = bytes.fromhex("a5b6c7d8")


def launch(grid: tuple[int, int, int], block: tuple[int, int, int]) -> Launch:
    return Launch("k", grid, block, 0, ())


def noise(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    if kind.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)


def evidence(expected: Array, actual: Array, how: Launch | None = None, dtype: str = "", **known: Any) -> Evidence:
    kind = dtypes.parse(dtype or expected.dtype.name)
    e, a = expected.reshape(-1), actual.reshape(-1)
    size = e.dtype.itemsize
    raw = [np.ascontiguousarray(one).view(np.uint8).reshape(-1, size) for one in (e, a)]
    at = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
    return Evidence(kind, expected.shape, at, e[at], a[at], how, whole_expected=e, whole_actual=a, **known)


def findings(*arguments: Any, **known: Any) -> dict[str, str]:
    return {result.pattern: result.message for result in pattern_table.diagnose(evidence(*arguments, **known))}


LINE = launch((8, 1, 1), (128, 1, 1))  # 1000 elements: the last block has 104


def first(expected: Array, actual: Array, *rest: Any, **known: Any) -> tuple[str, str]:
    result = pattern_table.diagnose(evidence(expected, actual, *rest, **known))
    assert result, "no pattern"
    assert result[0].weight <= 1
    return result[0].pattern, result[0].message
