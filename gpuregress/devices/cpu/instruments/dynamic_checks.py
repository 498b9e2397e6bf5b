"""Dynamic checks of a launch: data races, unwritten reads, memory that is not freed."""

from __future__ import annotations

from dataclasses import replace

from gpuregress.devices.base import LaunchReport
from gpuregress.devices.cpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.devices.cpu.runtime.checks.findings import LaunchFindings, leaks
from gpuregress.devices.cpu.runtime.checks.shadow_memory import BulkNotes, ShadowMemory
from gpuregress.devices.cpu.runtime.machine_layout import CHECK_ORDER, CHECK_REPORT
from gpuregress.records import Instruments

_UNWATCHED = "races and unwritten reads of kernels in clusters are not watched"


class DynamicChecks(LaunchInstrument):
    """The dynamic checks, with the shadow memory of the device."""

    def __init__(self) -> None:
        self._shadow: ShadowMemory | None = None
        self._found: LaunchFindings | None = None

    def serves(self, wanted: Instruments) -> bool:
        """Whether a check is asked for."""
        return bool(wanted.checks)

    def before(self, launch: InstrumentedLaunch) -> None:
        """Make the shadow memory ready, if the kernel's accesses are watched."""
        self._found = None
        granules = launch.kernel.granules
        if not granules:
            return
        shadow = self._shadow = self._shadow or ShadowMemory()
        if shadow.begin_launch(launch.space.all(), granules[1], launch.blocks):
            for arena in launch.arenas:
                arena.checks.clear()
        launch.machine.checks = shadow.address
        launch.machine.block_checks = launch.arenas[0].checks.address
        found = self._found = LaunchFindings(launch.machine, shadow, launch.scene)
        launch.bulk.noted = BulkNotes(launch.machine, shadow, granules)
        launch.calls[CHECK_REPORT] = lambda _arguments: found.take(CHECK_REPORT)
        launch.calls[CHECK_ORDER] = lambda _arguments: found.take(CHECK_ORDER)

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the findings; an exchange between lanes is one where races are looked for."""
        found = self._found
        findings, exchange = () if found is None else found.all(), report.exchange
        if exchange and found is not None and "races" in launch.wanted.checks:
            # What is reported as a race already is not told again.
            findings, exchange = (*findings, *found.of_exchange(exchange)), ""
        if "leaks" in launch.wanted.checks:
            findings += leaks(launch.space.heap, launch.programs)
        return replace(report, findings=findings, exchange=exchange, unwatched=_unwatched(launch))

    def clear(self) -> None:
        """Free the shadow memory."""
        self._shadow = self._found = None


def _unwatched(launch: InstrumentedLaunch) -> str:
    """What the checks that are asked for do not watch in a kernel; "" where they watch it."""
    is_wanted = not {"races", "uninitialized"}.isdisjoint(launch.wanted.checks)
    return _UNWATCHED if is_wanted and launch.kernel.in_cluster and not launch.kernel.granules else ""
