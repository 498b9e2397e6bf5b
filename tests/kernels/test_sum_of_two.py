"""The elements are rounded once, as numpy's; the total is within the roundings of its tree of additions."""

from __future__ import annotations

import numpy as np

from gpuregress.store import baselines
from tests.kernels.recorded import HALF_ULP_32, ROOT, Recorded, assert_sees_changes, each_case, load

ROUNDINGS = 8 + 1 + 5
"""Additions on the way of one element: in a block of 256 threads, in strides of a warp, in the warp."""


def check(run: Recorded) -> None:
    both = run.inputs["a"] + run.inputs["b"]
    assert np.array_equal(run.outputs["both"], both)
    exact, size = both.astype(np.float64).sum(), np.abs(both).astype(np.float64).sum()
    assert abs(float(run.outputs["total"][0]) - exact) <= 1.01 * ROUNDINGS * HALF_ULP_32 * size


@each_case("sum_of_two")
def test_baseline_is_right(name: str) -> None:
    check(load(name))
    assert_sees_changes(check, load(name))


@each_case("sum_of_two")
def test_baseline_has_the_digests_of_each_launch(name: str) -> None:
    baseline = baselines.BaselineStore(ROOT / "baselines").load(name)
    assert baseline is not None
    assert baseline.launch_digests is not None
    assert baseline.launch_digests.launches == 3
