"""Reports of launches, added up over a case."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.execution.runner.launch_reports import (
    MOST_SHOWN,
    LaunchReports,
    fault_of,
    has_chief_of,
    located,
    merged,
    path_of,
    with_launch,
)
from gpuregress.execution.runner.launcher import Launcher
from gpuregress.foundation.errors import FaultLocation
from gpuregress.foundation.records import CaseSettings as Settings
from gpuregress.foundation.records import (
    CheckFinding,
    Costs,
    Coverage,
    FileCoverage,
    InstrumentReports,
    Instruments,
    Source,
)
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.store.launch_log import LaunchLog
from tests import fakes


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    """A launcher of a case of two launches, in the first one."""
    case = fakes.case("double", "double", settings=Settings(instruments=Instruments(coverage=True, costs=True)))
    with contextlib.closing(LaunchLog(tmp_path / "launch.log")) as log:
        yield Launcher(fakes.FakeDevice(), fakes.task(case, tmp_path, 7), log, lambda _phase: None, 7, 0)


def _added(launcher: Launcher, *reports: LaunchReport, is_first: bool = True) -> LaunchReports:
    made = LaunchReports(launcher)
    for position, (launch, report) in enumerate(zip(launcher.case.launches, reports, strict=False)):
        launcher.position, launcher.current = position, 7 + position
        made.add(launch, report, is_first=is_first)
    return made


def test_counters_and_instructions_of_a_kernel_are_summed(launcher: Launcher) -> None:
    reports = [LaunchReport(0.5, "a", {"bar": 2}, 10, ("k.cu:3",)), LaunchReport(1.5, "b", {"bar": 3}, 5, ("k.cu:3",))]
    made = _added(launcher, *reports)
    assert [(one.number, one.kernel, one.elapsed_ms) for one in made.times] == [(7, "double", 0.5), (8, "double", 1.5)]
    assert made.output == ["a", "b"]
    assert made.instruments.counters == {"double": {"bar": 5}}
    assert (made.instruments.instructions, made.instruments.uncounted) == ({"double": 15}, ("k.cu:3",))


def test_only_the_first_run_counts_instructions_and_lines(launcher: Launcher) -> None:
    report = LaunchReport(0.5, instructions=10, coverage=Coverage((FileCoverage("fake.cu", ((1, 1),)),)), costs=Costs())
    made = _added(launcher, report, is_first=False)
    assert (made.instruments.instructions, made.instruments.coverage, made.instruments.costs) == ({}, None, None)
    made = _added(launcher, report)
    assert made.instruments.coverage is not None
    assert made.instruments.costs is not None


def test_what_is_told_twice_is_kept_once(launcher: Launcher) -> None:
    report = LaunchReport(0.5, exchange="lanes exchange", unwatched="textures")
    made = _added(launcher, report, report)
    assert made.instruments.exchanges == ("double: lanes exchange",)
    assert made.instruments.unwatched == ("double: textures",)


@pytest.mark.parametrize(("is_first", "position"), [(True, 1), (False, None)])
def test_the_launch_of_the_first_finding_is_known_in_the_first_run(
    launcher: Launcher, *, is_first: bool, position: int | None
) -> None:
    finding = CheckFinding("race", "a race", (), "y[3]")
    made = _added(launcher, LaunchReport(0.5), LaunchReport(0.5, findings=(finding,)), is_first=is_first)
    assert made.instruments.findings == (finding,)
    assert made.finding_position == position


def test_a_launch_that_a_fault_ended_has_costs_that_say_so(launcher: Launcher) -> None:
    made = LaunchReports(launcher)
    report = LaunchReport(0.0, costs=Costs())
    made.add_interrupted(report, is_first=False)
    made.add_interrupted(None, is_first=True)
    assert made.instruments == InstrumentReports()
    made.add_interrupted(report, is_first=True)
    assert made.instruments.costs is not None
    assert made.instruments.costs.uncounted == "the launch ended with a fault"


def test_resources_are_asked_for_once(launcher: Launcher) -> None:
    made = LaunchReports(launcher)
    made.add_resources(launcher.load(None))
    assert made.resources == {"double": {"registers": 8, "shared": 0, "local": 0, "spill": 0}}


def test_files_of_the_project_get_paths_and_libraries_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "h.cuh").write_text("")
    source = Source(str(tmp_path / "k.cu"), include=(str(tmp_path / "include"),))
    files = tuple(FileCoverage(name, ((1, 1),)) for name in ("k.cu", "h.cuh", "cooperative_groups.h"))
    assert [one.path for one in located(Coverage(files), source).files] == [
        str(tmp_path / "include" / "h.cuh"),
        str(tmp_path / "k.cu"),
    ]


def test_code_without_a_line_is_the_ptx_itself(tmp_path: Path) -> None:
    assert path_of("", Source(str(tmp_path / "k.ptx"))) == str(tmp_path / "k.ptx")
    assert path_of("", Source(str(tmp_path / "k.cu"))) == ""


def _finding(line: int, count: int = 1) -> CheckFinding:
    return CheckFinding("race", f"data race at line {line}", location=f"k.cu:{line}", count=count, lines=f"k.cu:{line}")


def test_findings_at_the_same_lines_are_one() -> None:
    assert merged([_finding(3, 2), _finding(4), _finding(3, 5)]) == (_finding(3, 7), _finding(4))


def test_calls_of_one_inlined_line_are_one_finding_for_each_variable() -> None:
    def called(line: int, variable: str = "s") -> CheckFinding:
        return replace(_finding(3), lines="h.cuh:1, h.cuh:2", calls=((f"k.cu:{line}",),) * 2, variable=variable)

    first, other = merged([called(5), called(6), called(6), called(5, "t")])
    also = "also at h.cuh:1, called at k.cu:6, and h.cuh:2, called at k.cu:6"
    assert first == replace(called(5), count=3, details=(also,))
    assert other == called(5, "t")
    assert fault_of([first]).location == FaultLocation("s", file="k.cu", line=3, calls=("k.cu:5",))


def test_the_widest_scope_is_told_first() -> None:
    warp, block = (replace(_finding(4), message=f"scope {scope}", scope=scope) for scope in (0, 1))
    assert merged([_finding(3), warp, block]) == (replace(block, count=2), _finding(3))
    assert merged([_finding(3), block, warp]) == (replace(block, count=2), _finding(3))


def test_the_first_finding_is_the_fault() -> None:
    fault = fault_of([_finding(3, 2000), _finding(4), _finding(5, 2)], 2)
    assert (fault.kind, fault.message, fault.position) == ("race", "data race at line 3", 2)
    assert fault.details == ("2,000 times at these lines", "data race at line 4", "data race at line 5 (2 times)")


def test_many_findings_are_counted() -> None:
    fault = fault_of([_finding(line) for line in range(MOST_SHOWN + 5)])
    assert len(fault.details) == MOST_SHOWN
    assert fault.details[-1] == "5 more findings"


def test_what_is_not_freed_counts_behind_the_last_launch() -> None:
    leak = CheckFinding("leak", "an allocation", location="k.cu:1", lines="k.cu:1")
    assert with_launch([leak, _finding(3)], [_finding(3)]) == (_finding(3, 2),)
    assert with_launch([], [leak]) == (leak,)


def test_the_first_finding_stays_the_same_however_often_it_comes() -> None:
    assert has_chief_of([_finding(3, 9), _finding(4)], [_finding(3)])
    assert not has_chief_of([_finding(4)], [_finding(3)])
    assert not has_chief_of([_finding(3)], [])
