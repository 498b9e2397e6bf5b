"""An fma is the exact a x + y, rounded once: checked in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tests.kernels.recorded import Array, Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    _assert_rounded_once(np.float32(2.5), run.inputs["x"], run.inputs["y"], run.outputs["y"])
    _assert_rounded_once(np.float64(-0.1), run.inputs["dx"], run.inputs["dy"], run.outputs["dy"])


def _assert_rounded_once(a: np.floating[Any], x: Array, y: Array, out: Array) -> None:
    half_steps = np.spacing(np.abs(out)).astype(np.float64) / 2
    factor = Fraction(float(a))
    for xi, yi, value, half_step in zip(x.tolist(), y.tolist(), out.tolist(), half_steps.tolist(), strict=True):
        exact = factor * Fraction(xi) + Fraction(yi)
        assert abs(exact - Fraction(value)) <= Fraction(half_step)


@each_case("saxpy")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("saxpy")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
