"""Values of higher precision beside those of a launch, and the instructions at which digits are lost."""

from __future__ import annotations

from collections.abc import Collection

from gpuregress.gpu.accuracy import Place
from gpuregress.gpu.base import LaunchReport, Shadow
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.runtime.counters import rounding_sites
from gpuregress.virtual_gpu.runtime.memory import Region
from gpuregress.virtual_gpu.runtime.shadows.shadow_table import ShadowTable


class ShadowValues(LaunchInstrument):
    """The shadow values of all memory of a device."""

    def __init__(self) -> None:
        self._table: ShadowTable | None = None
        self._places: frozenset[Place] = frozenset()

    def round_at(self, places: Collection[Place]) -> None:
        """Choose the instructions whose rounding errors are part of the shadows."""
        self._places = frozenset(places)

    def of_region(self, region: Region, itemsize: int) -> Shadow | None:
        """The shadow values of a buffer; None where no launch has made any.

        Args:
            region: the buffer.
            itemsize: bytes of an element.
        """
        return None if self._table is None else Shadow(*self._table.read(region.host, region.data, itemsize))

    def serves(self, wanted: Instruments) -> bool:
        """Whether accuracy is asked for."""
        return wanted.accuracy

    def before(self, launch: InstrumentedLaunch) -> None:
        """Make the table of shadow values, and tell the program whose rounding errors count."""
        table = self._table = self._table or ShadowTable(launch.space.size)
        launch.machine.shadows, launch.machine.shadow_mask = table.rows.ctypes.data, len(table.rows) - 1
        for site in launch.program.probes:
            if site.kind == "rounding":
                launch.counters[site.first] = bool(site.lines) and site.lines[0] in self._places

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the instructions at which digits were lost."""
        roundings = rounding_sites.take(launch.program.probes, launch.counters)
        return replace(report, roundings=roundings, shadows_lost=launch.machine.shadows_lost)

    def clear(self) -> None:
        """Free the table."""
        self._table = None
