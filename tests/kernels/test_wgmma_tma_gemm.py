"""A tensor core truncates each of k/16 fused sums twice: by 17 terms to 2^-25 of the largest, and to 24 bits."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    a, b = run.inputs["a"].astype(np.float64), run.inputs["b"].astype(np.float64)
    # No partial sum and no term is above |a| |b|, nor twice a product's exponent.
    largest = 2 * (np.abs(a) @ np.abs(b))
    bound = a.shape[1] / 16 * (17 * 2.0**-25 + 2.0**-23) * largest
    assert np.all(np.abs(run.outputs["c"] - a @ b) <= bound)


@each_case("wgmma_tma_gemm")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("wgmma_tma_gemm")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
