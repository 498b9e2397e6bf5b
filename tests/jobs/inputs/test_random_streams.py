from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.jobs.inputs import random_streams


def test_quantile_is_that_of_the_normal_distribution() -> None:
    points = np.concatenate([np.linspace(1e-9, 1 - 1e-9, 100_001), 2.0 ** -np.arange(1.0, 54.0)])
    expected = scipy.special.ndtri(points)
    assert np.allclose(random_streams.quantile(points), expected, rtol=4e-15, atol=1e-17)


def test_normal_has_its_moments() -> None:
    values = random_streams.normal(3, 200_000, 5.0, 2.0)
    assert abs(values.mean() - 5) < 0.03
    assert abs(values.std() - 2) < 0.02
    assert abs(((values - 5) ** 3).mean()) < 0.2
    assert np.isfinite(values).all()


def test_a_longer_draw_begins_like_a_shorter_one() -> None:
    for draw in (
        lambda count: random_streams.normal(1, count, 0, 1),
        lambda count: random_streams.uniform(1, count, 0, 1),
        lambda count: random_streams.integers(1, count, 0, 1000),
        lambda count: random_streams.park_miller(1, count),
    ):
        assert np.array_equal(draw(70_000)[:40_000], draw(40_000))


@settings(max_examples=60)
@given(st.integers(-(2**63), 2**64 - 1), st.integers(1, 2**64))
def test_integers_stay_in_their_range(low: int, span: int) -> None:
    high = min(low + span, 2**64 if low >= 0 else 2**63)
    actual = [int(value) for value in random_streams.integers(9, 50, low, high)]
    assert all(low <= value < high for value in actual)
    assert len(actual) == 50


@pytest.mark.parametrize("span", [3, 5, 6, 7])
def test_integers_are_even(span: int) -> None:
    counts = np.bincount(random_streams.integers(4, 70_000, 0, span), minlength=span)
    assert abs(counts - 70_000 / span).max() < 5 * np.sqrt(70_000 / span)


@given(st.integers(1, 2**31 - 2), st.integers(1, 200))
def test_park_miller_steps(start: int, count: int) -> None:
    expected, x = [], start
    for _ in range(count):
        x = x * 16807 % (2**31 - 1)
        expected.append(x)
    assert random_streams.park_miller(start, count).tolist() == expected
