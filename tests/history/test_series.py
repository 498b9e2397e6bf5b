"""Series of results: last pass and flakiness; `failing_since` is tested with the history that it is asked of."""

from __future__ import annotations

import dataclasses

import pytest

from gpuregress.history import series
from gpuregress.records import PastResult

RESULT = PastResult("R", "run", "2026", "cpu", "a", "pass", "", "3f2a", 0.0)


def of(letters: str) -> list[PastResult]:
    """Results of `p`ass, `d`iffer and `s`kip, the newest first; a capital is of another revision."""
    words = {"p": "pass", "d": "differ", "s": "skip"}
    return [
        dataclasses.replace(RESULT, run=str(n), verdict=words[one.lower()], revision="new" if one.isupper() else "old")
        for n, one in enumerate(letters)
    ]


def test_the_last_pass() -> None:
    found = series.last_pass(of("dspdp"))
    assert found is not None
    assert found.run == "2"
    assert series.last_pass(of("ds")) is None


@pytest.mark.parametrize(
    ("letters", "failures", "flips", "flaky"),
    [
        ("pppp", 0, 0, False),
        ("dddp", 3, 1, False),
        ("pdp", 1, 2, True),
        ("pdsp", 1, 2, True),
        ("Pdp", 1, 1, False),
        ("", 0, 0, False),
    ],
)
def test_flakiness_is_change_without_a_change_of_the_source(
    letters: str, failures: int, flips: int, *, flaky: bool
) -> None:
    found = series.flakiness(of(letters))
    assert (found.failures, found.flips, found.is_flaky) == (failures, flips, flaky)


def test_cards_of_a_host_are_one_kind_of_device() -> None:
    assert series.device_kind("cuda:3") == series.device_kind("cuda") == "cuda"
