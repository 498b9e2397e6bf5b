from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpuregress import clock
from gpuregress.operations.accepting import accept
from gpuregress.records import Case, NightChanges
from gpuregress.session.events import Event, Started
from gpuregress.session.runs import history_entry
from tests import fakes
from tests.session.bench import Bench


def night(bench: Bench, monkeypatch: pytest.MonkeyPatch, day: int, *cases: Case) -> tuple[NightChanges, Sequence[str]]:
    """Run a night of November; its changes, and the cases in the order in which they started."""
    started: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            started.append(event.case)

    monkeypatch.setenv(clock.VARIABLE, f"2026-11-{day:02}T02:00:00+00:00")
    summary = bench.run(*cases, listen=listen, kind="nightly")
    assert summary.changes is not None
    return summary.changes, started


def test_a_bug_comes_goes_on_and_is_fixed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    good, other = fakes.case("double", name="fake/a"), fakes.case("double", name="fake/b")
    bad = fakes.case("twice_and_a_bit", name="fake/b")
    bench.run(good, other)
    accept.accept(bench.project)
    first, _ = night(bench, monkeypatch, 18, good, other)
    assert (first.new, first.unknown) == ((), "no earlier night on cpu is known")
    second, started = night(bench, monkeypatch, 19, good, bad)
    assert ([one.case for one in second.new], second.unknown, started) == (["fake/b"], "", ["fake/a", "fake/b"])
    third, started = night(bench, monkeypatch, 20, good, bad)
    (still,) = third.still
    assert still.since is not None
    assert (third.new, still.since.started, still.since.nights) == ((), "2026-11-19T02:00:00Z", 2)
    assert started == ["fake/b", "fake/a"]
    again, _ = night(bench, monkeypatch, 21, good, bad)
    assert [(one.since.started, one.since.nights) for one in again.still if one.since] == [("2026-11-19T02:00:00Z", 3)]
    fixed, _ = night(bench, monkeypatch, 22, good, other)
    assert ([one.case for one in fixed.fixed], fixed.new, fixed.still) == (["fake/b"], (), ())
    last, _ = night(bench, monkeypatch, 23, good, other)
    assert not last.is_news


def test_a_damaged_history_makes_no_failure_vanish(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = fakes.case("fault")
    night(bench, monkeypatch, 19, bad)
    (bench.project.runs / history_entry.FILE).write_bytes(b"nonsense" * 1000)
    changes, _ = night(bench, monkeypatch, 20, bad)
    assert [one.case for one in changes.new] == ["fake/fault"]
    assert "damaged" in changes.unknown


def test_another_run_is_compared_with_no_night(bench: Bench) -> None:
    assert bench.run(fakes.case("double")).changes is None
