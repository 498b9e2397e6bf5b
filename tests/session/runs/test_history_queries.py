"""Queries of the history; what they print is tested with the command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.foundation.errors import NothingToDo
from gpuregress.foundation.records import Status
from gpuregress.session.runs import past_runs
from gpuregress.session.runs.past_runs import HistoryQuery, WantedCases
from gpuregress.store.history import History
from gpuregress.store.project import Project
from tests.store.history.past import night, verdict

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
