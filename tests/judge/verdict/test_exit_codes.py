"""Exit codes of runs."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import Verdict
from gpuregress.judge.verdict import exit_code, skipped
from tests.judge.verdict.samples import make_case, text


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([0], 0),
        ([0, 1], 1),
        ([1, 2], 2),
        ([2, 3], 3),
        ([1, 5], 1),
        ([1, 3], 3),
        ([3, 4], 4),
        ([4, 1, 3, 0], 4),
        ([0, 0], 0),
        ([], 5),
    ],
)
def test_the_gravest_wins(codes: list[int], expected: int) -> None:
    assert exit_code([Verdict("j", "c", "pass", exit_code=code) for code in codes]) == expected


def test_skips_alone_are_nothing_run() -> None:
    skip = skipped(make_case(), "needs cuda")
    assert text(skip) == ("skip", "needs cuda", 0)
    assert exit_code([skip]) == 5
    assert exit_code([skip, Verdict("j", "c", "pass")]) == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 0),
        ({"vanished": True}, 1),
        ({"has_lost_device": True}, 4),
        ({"vanished": True, "has_lost_device": True}, 4),
    ],
)
def test_cases_and_devices_that_are_gone_count(given: dict[str, bool], expected: int) -> None:
    assert exit_code([Verdict("j", "c", "pass")], **given) == expected
