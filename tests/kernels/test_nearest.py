"""Every distance worked out as |q|² + |t|² - 2 q·t, exact in float64, and the accuracy known from elsewhere."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load

RIGHT = {1000: 767, 1500: 281, 1797: 1776}


def check(run: Recorded) -> None:
    pixels, labels = run.inputs["pixels"].astype(np.float64), run.inputs["labels"]
    train = run.number("train")
    leave_one_out = train == len(pixels)
    first_query = 0 if leave_one_out else train
    norms = (pixels * pixels).sum(axis=1)
    squares = norms[first_query:, None] + norms[:train] - 2.0 * pixels[first_query:] @ pixels[:train].T
    if leave_one_out:
        np.fill_diagonal(squares, np.inf)
    best = squares.argmin(axis=1)
    assert np.array_equal(run.outputs["nearest"], best)
    assert np.array_equal(run.outputs["distance"], squares.min(axis=1))
    agree = int(np.count_nonzero(labels[first_query:] == labels[best]))
    assert run.outputs["correct"].tolist() == [agree] == [RIGHT[train]]


@each_case("nearest")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("nearest")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
