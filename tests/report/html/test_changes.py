from __future__ import annotations

import time
from typing import Any

import pytest

from gpuregress.report.html import changes
from tests.report.html.parsed import Tag, tree

SINCE = {"run": "r", "started": "2026-11-20T02:00:00Z", "commit": "8eb0c1f2b3", "nights": 2}
NIGHT: dict[str, Any] = {
    "against": "20261121T020000Z-aaaa",
    "new": [{"case": "a/<1>", "status": "differ", "diagnosis": "b: 689 of 1000 differ"}],
    "still": [{"case": "b/1", "status": "fault", "diagnosis": "trap", "since": SINCE, "before": "zeros"}],
    "fixed": [{"case": "c/1", "status": "differ"}, {"case": "c/2", "status": "differ"}],
    "slower": [{"case": "d/1", "text": "1.4 times as long", "is_new": True}],
    "lacking": [{"device": "cuda", "cases": 3, "why": "no driver"}],
    "no_turn": ["e/1"],
}


def shown(found: dict[str, Any] | None) -> Tag:
    return tree("".join(changes.section(found, {"a/<1>": "c1"})))


def test_each_kind_of_change_with_its_number_the_news_unfolded() -> None:
    parts = shown(NIGHT).all("details")
    assert [(one.first("summary").text, "open" in one.attributes) for one in parts] == [
        ("1 new failure", True),
        ("1 still failing", False),
        ("2 fixed", True),
        ("1 slower", True),
        ("devices that this host lacks", True),
        ("1 no turn before the deadline", False),
    ]


def test_a_failure_has_its_card_its_diagnosis_and_its_first_night() -> None:
    root = shown(NIGHT)
    assert root.first("a").attributes["href"] == "#c1"
    lines = [one.text for one in root.all("li")]
    assert lines[:2] == ["differ a/<1> b: 689 of 1000 differ", "fault b/1 trap since 20 Nov, 8eb0c1f before: zeros"]
    assert "cuda: 3 cases skipped, no driver" in lines
    assert "c/1 was differ" in lines


def test_a_run_that_is_no_night_has_no_section_and_a_quiet_night_says_so() -> None:
    assert not shown(None).children
    assert "Nothing." in shown({}).text
    assert "the history is damaged" in shown({"unknown": "the history is damaged"}).text


def test_of_many_a_few_are_shown_and_counted() -> None:
    many = {"new": [{"case": f"a/{n}", "status": "differ"} for n in range(100)]}
    assert "and 70 more, in the table" in shown(many).text


def test_a_beginning_has_the_day_of_this_host_and_marks_a_changed_work_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        since = {"started": "2026-11-19T23:30:00Z", "commit": "8eb0c1f2b3", "dirty": True}
        assert changes.since_text(since) == "since 20 Nov, 8eb0c1f+"
    finally:
        monkeypatch.undo()
        time.tzset()
