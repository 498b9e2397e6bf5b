"""ErrorBins of errors: every element in one bin, every bin its share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.judge import diagnose


@given(st.integers(1, 500), st.integers(1, 120), st.integers(0, 2**32))
def test_a_strip_counts_every_element_once(total: int, bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = np.flatnonzero(rng.random(total) < 0.5)
    errors = rng.random(len(at))
    drawn = diagnose.strip(total, bins)
    for some in np.array_split(np.arange(len(at)), 3):
        drawn.add(at[some], errors[some])
    actual = drawn.profile
    assert sum(actual.of) == total
    assert min(actual.of) >= 1
    assert sum(actual.differing) == len(at)
    assert max(actual.largest) == pytest.approx(errors.max() if len(at) else 0.0)
    assert all(some <= of for some, of in zip(actual.differing, actual.of, strict=True))


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 8), st.integers(1, 8))
def test_a_map_counts_every_element_once(height: int, width: int, rows: int, columns: int) -> None:
    at = np.arange(height * width)
    drawn = diagnose.heat_map((height, width), rows, columns)
    drawn.add(at, np.ones(len(at)))
    actual = drawn.profile
    assert actual.of == actual.differing
    assert actual.shape == (min(rows, height), min(columns, width))


def test_where_errors_are() -> None:
    drawn = diagnose.strip(100, 10)
    drawn.add(np.array([0, 95]), np.array([1.0, np.nan]))
    assert drawn.profile.largest == (1.0, *[0.0] * 8, np.inf)
    cells = diagnose.heat_map((5, 10), 5, 2)
    cells.add(np.array([4 * 10 + 9]), np.array([2.0]))
    assert cells.profile.largest == (*[0.0] * 9, 2.0)
