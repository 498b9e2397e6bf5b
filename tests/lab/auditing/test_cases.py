"""The cases of a job in an audit."""

from __future__ import annotations

import pytest

from gpuregress.lab.auditing import case_parts
from tests.lab.auditing.records import JOBS, SOON, answer, summary, texts, verdict


def test_what_passes_what_is_compared_with_nothing_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = (verdict("a/1"), verdict("a/2", "new", "no baseline"), verdict("a/3", "differ", "out: 3 of 8 differ"))
    asked = answer(monkeypatch, summary(*verdicts, verdict("a/4"), verdict("b/1", "skip", "needs a GPU")))
    done = case_parts.examine_cases(SOON, JOBS)
    one, other = done.jobs
    assert [one.case for one in done.clean["a"].examined] == ["a/1", "a/2", "a/3", "a/4"], "the other parts use them"
    assert asked == [{}]
    assert (one.share, one.done) == (0.5, "4 of 4 cases")
    assert texts(one, "proven") == ["2 cases pass, as its baseline"]
    assert texts(one, "unnoticed") == ["a/2: nothing is compared: no baseline"]
    assert texts(one, "wrong") == ["a/3: differ: out: 3 of 8 differ"]
    assert (other.share, other.why) == (None, "b/1: needs a GPU")
