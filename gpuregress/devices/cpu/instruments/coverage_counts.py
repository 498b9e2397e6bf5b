"""Coverage of a launch, from the counters of its program's probes."""

from __future__ import annotations

from dataclasses import replace

from gpuregress.devices.base import LaunchReport
from gpuregress.devices.cpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.devices.cpu.runtime.counters import coverage
from gpuregress.records import Instruments


class CoverageCounts(LaunchInstrument):
    """The executions of basic blocks, branches, loops and bounds of a launch."""

    def serves(self, wanted: Instruments) -> bool:
        """Whether coverage is asked for."""
        return wanted.coverage

    def before(self, launch: InstrumentedLaunch) -> None:
        """Nothing is prepared: the counters are 0 after each launch."""

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the coverage."""
        return replace(report, coverage=coverage.take(launch.program.probes, launch.counters))

    def clear(self) -> None:
        """Nothing is kept."""
