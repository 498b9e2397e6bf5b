"""Verdicts: a finding counts only if kind, variable and both lines are right."""

from __future__ import annotations

import pytest

from tests.checks.planted import pairs, verdicts
from tests.checks.planted.detection import Said

PAIR = next(pair for pair in pairs.pairs("warps") if pair.name == "warps_write_read")
FIRST, SECOND = min(PAIR.first), min(PAIR.second)
RIGHT = f"race on words[3]\nwarps.cu:{FIRST}\nwarps.cu:{SECOND}"


@pytest.mark.parametrize(
    ("kind", "text", "verdict"),
    [
        ("race", RIGHT, "found"),
        ("race", RIGHT.replace("words", "word"), "partly"),
        ("race", f"race on words[3]\nwarps.cu:{FIRST}", "partly"),
        ("race", RIGHT.replace(f"{SECOND}", f"{SECOND}1"), "partly"),
        ("race", RIGHT.replace("warps.cu", "lanes.cu"), "partly"),
        ("uninitialized", RIGHT, "other"),
        ("error", "no such kernel", "error"),
        ("hung", "", "hung"),
    ],
)
def test_a_planted_twin(kind: str, text: str, verdict: str) -> None:
    assert verdicts.judge(PAIR, (Said(kind, text),), planted=True).verdict == verdict


def test_the_best_of_several_findings_counts() -> None:
    said = (Said("race", "elsewhere"), Said("race", RIGHT))
    assert verdicts.judge(PAIR, said, planted=True).verdict == "found"


def test_nothing_said() -> None:
    assert verdicts.judge(PAIR, (), planted=True).verdict == "missed"
    assert verdicts.judge(PAIR, (), planted=False).verdict == "clean"


def test_anything_said_of_a_clean_twin_is_false() -> None:
    assert verdicts.judge(PAIR, (Said("race", RIGHT),), planted=False).verdict == "false"


def test_totals() -> None:
    judged = [verdicts.judge(PAIR, (), planted=planted) for planted in (True, False)]
    wanted = "planted   1: 0 found, 0 partly, 0 other, 1 missed; clean   1: 0 false"
    assert verdicts.totals(judged) == [f"{'race':24} {wanted}", f"{'all':24} {wanted}"]
