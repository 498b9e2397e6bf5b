"""The dynamic checks in an audit."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import CheckFinding
from gpuregress.lab.auditing import case_parts
from tests.lab.auditing.records import JOBS, SOON, answer, summary, texts, verdict

RACE = CheckFinding("race", "data race on sum[3]", ("thread 1 writes", "thread 2 reads"), "k.cu:9")


def test_a_finding_is_right_by_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"findings": (RACE,), "exchanges": ("scan: lanes exchange values without __syncwarp",)}
    run = summary(verdict("a/1"), verdict("a/2", "fault", observations=seen), verdict("b/1", "fault", "out of bounds"))
    asked = answer(monkeypatch, run)
    one, other = case_parts.examine_checks(SOON, JOBS).jobs
    assert asked == [{"checks": ("all",)}]
    assert (one.share, one.examined) == (0.5, 1.0)
    assert texts(one, "proven") == ["no finding of the dynamic checks in 1 case"]
    assert texts(one, "luck") == ["a/2: race: data race on sum[3]", "scan: lanes exchange values without __syncwarp"]
    assert one.evidence[1].details == RACE.details
    assert (other.share, other.why) == (None, "b/1: out of bounds"), "it ended before it could show a race"
