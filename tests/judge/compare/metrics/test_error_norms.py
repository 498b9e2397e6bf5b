"""Error norms against numpy's, and their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import METRICS
from gpuregress.judge.compare.metrics import error_norms
from gpuregress.judge.compare.metrics.difference_statistics import ErrorSums
from gpuregress.judge.compare.metrics.error_norms import ExpectedNorms

FLOAT = dtypes.parse("float64")


def norms_of(expected: Any, actual: Any) -> tuple[list[ErrorSums], ExpectedNorms]:
    e, a = np.array(expected, "f8"), np.array(actual, "f8")
    errors, norms = ErrorSums(), ExpectedNorms(FLOAT)
    norms.add(e, a)
    good = np.isfinite(e) & np.isfinite(a)
    errors.add(np.abs(a - e)[good])
    return [errors], norms


def test_the_norms_are_numpys() -> None:
    rng = np.random.default_rng(1)
    e, error = rng.standard_normal(1000), rng.standard_normal(1000)
    values = error_norms.values(*norms_of(e, e + error))
    error = e + error - e
    expected = {
        "max": np.abs(error).max(),
        "mean": np.abs(error).mean(),
        "rms": math.sqrt(np.square(error).mean()),
        "l2": np.linalg.norm(error) / np.linalg.norm(e),
    }
    assert values.keys() == set(METRICS)
    assert all(math.isclose(values[name], expected[name], rel_tol=1e-12) for name in expected)


def test_only_numbers_on_both_sides_count() -> None:
    values = error_norms.values(*norms_of([1, math.nan, math.inf, 3], [2, math.nan, 5, 3]))
    assert (values["max"], values["mean"]) == (1, 0.5)


def test_a_relative_norm_of_zeros() -> None:
    assert error_norms.values(*norms_of([0, 0], [0, 1]))["l2"] == math.inf
    assert error_norms.values(*norms_of([0, 0], [0, 0]))["l2"] == 0
    errors = ErrorSums()
    norms = ExpectedNorms(FLOAT)
    norms.assume(4)
    errors.add(np.array([1.0]))
    assert error_norms.values([errors], norms)["mean"] == 0.25


def test_each_metric_over_its_limit_is_named() -> None:
    metrics = error_norms.values(*norms_of([1, 2], [1, 3]))
    assert error_norms.problems({"max": 0.5, "rms": 9.0}, metrics) == ["max of the error is 1, over 0.5"]
    assert error_norms.figures({**metrics, "l2": math.nan}) == {**metrics, "l2": None}
