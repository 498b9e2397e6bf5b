"""Element (c, r) of the result is element (r, c) of the input, which holds its own index."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    rows, columns = run.number("rows"), run.number("columns")
    column, row = np.indices((columns, rows))
    assert np.array_equal(run.outputs["out"], row * columns + column)


@each_case("transpose")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("transpose")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
