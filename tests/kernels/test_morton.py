"""Morton codes are two numbers in one: taken apart again, they are the coordinates."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Array, Recorded, assert_sees_changes, each_case, load


def every_second_bit(code: Array) -> Array:
    return sum(((code >> 2 * bit & 1) << bit for bit in range(16)), np.zeros_like(code))


def check(run: Recorded) -> None:
    code = run.outputs["result"]
    assert np.array_equal(every_second_bit(code), run.inputs["x"])
    assert np.array_equal(every_second_bit(code >> 1), run.inputs["y"])


@each_case("morton")
def test_baseline_is_right(name: str) -> None:
    check(load(name))
    assert_sees_changes(check, load(name))
