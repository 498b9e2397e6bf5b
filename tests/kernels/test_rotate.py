"""Each element of the turned image, sampled with exact weights; what a texture rounds is within 2^-8 an axis."""

from __future__ import annotations

import math

import numpy as np

from tests.kernels.recorded import Array, Recorded, assert_sees_changes, each_case, load

BOUND = 2 * 2.0**-8


def _element(image: Array, row: int, column: int) -> float:
    rows, columns = image.shape
    return float(image[row, column]) if 0 <= row < rows and 0 <= column < columns else 0.0


def _sample(image: Array, x: float, y: float) -> float:
    column, row = math.floor(x - 0.5), math.floor(y - 0.5)
    right, down = x - 0.5 - column, y - 0.5 - row
    upper = (1 - right) * _element(image, row, column) + right * _element(image, row, column + 1)
    lower = (1 - right) * _element(image, row + 1, column) + right * _element(image, row + 1, column + 1)
    return (1 - down) * upper + down * lower


def check(run: Recorded) -> None:
    rows, columns = run.number("rows"), run.number("columns")
    for row in range(rows):
        for column in range(columns):
            x, y = column + 0.5 - columns / 2, row + 0.5 - rows / 2
            wanted = _sample(run.inputs["in"], 0.8 * x - 0.6 * y + columns / 2, 0.6 * x + 0.8 * y + rows / 2)
            assert abs(run.outputs["out"][row, column] - wanted) <= BOUND
    assert np.count_nonzero(run.outputs["out"]) > run.outputs["out"].size / 2


@each_case("rotate")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("rotate")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
