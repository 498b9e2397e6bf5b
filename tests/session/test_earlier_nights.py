from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpuregress.foundation import clock
from gpuregress.foundation.errors import ClusterLost, StorageError
from gpuregress.foundation.records import (
    Case,
    DeviceInfo,
    InstrumentReports,
    NightChanges,
    NightPoint,
    Observations,
    Outcome,
    Program,
    Since,
    TimingComparison,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge.judge import Judge
from gpuregress.session import accepting, earlier_nights, merging, repository
from gpuregress.session.events import Event, Started
from gpuregress.session.runs import history_entry
from gpuregress.store.history import History
from tests import fakes
from tests.judge.nights.nights import case, night
from tests.lab.revisions import git_projects
from tests.session.bench import Bench

NAMES = ("20261119T020000Z-0001", "20261120T020000Z-0001", "20261121T020000Z-0001", "20261122T020000Z-0001")


def record(
    bench: Bench, at: int, *verdicts: object, device: str = "cpu", kind: str = "nightly", **more: object
) -> None:
    started = f"2026-11-{NAMES[at][6:8]}T02:00:00Z"
    summary = replace(night(*verdicts), run=NAMES[at], started=started, device=device, **more)  # type: ignore[arg-type]
    with History(bench.project.runs / history_entry.FILE) as history:
        history.add(summary, kind)  # type: ignore[arg-type]


def test_each_cases_last_verdict_is_found_also_where_a_night_skipped_it(bench: Bench) -> None:
    record(bench, 0, case("a", "differ"), case("b"))
    record(bench, 1, case("a", "skip"), case("b", "fault", reason="trap"), commit="8eb0c1f")
    with earlier_nights.opened(bench.project, "cpu", "tonight", {"a", "b", "c"}) as known:
        assert known.against == NAMES[1]
        assert {name: (one.run, one.verdict) for name, one in known.last.items()} == {
            "a": (NAMES[0], "differ"),
            "b": (NAMES[1], "fault"),
        }
        assert known.last["b"].commit == "8eb0c1f"
        assert [one.verdict for one in known.trend("a")] == ["skip", "differ"]


def test_only_finished_nights_on_the_same_device_count(bench: Bench) -> None:
    record(bench, 0, case("a", "differ"), kind="run")
    record(bench, 1, case("a", "differ"), device="cuda:0")
    record(bench, 2, case("a", "differ"), state="interrupted")
    with earlier_nights.opened(bench.project, "cpu", "tonight", {"a"}) as known:
        assert (known.against, known.last, known.unknown) == ("", {}, "no earlier night on cpu is known")
    with earlier_nights.opened(bench.project, "cuda", "tonight", {"a"}) as known:
        assert known.against == NAMES[1]


@pytest.mark.parametrize("few", [200, 0])
def test_a_case_that_only_an_older_night_had_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(earlier_nights, "FEW_CASES", few)
    monkeypatch.setattr(earlier_nights, "FEW_NIGHTS", 1)
    record(bench, 0, case("a", "differ"), case("b"))
    record(bench, 1, case("b"))
    record(bench, 2, case("b", "fault", reason="trap"))
    with earlier_nights.opened(bench.project, "cpu", "tonight", {"a", "b", "c"}) as known:
        found = {name: (one.run, one.verdict) for name, one in known.last.items()}
    assert found == {"a": (NAMES[0], "differ"), "b": (NAMES[2], "fault")}


def test_imported_nights_of_other_hosts_say_nothing_of_a_case_here(bench: Bench) -> None:
    record(bench, 0, case("a", "fault"))
    with History(bench.project.runs / history_entry.FILE) as history:
        for at in (1, 2):
            theirs = replace(night(case("a"), case("c", "differ")), run=NAMES[at], started="2026-11-21T02:00:00Z")
            history.add(replace(theirs, host="there"), "nightly", is_imported=True)
    with earlier_nights.opened(bench.project, "cpu", "tonight", {"a", "c"}) as known:
        assert {name: (one.run, one.verdict) for name, one in known.last.items()} == {"a": (NAMES[0], "fault")}
        assert [one.verdict for one in known.trend("a")] == ["fault"]


def test_without_a_history_no_night_is_known(bench: Bench) -> None:
    with earlier_nights.opened(bench.project, "cpu", "tonight", {"a"}) as known:
        assert known.unknown == "no earlier night on cpu is known"
    assert not (bench.project.runs / history_entry.FILE).exists()


def test_a_damaged_history_is_an_error(bench: Bench) -> None:
    bench.project.runs.mkdir()
    (bench.project.runs / history_entry.FILE).write_bytes(b"nonsense" * 1000)
    with pytest.raises(StorageError, match="damaged"), earlier_nights.opened(bench.project, "cpu", "t", {"a"}):
        pass


def counted(count: int) -> Outcome:
    """The outcome of a case that executed some instructions."""
    device = DeviceInfo("cpu", "virtual", "sm_90", "", 1)
    reports = InstrumentReports(instructions={"k": count})
    return Outcome("a", "done", device=device, observations=Observations(instruments=reports))


def points(bench: Bench) -> tuple[NightPoint, ...]:
    """The trend of the project on the CPU device."""
    with History(bench.project.runs / history_entry.FILE) as history:
        return earlier_nights.trend(bench.project, history, 60)["cpu"]


def test_the_trend_of_instructions_blames_no_night_that_only_repaired_a_result(bench: Bench) -> None:
    """The second night doubled the work of both cases and broke one; the third repaired it."""
    record(bench, 0, case("a", outcome=counted(100)), case("b", outcome=counted(300)))
    record(bench, 1, case("a", outcome=counted(200)), case("b", "differ", outcome=counted(600)))
    record(bench, 2, case("a", outcome=counted(200)), case("b", outcome=counted(600)))
    record(bench, 3, case("a", "fault", reason="trap"), case("b", outcome=counted(300)))
    assert [point.instructions for point in points(bench)] == pytest.approx([1, 2, 2, 1])


def test_the_night_on_which_a_slow_level_began_is_found(bench: Bench) -> None:
    for at, count in enumerate((100, 900, 905)):
        record(bench, at, case("a", outcome=counted(count)), commit=f"{at}eb0c1f")
    timing = TimingComparison("slower", "instructions", "", expected=100.0, actual=903.0)
    with earlier_nights.opened(bench.project, "cpu", "tonight", {"a"}) as known:
        since = known.slower_since(case("a", timing=timing, outcome=counted(903)))
        assert since == Since(NAMES[1], "2026-11-20T02:00:00Z", "1eb0c1f")
        assert known.slower_since(case("a")) is None
        assert known.slower_since(case("a", timing=replace(timing, actual=9e9), outcome=counted(1))) is None


def night_of(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, day: int, *cases: Case
) -> tuple[NightChanges, Sequence[str]]:
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
    first, _ = night_of(bench, monkeypatch, 18, good, other)
    assert (first.new, first.unknown) == ((), "no earlier night on cpu is known")
    second, started = night_of(bench, monkeypatch, 19, good, bad)
    assert ([one.case for one in second.new], second.unknown, started) == (["fake/b"], "", ["fake/a", "fake/b"])
    third, started = night_of(bench, monkeypatch, 20, good, bad)
    (still,) = third.still
    assert still.since is not None
    assert (third.new, still.since.started, still.since.nights) == ((), "2026-11-19T02:00:00Z", 2)
    assert started == ["fake/b", "fake/a"]
    again, _ = night_of(bench, monkeypatch, 21, good, bad)
    assert [(one.since.started, one.since.nights) for one in again.still if one.since] == [("2026-11-19T02:00:00Z", 3)]
    fixed, _ = night_of(bench, monkeypatch, 22, good, other)
    assert ([one.case for one in fixed.fixed], fixed.new, fixed.still) == (["fake/b"], (), ())
    last, _ = night_of(bench, monkeypatch, 23, good, other)
    assert not last.is_news


def test_a_night_of_the_future_hides_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = fakes.case("double", name="fake/a"), fakes.case("twice_and_a_bit", name="fake/a")
    bench.run(good)
    accepting.accept(bench.project)
    for day, planned in ((18, good), (29, good), (19, bad)):
        changes, _ = night_of(bench, monkeypatch, day, planned)
    assert [one.case for one in changes.new] == ["fake/a"]
    changes, _ = night_of(bench, monkeypatch, 20, bad)
    assert ([one.since.nights for one in changes.still if one.since], changes.new) == ([2], ())


def test_a_commit_that_git_has_no_more_is_gone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    root, bad = bench.project.root, fakes.case("fault")
    root.mkdir(exist_ok=True)
    git_projects.start(root)
    git_projects.commit(root, "One")
    night_of(bench, monkeypatch, 18, bad)
    here, _ = night_of(bench, monkeypatch, 19, bad)
    lost = git_projects.git(root, "rev-parse", "HEAD").strip()
    git_projects.git(root, "commit", "--amend", "-q", "--allow-empty", "-m", "Another one")
    git_projects.git(root, "reflog", "expire", "--expire=now", "--all")
    git_projects.git(root, "gc", "-q", "--prune=now")
    gone, _ = night_of(bench, monkeypatch, 20, bad)
    assert [[one.since.gone for one in changes.still if one.since] for changes in (here, gone)] == [[False], [True]]
    text = repository.why_unknown(bench.project, f"g{lost[:8]}")
    assert text.startswith(f"git knows no commit 'g{lost[:8]}': it is gone from this repository")
    (root / ".git/shallow").write_text(git_projects.git(root, "rev-parse", "HEAD"))
    assert "this clone is shallow; `git fetch --unshallow`" in repository.why_unknown(bench.project, lost[:8])
    assert repository.why_unknown(bench.project, "v9") == "git knows no commit 'v9'"


def test_a_damaged_history_makes_no_failure_vanish(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = fakes.case("fault")
    night_of(bench, monkeypatch, 19, bad)
    (bench.project.runs / history_entry.FILE).write_bytes(b"nonsense" * 1000)
    changes, _ = night_of(bench, monkeypatch, 20, bad)
    assert [one.case for one in changes.new] == ["fake/fault"]
    assert "damaged" in changes.unknown


def test_another_run_is_compared_with_no_night(bench: Bench) -> None:
    assert bench.run(fakes.case("double")).changes is None


@pytest.mark.parametrize(("is_lost", "code"), [(False, 0), (True, 4)])
def test_a_night_of_cases_in_quarantine_passes_unless_its_device_is_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool, code: int
) -> None:
    flaky, elsewhere = fakes.case("double"), fakes.case("count", devices=("cuda",))
    bench.run(flaky)
    accepting.accept(bench.project)
    flaky = fakes.case("twice_and_a_bit", name="fake/double")
    (differing,) = bench.run(flaky).verdicts
    for at, status in enumerate(("pass", "differ", "pass", "differ")):
        record(bench, at, case("fake/double", status, revision=flaky.revision, buffers=differing.buffers))
    monkeypatch.setenv(clock.VARIABLE, "2026-11-23T02:00:00+00:00")
    summary = bench.run(flaky, elsewhere, kind="nightly", lost=is_lost)
    assert summary.changes is not None
    assert (sorted(summary.changes.quarantined), summary.exit_code) == (["fake/double"], code)
    assert merging.merge([bench.project.runs / summary.run]).exit_code == code
    assert [point.flaky for point in points(bench)] == [0, 0, 0, 1, 1]


def test_a_night_that_is_cut_short_fails_although_a_case_is_in_quarantine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    flaky, last = fakes.case("double"), fakes.case("double", name="fake/last")
    bench.run(flaky)
    accepting.accept(bench.project)
    for at, status in enumerate(("pass", "differ", "pass", "differ")):
        record(bench, at, case("fake/double", status, revision=flaky.revision))
    monkeypatch.setenv(clock.VARIABLE, "2026-11-23T02:00:00+00:00")
    verdict_of = Judge.verdict

    def verdict(judge: Judge, case: Case, programs: Sequence[Program], outcome: Outcome) -> Verdict:
        if case.name == "fake/last":
            raise ClusterLost("the scheduler is gone")
        return verdict_of(judge, case, programs, outcome)

    monkeypatch.setattr(Judge, "verdict", verdict)
    summary = bench.run(flaky, last, kind="nightly")
    assert summary.changes is not None
    assert (sorted(summary.changes.quarantined), summary.state, summary.exit_code) == (["fake/double"], "cut short", 4)


def test_the_owners_of_a_job_that_is_gone_are_those_of_the_night_before(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = fakes.case("double", job="stays", name="stays/a", owners=("bea@example.org",))
    gone = fakes.case("double", job="gone", name="gone/a", owners=("ada@example.org",))
    night_of(bench, monkeypatch, 18, stays, gone)
    other = replace(stays, owners=("carl@example.org",))
    for day in (19, 20):
        changes, _ = night_of(bench, monkeypatch, day, other)
        owners = {(owner.job, owner.address) for owner in changes.owners}
        assert owners == {("stays", "carl@example.org"), ("gone", "ada@example.org")}
