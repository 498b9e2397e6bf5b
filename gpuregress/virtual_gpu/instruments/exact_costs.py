"""Exact costs of a launch, from the traces of its warps."""

from __future__ import annotations

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.runtime.counters.warp_trace import WarpTrace
from gpuregress.virtual_gpu.runtime.machine_layout import TRACE_FLUSH, TRACE_FULL


class ExactCosts(LaunchInstrument):
    """The costs of each instruction of a launch."""

    def __init__(self) -> None:
        self._trace: WarpTrace | None = None

    def serves(self, wanted: Instruments) -> bool:
        """Whether costs are asked for."""
        return wanted.costs

    def before(self, launch: InstrumentedLaunch) -> None:
        """Give the traces memory."""
        trace = self._trace = WarpTrace(launch.machine, launch.program.stretches)
        launch.calls[TRACE_FULL] = trace.full
        launch.calls[TRACE_FLUSH] = lambda _arguments: trace.flush()

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the costs."""
        trace, self._trace = self._trace, None
        if trace is None:
            return report
        return replace(report, costs=trace.costs(launch.bulk.moved, launch.kernel.uncounted))

    def clear(self) -> None:
        """Forget the traces of a launch that did not end."""
        self._trace = None
