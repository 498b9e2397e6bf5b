"""Dynamic checks of a launch: state of the machine, findings, and what is not watched."""

from __future__ import annotations

from gpuregress.devices.base import LaunchReport
from gpuregress.devices.cpu.instruments.dynamic_checks import DynamicChecks
from gpuregress.devices.cpu.runtime.machine_layout import CHECK_ORDER, CHECK_REPORT
from gpuregress.records import Instruments
from tests.devices.cpu.instruments.launches import launch_of

RACES = Instruments(checks=("races",))


def test_watched_kernels_report_to_the_shadow_memory() -> None:
    checks = DynamicChecks()
    assert checks.serves(RACES)
    assert not checks.serves(Instruments(costs=True))
    launch = launch_of(RACES, granules=(2, 2))
    checks.before(launch)
    assert launch.machine.checks
    assert launch.machine.block_checks
    assert launch.calls.keys() == {CHECK_REPORT, CHECK_ORDER}
    report = checks.after(launch, LaunchReport(0, exchange="lanes exchange values at k.cu:3"))
    (finding,) = report.findings
    assert (finding.location, report.exchange, report.unwatched) == ("k.cu:3", "", "")
    checks.clear()


def test_kernels_in_clusters_are_told_to_be_unwatched() -> None:
    checks, launch = DynamicChecks(), launch_of(RACES, in_cluster=True)
    checks.before(launch)
    assert not launch.calls
    report = checks.after(launch, LaunchReport(0, exchange="at k.cu:3"))
    assert "clusters are not watched" in report.unwatched
    assert (report.findings, report.exchange) == ((), "at k.cu:3")
