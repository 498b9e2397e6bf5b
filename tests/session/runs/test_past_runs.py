"""Queries of the history; what they print is tested with the command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import NothingToDo, UsageError
from gpuregress.foundation.records import Status
from gpuregress.gpu.records import replace
from gpuregress.session.runs import journal, past_runs
from gpuregress.session.runs.past_runs import HistoryQuery, WantedCases
from gpuregress.store.history import History
from gpuregress.store.project import Project
from tests.store.history.past import night, verdict
from tests.store.history.test_steps import RESULT, counted, noisy, timed
from tests.workshop import RUN, Workshop

ALL = HistoryQuery(removed=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


@pytest.fixture
def history(project: Project) -> Iterator[History]:
    with History(project.runs / "history.sqlite") as history:
        yield history


def add(history: History, *nights: dict[str, Status]) -> None:
    for number, statuses in enumerate(nights, 1):
        history.add(night(number, statuses, commit=f"c{number}"), "nightly")


def wanted(project: Project, history: History, query: HistoryQuery = ALL) -> WantedCases:
    return WantedCases(project, query, history.case_names())


def test_a_period_has_the_newest_runs(history: History) -> None:
    add(history, {"a": "pass"}, {"a": "pass"}, {"a": "pass"})
    assert [run.run for run in past_runs.period(history, HistoryQuery(since="2026-11-02"))] == ["R03", "R02"]
    assert [run.run for run in past_runs.period(history, HistoryQuery(last=1))] == ["R03"]
    with pytest.raises(NothingToDo, match="since 2030-01-01"):
        past_runs.period(history, HistoryQuery(since="2030-01-01"))


def test_an_overview_is_in_natural_order(project: Project, history: History) -> None:
    add(history, {"j/n=10": "pass", "j/n=2": "differ"}, {"j/n=10": "fault"})
    runs = past_runs.period(history, ALL)
    overview = past_runs.overview(history, runs, wanted(project, history))
    assert [run.counts for run in overview.runs] == [{"fault": 1}, {"pass": 1, "differ": 1}]
    assert [
        (one.case, one.device, {at: short.verdict for at, short in one.results.items()}) for one in overview.trends
    ] == [("j/n=2", "cpu", {1: "differ"}), ("j/n=10", "cpu", {0: "fault", 1: "pass"})]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("pdd", ("R02", 2)),
        ("ddd", ("R01", 3)),
        ("dsd", ("R01", 2)),
        ("ddp", None),
        ("dds", ("R01", 2)),
        ("dpd", ("R03", 1)),
    ],
)
def test_a_case_that_fails_and_since_when(
    project: Project, history: History, letters: str, expected: tuple[str, int] | None
) -> None:
    words: dict[str, Status] = {"p": "pass", "d": "differ", "s": "skip"}
    add(history, *({"a": words[letter], "b": "pass"} for letter in letters))
    runs = past_runs.period(history, HistoryQuery(last=2))  # the series may begin before
    found = past_runs.failing(history, runs, wanted(project, history))
    assert [(one.newest.case, (one.since.run, one.failures)) for one in found] == (
        [("a", expected)] if expected else []
    )


def test_a_case_on_two_devices_fails_on_one(project: Project, history: History) -> None:
    both = (verdict("a", "pass"), verdict("a", "differ", "cuda:1"))
    history.add(night(1, {}, verdicts=both), "nightly")
    found = past_runs.failing(history, history.all_runs(), wanted(project, history))
    assert [(one.newest.device, one.newest.verdict) for one in found] == [("cuda:1", "differ")]


def test_cases_that_no_job_has_are_hidden(project: Project, history: History) -> None:
    project.configs.mkdir()
    job = "source: k.cu\nparameters: {n: [1]}\nbuffers: {y: {dtype: float32, shape: [n]}}\n"
    job += "launches: [{kernel: k, grid: [1], block: [1], args: [y]}]\n"
    (project.configs / "j.yaml").write_text(job)
    (project.configs / "k.cu").write_text('extern "C" __global__ void k(float *y) {}')
    add(history, {"j/n=1": "pass", "j/n=2": "pass", "gone": "pass"})
    hidden = wanted(project, history, HistoryQuery())
    assert hidden.names == {"j/n=1"}
    assert hidden.hidden == 2
    assert wanted(project, history).names == {"j/n=1", "j/n=2", "gone"}
    assert wanted(project, history, HistoryQuery(["j/n=2"])).names == {"j/n=2"}  # named outright
    assert wanted(project, history, HistoryQuery(["j"])).names == {"j/n=1"}
    with pytest.raises(NothingToDo, match="--removed shows them"):
        wanted(project, history, HistoryQuery(["gon*"]))
    (project.configs / "j.yaml").write_text("sorce: k.cu\n")  # what its cases are is not known
    assert wanted(project, history, HistoryQuery()).names == {"j/n=1", "j/n=2"}


def test_results_of_cases_and_of_runs(project: Project, history: History) -> None:
    add(history, {"j/n=10": "pass", "j/n=2": "differ"}, {"j/n=10": "fault"})
    runs, names = history.all_runs(), frozenset(history.case_names())
    by_case = [(one.case, one.run) for one in past_runs.case_results(history, runs, None, names)]
    assert by_case == [("j/n=2", "R01"), ("j/n=10", "R01"), ("j/n=10", "R02")]
    assert len(list(past_runs.case_results(history, runs, 1, names))) == 2
    assert len(list(past_runs.case_results(history, runs[:1], None, names))) == 1
    by_run = [(one.case, one.run) for one in past_runs.all_results(history, runs, names)]
    assert by_run == [("j/n=2", "R01"), ("j/n=10", "R01"), ("j/n=10", "R02")]


def test_an_imported_pass_hides_no_failure_of_this_host_nor_another_way_round(
    project: Project, history: History
) -> None:
    for number in (1, 2, 3, 4):
        history.add(night(2 * number - 1, {"a": "differ", "b": "pass"}), "nightly")
        theirs = night(2 * number, {"a": "pass", "b": "fault"}, host="there")
        history.add_new(theirs, "nightly", is_imported=True)
    runs = past_runs.period(history, ALL)
    found = past_runs.failing(history, runs, wanted(project, history))
    assert [(one.newest.case, one.newest.host, one.since.run, one.failures) for one in found] == [
        ("a", "here", "R01", 4),
        ("b", "there", "R02", 4),
    ]
    overview = past_runs.overview(history, runs, wanted(project, history))
    assert [
        (one.case, one.source, "".join(result.verdict[0] for result in one.results.values())) for one in overview.trends
    ] == [("a", "", "dddd"), ("a", "there", "pppp"), ("b", "", "pppp"), ("b", "there", "ffff")]


def test_older_runs_of_this_host_in_another_folder_go_on_in_its_series(project: Project, history: History) -> None:
    history.add_new(night(1, {"a": "differ"}), "nightly", is_imported=True)
    history.add(night(2, {"a": "differ"}), "nightly")
    runs = past_runs.period(history, ALL)
    (found,) = past_runs.failing(history, runs, wanted(project, history))
    assert (found.since.run, found.failures) == ("R01", 2)


@pytest.fixture
def run(fake_shop: Workshop) -> Path:
    """The folder of a run."""
    fake_shop.call(*RUN)
    return (fake_shop.root / "runs/latest").resolve()


@pytest.fixture
def other(tmp_path: Path) -> Project:
    root = tmp_path / "other"
    return Project(root, root / "configs", root / "baselines", root / "runs")


def imported(project: Project, *folders: Path) -> list[tuple[bool, str]]:
    return [(one.is_new, one.problem) for one in past_runs.import_runs(project, folders)]


def test_a_run_is_imported_once(run: Path, other: Project) -> None:
    assert imported(other, run) == [(True, "")]
    before = (other.runs / "history.sqlite").read_bytes()
    assert imported(other, run, run.parent) == [(False, "")]
    with History(other.runs / "history.sqlite") as history:
        (past,) = history.runs()
        assert (past.run, past.imported, past.counts) == (run.name, True, {"new": 1})
        assert past.host == journal.process().host
        (result,) = history.results_of(past)
        assert (result.case, result.verdict, result.device) == ("scale/n=100", "new", "cpu")
        assert (result.launch_seconds or 0) > 0
    assert (other.runs / "history.sqlite").read_bytes() == before


def test_runs_of_one_name_from_two_hosts_do_not_clash(run: Path, other: Project) -> None:
    assert imported(other, run) == [(True, "")]
    text = (run / journal.FILE).read_bytes()
    away = other.root / run.name
    shutil.copytree(run, away)
    read = journal.read(run)
    lines = [journal._line("start", _of_host(read.start, "elsewhere"))]
    lines += [journal._line("verdict", entry) for entry in read.entries]
    assert read.end is not None
    before = storage.digest_text(b"".join(lines))
    (away / journal.FILE).write_bytes(b"".join(lines) + journal._line("end", read.end, before))
    assert (away / journal.FILE).read_bytes() != text
    assert imported(other, away) == [(True, "")]
    with History(other.runs / "history.sqlite") as history:
        assert {(one.run, one.host) for one in history.all_runs()} == {
            (run.name, "elsewhere"),
            (run.name, journal.process().host),
        }


def _of_host(start: journal.JournalStart, host: str) -> journal.JournalStart:
    return replace(start, process=replace(start.process, host=host))


@pytest.mark.parametrize("name", [journal.FILE, journal.RESULTS])
def test_a_run_that_was_changed_is_refused_and_the_others_are_imported(run: Path, other: Project, name: str) -> None:
    changed = other.root / run.name
    shutil.copytree(run, changed)
    text = (changed / name).read_text()
    (changed / name).write_text(text.replace("no baseline yet", "no baseline yes"))
    assert (changed / name).read_text() != text
    (bad, problem), good = imported(other, changed, run)
    assert not bad
    assert "edited or cut short" in problem
    assert good == (True, "")


def test_a_run_that_goes_on_is_refused(run: Path, other: Project) -> None:
    lines = (run / journal.FILE).read_bytes().splitlines(keepends=True)
    (run / journal.FILE).write_bytes(b"".join(lines[:-1]))
    (run / journal.RESULTS).unlink()
    ((is_new, problem),) = imported(other, run)
    assert not is_new
    assert "the run goes on, or was cut short" in problem


def test_what_is_no_run_is_refused(run: Path, other: Project, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the folder of a run"):
        imported(other, tmp_path / "nowhere")
    (run / journal.FILE).unlink()
    assert json.loads((run / journal.RESULTS).read_text())["cases"]
    with pytest.raises(UsageError, match=r"has no verdicts\.jsonl, whose digests"):
        imported(other, run)


def test_an_own_run_that_the_history_lost_is_no_import(run: Path, fake_shop: Workshop) -> None:
    (fake_shop.root / "runs/history.sqlite").unlink()
    own = Project(run.parents[1], run.parents[1] / "configs", run.parents[1] / "baselines", run.parent)
    assert imported(own, run) == [(True, "")]
    with History(own.runs / "history.sqlite") as history:
        assert [one.imported for one in history.all_runs()] == [False]


def test_steps_are_told_with_day_and_commit() -> None:
    past = [replace(one, commit="8eb0c1f2a7", started="2026-11-20T02:00:00Z") for one in counted([10, 9830])]
    (line,) = past_runs.timing_steps(past)
    assert line == "a on cpu: 983 times as many instructions since 20 Nov, 8eb0c1f (10 → 9,830)"


def test_a_commit_is_not_blamed_for_changes_of_the_work_tree() -> None:
    past = [replace(one, commit="8eb0c1f2a7", dirty=one.run != "0") for one in counted([10, 9830])]
    (line,) = past_runs.timing_steps(past)
    assert ", 8eb0c1f+ (" in line


def test_times_of_a_gpu_and_the_false_alarms_of_all_of_them() -> None:
    results = [
        replace(one, started=f"2026-11-{int(one.run) + 1:02}T02:00:00Z", samples=one.samples * 4)
        for one in timed(noisy((1.0, 12), (0.5, 6)))
    ]
    step, alarms = past_runs.timing_steps(results)
    assert step.startswith(("a on cuda: 1.9", "a on cuda: 2"))
    assert " times faster since 13 Nov, 000000c (1" in step
    assert alarms.startswith("A/A: 0 of 18 runs differ from themselves")


def test_without_times_there_is_nothing_to_tell() -> None:
    assert list(past_runs.timing_steps([RESULT, replace(RESULT, run="S")])) == []
    assert list(past_runs.timing_steps([])) == []
