"""Weights are rounded to half, and so is the result: their mean of the values is off by little more than that."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load

HALF_ULP_16 = 2.0**-11


def check(run: Recorded) -> None:
    q, k, v = (run.inputs[name].astype(np.float64) for name in "qkv")
    scores = np.einsum("hid,hjd->hij", q, k) / 8
    if run.number("causal"):
        later = np.arange(q.shape[1])[None, :] > np.arange(q.shape[1])[:, None]
        scores = np.where(later, -np.inf, scores)
    weights = np.exp(scores)
    total = weights.sum(2)
    exact = np.einsum("hij,hjd->hid", weights, v) / total[..., None]
    # Each weight's rounding, the result's, and a few float32 operations besides.
    size = np.einsum("hij,hjd->hid", weights, np.abs(v)) / total[..., None]
    bound = 1.05 * (HALF_ULP_16 * size + HALF_ULP_16 * np.abs(exact)) + 2.0**-24
    assert np.all(np.abs(run.outputs["o"].astype(np.float64) - exact) <= bound)
    assert np.all(np.abs(run.outputs["sums"] - np.log2(total)) <= 2.0**-18 * (1 + np.abs(np.log2(total))))


@each_case("flash_attention")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("flash_attention")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
