"""Exact costs of a launch: calls of traced code, and the costs in its report."""

from __future__ import annotations

import ctypes

from gpuregress.foundation.records import Instruments
from gpuregress.gpu.base import LaunchReport
from gpuregress.virtual_gpu.instruments.exact_costs import ExactCosts
from gpuregress.virtual_gpu.runtime.machine_layout import TRACE_FLUSH, TRACE_FULL
from gpuregress.virtual_gpu.runtime.probe_sites import Stretch, TracedInstruction
from tests.virtual_gpu.instruments.launches import launch_of


def test_rows_become_costs_once() -> None:
    costs = ExactCosts()
    assert costs.serves(Instruments(costs=True))
    assert not costs.serves(Instruments(coverage=True))
    stretch = Stretch("k", (TracedInstruction("add.f32", "float", 7, 1, ()),), ())
    launch = launch_of(Instruments(costs=True), stretches=(stretch,))
    costs.before(launch)
    launch.calls[TRACE_FULL](launch.machine.trace)
    head = (ctypes.c_uint64 * 2).from_address(launch.machine.trace)
    (ctypes.c_uint64 * 2).from_address(head[0])[:] = [32, 0]
    head[0] += 16
    launch.calls[TRACE_FLUSH](0)
    report = costs.after(launch, LaunchReport(0))
    assert report.costs is not None
    assert dict(report.costs.instructions[0].counts) == {"instructions": 1, "thread_instructions": 1}
    assert costs.after(launch, LaunchReport(0)).costs is None
    costs.clear()
