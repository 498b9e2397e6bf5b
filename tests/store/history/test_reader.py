"""Questions to the history."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import PastRun, Status
from gpuregress.gpu.records import replace
from gpuregress.store.history import History
from tests.store.history.past import night, verdict


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite") as history:
        yield history


def add_nights(history: History, case: str, *statuses: Status) -> None:
    for number, status in enumerate(statuses, 1):
        history.add(night(number, {case: status, "other": "pass"}, commit=f"c{number}"), "nightly")


def test_a_trend_is_one_cases_and_the_newest_first(history: History) -> None:
    add_nights(history, "a/n=1", "pass", "differ", "fault")
    assert [(one.run, one.verdict, one.commit, one.host) for one in history.trend("a/n=1")] == [
        ("R03", "fault", "c3", "here"),
        ("R02", "differ", "c2", "here"),
        ("R01", "pass", "c1", "here"),
    ]
    assert [one.run for one in history.trend("a/n=1", last=1)] == ["R03"]
    assert history.trend("a") == ()


def test_runs_are_in_the_order_in_which_they_were_written_whatever_the_clock_said(history: History) -> None:
    history.add_new(night(4, {"a": "pass"}, host="there"), "nightly", is_imported=True)
    for number in (3, 9, 2, 5):  # on the third day the clock was wrong, and then behind
        history.add(night(number, {"a": "pass"}), "nightly")
    history.add_new(night(1, {"a": "pass"}, host="there"), "nightly", is_imported=True)
    order = ["R05", "R04", "R02", "R09", "R03", "R01"]
    assert [one.run for one in history.trend("a")] == [one.run for one in history.runs()] == order
    assert [one.run for one in history.trend("a", is_own=True)] == ["R05", "R02", "R09", "R03"]
    assert [one[:10] for one in history.moments()] == [f"2026-11-0{day}" for day in (5, 4, 2, 2, 2, 1)]
    assert [one.run for one in history.trend("a", until="2026-11-02T02:00:00Z")] == ["R02", "R09", "R03", "R01"]
    before = history.previous_night("R99")
    assert before is not None
    assert before.run == "R05"
    assert "the night before, run R09, is dated 2026-11-09T02:00:00Z" in history.clock_note("R02")
    assert [history.clock_note(run) for run in ("R03", "R09", "R05", "R04", "R99")] == [""] * 5
    history.forget(keep=2)
    assert [one.run for one in history.all_runs()] == ["R05", "R04", "R02", "R01"]
    for number in (7, 1, 8):  # a clock that starts from its battery's end does not make the nights before it old
        history.add(replace(night(number, {"a": "pass"}), run=f"S{number}"), "nightly")
    assert [one.run for one in history.all_runs()] == ["S8", "S1", "S7", "R05", "R04", "R02", "R01"]
    assert [one[:10] for one in history.moments()] == [f"2026-11-0{day}" for day in (8, 7, 7, 5, 4, 2, 1)]
    of_s1 = "2026-11-01T02:00:00Z"
    assert [one.run for one in history.trend("a", 3, is_own=True, until=of_s1)] == ["S1", "S7", "R05"]


def test_a_trend_of_the_projects_own_runs(history: History) -> None:
    history.add(night(1, {"a": "differ"}), "nightly")
    history.add_new(night(2, {"a": "pass"}, host="there"), "nightly", is_imported=True)
    assert [one.run for one in history.trend("a")] == ["R02", "R01"]
    assert [one.run for one in history.trend("a", 1, is_own=True)] == ["R01"]


def test_a_trend_ends_with_the_run_that_is_looked_at(history: History) -> None:
    for number in (1, 2, 3):
        history.add(night(number, {"a": "pass"}))
    assert [one.run for one in history.trend("a", until="2026-11-02T02:00:00Z")] == ["R02", "R01"]


def test_a_case_on_two_devices_has_two_results(history: History) -> None:
    both = (verdict("a", "pass"), verdict("a", "differ", "cuda:1"))
    history.add(night(1, {}, verdicts=both), "nightly")
    assert [(one.device, one.verdict, one.model) for one in history.trend("a")] == [
        ("cpu", "pass", "model of cpu"),
        ("cuda:1", "differ", "model of cuda:1"),
    ]
    assert [one.device for one in history.trend("a", device="cuda:0")] == ["cuda:1"]


def test_the_night_before_a_run(history: History) -> None:
    add_nights(history, "a", "pass", "differ", "new")
    history.add(night(4, {"a": "pass"}), "run")
    history.add(night(5, {"a": "pass"}, state="interrupted"), "nightly")
    history.add(night(6, {"a": "pass"}, host="elsewhere"), "nightly", is_imported=True)
    before = history.previous_night("R99")
    assert before is not None
    assert (before.run, before.counts, before.commit) == ("R03", {"new": 1, "pass": 1}, "c3")
    assert (found := history.previous_night("R03")) is not None
    assert found.run == "R02"
    assert history.previous_night("R01") is None
    assert [(one.case, one.verdict) for one in history.results_of(before)] == [("a", "new"), ("other", "pass")]


def test_short_results_are_those_of_the_run(history: History) -> None:
    add_nights(history, "a/n=1", "pass", "differ")
    newest, _ = history.runs()
    assert sorted(history.short_results(newest)) == [
        ("a/n=1", "cpu", "differ", "3f2a", 0.5),
        ("other", "cpu", "pass", "3f2a", 0.5),
    ]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM results WHERE case_id = 1",
        "UPDATE texts SET text = 'skip' WHERE text = 'differ'",
        "UPDATE results SET seconds = 1",
        "UPDATE cases SET name = 'other2' WHERE name = 'other'",
    ],
)
def test_short_results_that_were_changed_are_refused(history: History, change: str) -> None:
    add_nights(history, "a/n=1", "differ")
    with closing(sqlite3.connect(history.path)) as database, database:
        database.execute(change)
    with History(history.path) as again, pytest.raises(StorageError, match="edited or damaged"):
        again.short_results(PastRun("R01", "nightly", "", "", 0.0, 0, interrupted=False, host="here"))


def test_a_run_that_lost_a_result_is_refused(history: History) -> None:
    add_nights(history, "a", "pass")
    with closing(sqlite3.connect(history.path)) as database, database:
        database.execute("DELETE FROM results WHERE case_id = 1")
    with pytest.raises(StorageError, match="edited or damaged, in its record of run R01"):
        history.runs()
