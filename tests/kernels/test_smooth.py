"""Sums of three numbers, each rounded twice: numpy has the same bits, whatever the tile and the block."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.recorded import Recorded, assert_sees_changes, cases_of, load

FEASIBLE = [
    name
    for name, case in cases_of("smooth").items()
    if case.settings.refused is None and int(case.parameters["tile"]) * int(case.parameters["block"]) <= 1024
]


def check(run: Recorded) -> None:
    x = run.inputs["x"]
    padded = np.concatenate([x[:0], np.zeros(1, x.dtype), x, np.zeros(1, x.dtype)])
    two, four = x.dtype.type(2), x.dtype.type(4)
    assert np.array_equal(run.outputs["y"], ((padded[:-2] + padded[2:]) + two * x) / four)


def test_each_type_has_its_sizes() -> None:
    assert len(FEASIBLE) == 6
    assert len(cases_of("smooth")) == 12


@pytest.mark.parametrize("name", FEASIBLE)
def test_baseline_is_right(name: str) -> None:
    check(load(name))
    assert_sees_changes(check, load(name))
