"""Steps in synthetic series of times: found where they are, and not where there is only noise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import PastResult
from gpuregress.gpu.records import replace
from gpuregress.store.history import series

RESULT = PastResult("R", "nightly", "2026-11-01", "cuda:0", "a", "pass", "", "1", 0.0, model="NVIDIA H200")


def timed(medians_ms: Sequence[float], model: str = "NVIDIA H200") -> list[PastResult]:
    """Results with these medians, given oldest first, the newest first."""
    results = [
        replace(RESULT, run=str(n), commit=f"{n:07x}", samples=(ms / 1000,) * 3, model=model)
        for n, ms in enumerate(medians_ms)
    ]
    return results[::-1]


def counted(counts: Sequence[int | None]) -> list[PastResult]:
    results = [replace(RESULT, run=str(n), device="cpu", instructions=one) for n, one in enumerate(counts)]
    return results[::-1]


def noisy(*levels: tuple[float, int], seed: int = 1) -> list[float]:
    random = np.random.default_rng(seed)
    return [float(value) for level, count in levels for value in level * random.lognormal(0, 0.01, count)]


def test_a_step_is_found_with_its_commit() -> None:
    (step,) = series.find_steps(timed(noisy((1.0, 12), (1.3, 6))))
    assert step.first.run == "12"
    assert step.first.commit == "000000c"
    assert step.ratio == pytest.approx(1.3, rel=0.02)
    assert step.measure == "time"


def test_several_steps_are_found_the_oldest_first() -> None:
    found = series.find_steps(timed(noisy((1.0, 12), (1.5, 12), (1.2, 12))))
    assert [step.first.run for step in found] == ["12", "24"]


@pytest.mark.parametrize("seed", range(8))
def test_noise_has_no_step(seed: int) -> None:
    assert series.find_steps(timed(noisy((1.0, 30), seed=seed))) == ()


def test_a_single_slow_night_and_a_short_history_have_none() -> None:
    assert series.find_steps(timed([*noisy((1.0, 10)), 3.0, *noisy((1.0, 10), seed=2)])) == ()
    assert series.find_steps(timed([1.0, 1.0, 2.0])) == ()
    assert series.find_steps([]) == ()


def test_a_step_of_less_than_2_percent_is_not_told() -> None:
    assert series.find_steps(timed([1.0, 1.0001] * 6 + [1.01, 1.0101] * 6)) == ()


def test_only_the_newest_model_counts() -> None:
    newest = timed(noisy((1.0, 12)))
    assert series.find_steps([*newest, *timed(noisy((3.0, 12)), "NVIDIA H100")]) == ()


def test_exact_counts_need_no_test() -> None:
    (step,) = series.find_steps(counted([1000, 1000, None, 1_000_000]))
    assert (step.first.run, step.ratio, step.measure) == ("3", 1000, "instructions")
    assert series.find_steps(counted([1000, 1001])) == ()


@given(st.lists(st.floats(0.01, 100), max_size=20))
@settings(max_examples=30, deadline=None)
def test_levels_have_at_least_three_results_and_the_result_is_the_same_again(medians: list[float]) -> None:
    found = series.find_steps(timed(medians))
    assert found == series.find_steps(timed(medians))
    edges = [0, *(int(step.first.run) for step in found), len(medians)]
    assert all(end - start >= series.SHORTEST for start, end in itertools.pairwise(edges)) or not found


def test_a_level_began_with_the_first_result_that_is_nearer_to_it() -> None:
    past = timed([1.0, 1.0, 1.45, 1.38])
    first = series.level_since(past, "time", 1.0, 1.42)
    assert first is not None
    assert first.run == "2"
    assert series.level_since(timed([1.0, 1.1]), "time", 1.0, 1.42) is None, "it began now"
    gap = counted([10, 1000, None, 1000])
    first = series.level_since(gap, "instructions", 10, 1000)
    assert first is not None
    assert first.run == "1"
