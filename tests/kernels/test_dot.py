"""All terms are positive: the sum is within (additions in a row) u of the exact one."""

from __future__ import annotations

import math

import numpy as np

from tests.kernels.recorded import HALF_ULP_32, Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    n, threads = run.number("n"), 16 * run.number("block")
    (value,) = run.outputs["sum"].tolist()
    exact = math.fsum(np.multiply(run.inputs["x"], run.inputs["y"], dtype=np.float64).tolist())
    in_a_row = math.ceil(n / threads) + 5 + threads // 32
    assert abs(value - exact) <= 1.01 * in_a_row * HALF_ULP_32 * exact


@each_case("dot")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("dot")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
