"""A float32 sum of 289 products is within 289 u sum|w x| of the exact one."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import HALF_ULP_32, Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    taps = run.inputs["taps"].astype(np.float64)
    padded = np.pad(run.inputs["image"].astype(np.float64), 8, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps.shape)
    exact = np.einsum("yxji,ji->yx", windows, taps)
    # Every tap and pixel is positive, so sum|w x| is the result itself.
    assert np.all(np.abs(run.outputs["out"] - exact) <= 1.01 * taps.size * HALF_ULP_32 * exact)


@each_case("convolution")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("convolution")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
