"""Reports of launches, added up over a case."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.execution.runner.launch_reports import LaunchReports
from gpuregress.execution.runner.launcher import Launcher
from gpuregress.foundation.records import CaseSettings as Settings
from gpuregress.foundation.records import CheckFinding, Costs, Coverage, FileCoverage, Instruments, Observations
from gpuregress.gpu.base import LaunchReport
from gpuregress.store.launch_log import LaunchLog
from tests import fakes


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    """A launcher of a case of two launches, in the first one."""
    case = fakes.case("double", "double", settings=Settings(instruments=Instruments(coverage=True, costs=True)))
    with contextlib.closing(LaunchLog(tmp_path / "launch.log")) as log:
        yield Launcher(fakes.FakeDevice(), fakes.task(case, tmp_path, 7), log, lambda _phase: None, 7, 0)


def _added(launcher: Launcher, *reports: LaunchReport, is_first: bool = True) -> tuple[LaunchReports, Observations]:
    made, observed = LaunchReports(launcher), Observations()
    for position, (launch, report) in enumerate(zip(launcher.case.launches, reports, strict=False)):
        launcher.position, launcher.current = position, 7 + position
        observed = made.added(observed, launch, report, is_first=is_first)
    return made, observed


def test_counters_and_instructions_of_a_kernel_are_summed(launcher: Launcher) -> None:
    reports = [LaunchReport(0.5, "a", {"bar": 2}, 10, ("k.cu:3",)), LaunchReport(1.5, "b", {"bar": 3}, 5, ("k.cu:3",))]
    made, observed = _added(launcher, *reports)
    assert [(one.number, one.kernel, one.elapsed_ms) for one in made.times] == [(7, "double", 0.5), (8, "double", 1.5)]
    assert made.output == ["a", "b"]
    assert observed.counters == {"double": {"bar": 5}}
    assert (observed.instructions, observed.uncounted) == ({"double": 15}, ("k.cu:3",))


def test_only_the_first_run_counts_instructions_and_lines(launcher: Launcher) -> None:
    report = LaunchReport(0.5, instructions=10, coverage=Coverage((FileCoverage("fake.cu", ((1, 1),)),)), costs=Costs())
    _, observed = _added(launcher, report, is_first=False)
    assert (observed.instructions, observed.coverage, observed.costs) == ({}, None, None)
    _, observed = _added(launcher, report)
    assert observed.coverage is not None
    assert observed.costs is not None


def test_what_is_told_twice_is_kept_once(launcher: Launcher) -> None:
    report = LaunchReport(0.5, exchange="lanes exchange", unwatched="textures")
    _, observed = _added(launcher, report, report)
    assert observed.exchanges == ("double: lanes exchange",)
    assert observed.unwatched == ("double: textures",)


@pytest.mark.parametrize(("is_first", "position"), [(True, 1), (False, None)])
def test_the_launch_of_the_first_finding_is_known_in_the_first_run(
    launcher: Launcher, *, is_first: bool, position: int | None
) -> None:
    finding = CheckFinding("race", "a race", (), "y[3]")
    made, observed = _added(launcher, LaunchReport(0.5), LaunchReport(0.5, findings=(finding,)), is_first=is_first)
    assert observed.findings == (finding,)
    assert made.finding_position == position


def test_a_launch_that_a_fault_ended_has_costs_that_say_so(launcher: Launcher) -> None:
    made = LaunchReports(launcher)
    report = LaunchReport(0.0, costs=Costs())
    observed = made.interrupted(Observations(), report, is_first=True)
    assert observed.costs is not None
    assert observed.costs.uncounted == "the launch ended with a fault"
    assert made.interrupted(Observations(), report, is_first=False) == Observations()
    assert made.interrupted(Observations(), None, is_first=True) == Observations()


def test_resources_are_asked_for_once(launcher: Launcher) -> None:
    made = LaunchReports(launcher)
    made.add_resources(launcher.load(None))
    assert made.resources == {"double": {"registers": 8, "shared": 0, "local": 0, "spill": 0}}
