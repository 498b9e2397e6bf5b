"""Bounded evidence: all rows of a few, of many the same sample however they come, and what may be said of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.judge import diagnose
from gpuregress.judge.diagnose import difference_sample
from gpuregress.judge.diagnose.thread_mapping import Indices
from tests.judge.diagnose.planted import POISON, launch

FLOAT = dtypes.parse("float32")


def sampled(indices: Indices, cuts: int, monkeypatch: pytest.MonkeyPatch) -> tuple[diagnose.DifferenceSample, Indices]:
    monkeypatch.setattr(difference_sample, "MOST", 100)
    monkeypatch.setattr(difference_sample, "SIZE", 40)
    gathered = diagnose.DifferenceSample()
    for some in np.array_split(indices, cuts):
        gathered.add(some, some.astype("<f4"), -some.astype("<f4"))
    result, expected, actual = gathered.rows()
    assert (expected == result).all()
    assert (actual == -result).all()
    return gathered, result


@given(st.integers(1, 700), st.integers(1, 40), st.integers(1, 40), st.integers(1, 9))
def test_a_sample_does_not_depend_on_the_pieces(count: int, cuts: int, others: int, step: int) -> None:
    indices = np.arange(count, dtype=np.int64) * step
    with pytest.MonkeyPatch.context() as patch:
        gathered, result = sampled(indices, cuts, patch)
        assert result.tolist() == sampled(indices, others, patch)[1].tolist()
    assert gathered.of == count
    assert len(result) == (count if count <= 100 else 40)
    assert (np.diff(result) > 0).all()
    assert set(result.tolist()) <= set(indices.tolist())
    assert (result[0], result[-1]) == (indices[0], indices[-1])


def of_sample(indices: Indices, total: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The findings of a sample of rows that all hold the poison."""
    monkeypatch.setattr(difference_sample, "MOST", 3000)
    monkeypatch.setattr(difference_sample, "SIZE", 1000)
    gathered = diagnose.DifferenceSample()
    values = np.random.default_rng(3).standard_normal(total).astype("<f4")[indices]
    gathered.add(indices, values, np.full(len(indices), int.from_bytes(POISON, "little"), "<u4").view("<f4"))
    places, expected, actual = gathered.rows()
    evidence = diagnose.Evidence(
        FLOAT, (total // 64, 64), places, expected, actual, launch((90, 1, 1), (256, 1, 1)), POISON, of=gathered.of
    )
    assert evidence.is_sample
    return {result.pattern: result.message for result in diagnose.diagnose(evidence)}


def test_a_sample_is_said_to_be_one_and_counts_are_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    total = 90 * 256 + 5120
    result = of_sample(np.arange(90 * 256, total), total, monkeypatch)
    seen = ", seen on a sample of 1,000 of 5,120 differing elements"
    assert all(message.endswith(seen) for message in result.values())
    assert f"elements 23040 to {total - 1}; the launch's 90 blocks of 256 threads end there" in result["never written"]
    assert result["tail"].startswith("the tail: all 5120 elements from 23040 to the end differ")


@pytest.mark.parametrize(
    ("chosen", "pattern", "says"),
    [
        (slice(0, None, 2), "stride", "every 2nd element: all 11520 from 0 to 23038"),
        (slice(6400, 12800), "stretch", "one stretch: all 6400 elements from 6400 to 12799 differ"),
    ],
)
def test_places_are_told_from_a_sample(chosen: slice, pattern: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    total = 90 * 256
    assert says in of_sample(np.arange(total)[chosen], total, monkeypatch)[pattern]


def test_whole_rows_and_scattered_ones_are_told_apart_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    total = 360 * 64
    row = np.arange(total) // 64
    result = of_sample(np.flatnonzero(row % 3 == 0), total, monkeypatch)
    assert "whole rows: 0, 3, 6, 9, 12, 15 and 114 more of 360, all 7680 elements" in result["row"]
    scattered = np.flatnonzero((row % 3 == 0) & (np.arange(total) * 7919 % 5 > 0))
    assert "row" not in of_sample(scattered, total, monkeypatch)
