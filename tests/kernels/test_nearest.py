"""Every distance worked out from the pixels' differences, and the accuracy known from elsewhere."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load

RIGHT = {1000: 767, 1500: 281, 1797: 1776}


def check(run: Recorded) -> None:
    pixels, labels = run.inputs["pixels"].astype(np.int32), run.inputs["labels"]
    train = run.number("train")
    leave_one_out = train == len(pixels)
    first_query = 0 if leave_one_out else train
    agree = 0
    nearest, distance = run.outputs["nearest"].tolist(), run.outputs["distance"].tolist()
    for query in range(first_query, len(pixels)):
        squares = ((pixels[:train] - pixels[query]) ** 2).sum(axis=1)
        if leave_one_out:
            squares[query] = np.iinfo(np.int32).max
        best = int(squares.argmin())
        assert (nearest[query - first_query], distance[query - first_query]) == (best, squares[best])
        agree += int(labels[best] == labels[query])
    assert run.outputs["correct"].tolist() == [agree] == [RIGHT[train]]


@each_case("nearest")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("nearest")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
