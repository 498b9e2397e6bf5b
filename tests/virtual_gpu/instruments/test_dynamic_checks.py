"""Dynamic checks of a launch: state of the machine, findings, and what is not watched."""

from __future__ import annotations

import ctypes

from gpuregress.foundation.records import Instruments
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.errors import CodeLine
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.dynamic_checks import DynamicChecks
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.layout import CLOCKS
from gpuregress.virtual_gpu.runtime.lane_exchanges import LaneExchange
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CHECK_END,
    CHECK_MATRIX,
    CHECK_ORDER,
    CHECK_REPORT,
    SYSTEM_CALLS,
)
from gpuregress.virtual_gpu.runtime.program import Site
from tests.virtual_gpu.instruments.launches import launch_of

RACES = Instruments(checks=("races",))

EXCHANGE = LaneExchange(
    "lanes exchange values", Site("st", CodeLine("k.cu", 2)), Site("ld", CodeLine("k.cu", 3)), "__syncthreads()"
)


def test_watched_kernels_report_to_the_shadow_memory() -> None:
    checks = DynamicChecks()
    assert checks.serves(RACES)
    assert not checks.serves(Instruments(costs=True))
    launch = launch_of(RACES, granules=(2, 2))
    checks.before(launch)
    assert launch.machine.checks
    assert launch.machine.block_checks
    assert launch.calls.keys() == {CHECK_REPORT, CHECK_ORDER, CHECK_MATRIX, CHECK_END, SYSTEM_CALLS.index("malloc")}
    report = checks.after(replace(launch, exchange=EXCHANGE), LaunchReport(0))
    (finding,) = report.findings
    assert (finding.location, report.exchange, report.unwatched) == ("k.cu:3", "", "")
    checks.clear()


def test_a_kernel_without_shadow_cells_has_no_calls() -> None:
    checks, launch = DynamicChecks(), launch_of(Instruments(checks=("leaks",)))
    checks.before(launch)
    assert not launch.calls
    report = checks.after(replace(launch, exchange=EXCHANGE), LaunchReport(0))
    assert (report.findings, report.exchange, report.unwatched) == ((), EXCHANGE.note, "")


def test_what_a_kernel_accesses_unwatched_is_told() -> None:
    checks, launch = DynamicChecks(), launch_of(RACES, granules=(2, 2), unwatched=("this or that",))
    checks.before(launch)
    assert checks.after(launch, LaunchReport(0)).unwatched == "races of this or that are not watched"


def test_clocks_are_told_where_conflicts_are_kept() -> None:
    told = []
    for wanted in (RACES, Instruments(checks=("races",), conflicts=True)):
        checks, launch = DynamicChecks(), launch_of(wanted, granules=(2, 2), unwatched=(CLOCKS,))
        checks.before(launch)
        told.append(checks.after(launch, LaunchReport(0)).unwatched)
    assert told == ["", CLOCKS]


def test_memory_without_cells_is_told_where_kernels_have_allocated_some() -> None:
    told = []
    for has_allocated in (False, True):
        checks, launch = DynamicChecks(), launch_of(RACES, granules=(2, 2))
        checks.before(launch)
        if has_allocated:
            assert launch.space.heap.add_class(1)
        ctypes.c_uint64.from_address(launch.machine.checks + layout.LAUNCH["heap_accesses"]).value = 1
        told.append(checks.after(launch, LaunchReport(0)).unwatched)
    assert told == ["", "races of memory from malloc are not watched"]
