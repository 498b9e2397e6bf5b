"""One float32 addition is rounded once: numpy has the same bits."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    assert np.array_equal(run.outputs["out"], run.inputs["a"] + run.inputs["b"])


@each_case("vector_add")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("vector_add")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
