from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpuregress.foundation import clock
from gpuregress.foundation.records import Case, NightChanges
from gpuregress.lab.revisions import repository
from gpuregress.session import accepting
from gpuregress.session.events import Event, Started
from gpuregress.session.runs import history_entry
from tests import fakes
from tests.lab.commits import git_projects
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
    accepting.accept(bench.project)
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


def test_a_night_of_the_future_hides_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = fakes.case("double", name="fake/a"), fakes.case("twice_and_a_bit", name="fake/a")
    bench.run(good)
    accepting.accept(bench.project)
    for day, case in ((18, good), (29, good), (19, bad)):
        changes, _ = night(bench, monkeypatch, day, case)
    assert [one.case for one in changes.new] == ["fake/a"]
    changes, _ = night(bench, monkeypatch, 20, bad)
    assert ([one.since.nights for one in changes.still if one.since], changes.new) == ([2], ())


def test_a_commit_that_git_has_no_more_is_gone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    root, bad = bench.project.root, fakes.case("fault")
    root.mkdir(exist_ok=True)
    git_projects.start(root)
    git_projects.commit(root, "One")
    night(bench, monkeypatch, 18, bad)
    here, _ = night(bench, monkeypatch, 19, bad)
    lost = git_projects.git(root, "rev-parse", "HEAD").strip()
    git_projects.git(root, "commit", "--amend", "-q", "--allow-empty", "-m", "Another one")
    git_projects.git(root, "reflog", "expire", "--expire=now", "--all")
    git_projects.git(root, "gc", "-q", "--prune=now")
    gone, _ = night(bench, monkeypatch, 20, bad)
    assert [[one.since.gone for one in changes.still if one.since] for changes in (here, gone)] == [[False], [True]]
    text = repository.why_unknown(bench.project, f"g{lost[:8]}")
    assert text.startswith(f"git knows no commit 'g{lost[:8]}': it is gone from this repository")
    (root / ".git/shallow").write_text(git_projects.git(root, "rev-parse", "HEAD"))
    assert "this clone is shallow; `git fetch --unshallow`" in repository.why_unknown(bench.project, lost[:8])
    assert repository.why_unknown(bench.project, "v9") == "git knows no commit 'v9'"


def test_a_damaged_history_makes_no_failure_vanish(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = fakes.case("fault")
    night(bench, monkeypatch, 19, bad)
    (bench.project.runs / history_entry.FILE).write_bytes(b"nonsense" * 1000)
    changes, _ = night(bench, monkeypatch, 20, bad)
    assert [one.case for one in changes.new] == ["fake/fault"]
    assert "damaged" in changes.unknown


def test_another_run_is_compared_with_no_night(bench: Bench) -> None:
    assert bench.run(fakes.case("double")).changes is None
