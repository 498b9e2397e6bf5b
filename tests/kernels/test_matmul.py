"""A float32 dot product of k terms is within k u |a| |b| of the exact one (Higham, Accuracy and Stability, 3.1)."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import HALF_ULP_32, Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    a, b = run.inputs["a"].astype(np.float64), run.inputs["b"].astype(np.float64)
    bound = 1.01 * a.shape[1] * HALF_ULP_32 * (np.abs(a) @ np.abs(b))
    assert np.all(np.abs(run.outputs["c"] - a @ b) <= bound)


@each_case("matmul")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("matmul")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
