from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.report.html.drawing import colours
from gpuregress.report.html.drawing.colours import LogAxis

POSITIVE = st.floats(5e-324, 1e308)


def lightness(colour: str) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), bytes.fromhex(colour), strict=True))


@pytest.mark.parametrize("scale", [colours.error, colours.grey])
def test_a_scale_gets_darker_all_the_way(scale: object) -> None:
    assert callable(scale)
    steps = [lightness(scale(share / 100)) for share in range(101)]
    assert all(before > after for before, after in itertools.pairwise(steps))


def test_no_colour_is_that_of_a_verdict() -> None:
    for share in range(101):
        red, green, blue = bytes.fromhex(colours.error(share / 100))
        assert not red > max(green, blue) + 30  # the reds of failures


@given(POSITIVE, POSITIVE)
def test_an_axis_has_its_ends_a_decade_and_labels(one: float, other: float) -> None:
    low, high = sorted((one, other))
    axis = LogAxis.over(low, high)
    assert axis is not None
    assert axis.place(high) == pytest.approx(1.0)
    assert 0 <= axis.place(low) <= 1
    assert axis.low <= low
    assert axis.high >= 9.9 * axis.low or axis.low == low
    assert 2 <= len(axis.ticks) <= 8
    assert all(-1e-6 <= place <= 1 + 1e-6 for place, _ in axis.ticks)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (1.0, math.inf), (0.0, 1.0)])
def test_there_is_no_axis_without_finite_errors(low: float, high: float) -> None:
    assert LogAxis.over(low, high) is None
