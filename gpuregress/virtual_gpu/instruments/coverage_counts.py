"""Coverage of a launch, from the counters of its program's probes."""

from __future__ import annotations

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.runtime.counters import coverage


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
