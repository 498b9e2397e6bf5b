"""Values of higher precision beside those of a launch, and the instructions at which digits are lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.base import LaunchReport, Shadow
from gpuregress.gpu.instruments import Instruments, Place, RoundingSite
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.runtime.machine_layout import SHADOW_SIZE_SHIFT
from gpuregress.virtual_gpu.runtime.memory import Bytes, Region
from gpuregress.virtual_gpu.runtime.probe_sites import COUNTERS, ProbeSite

# --- rounding sites ---------------------------------------------------------------------------------------------------
# Counts of the instructions of a launch that cancelled digits or lost a shadow.


def take(sites: Sequence[ProbeSite], counters: npt.NDArray[np.uint64]) -> tuple[RoundingSite, ...]:
    """The instructions whose accuracy was watched since the last call; sets their counters to 0.

    Instructions at one place, as of an unrolled loop, are one.
    """
    found: dict[tuple[object, ...], RoundingSite] = {}
    for site in sites:
        if site.kind not in ("rounding", "restart"):
            continue
        values = [int(value) for value in counters[site.first : site.first + COUNTERS[site.kind]]]
        counters[site.first : site.first + COUNTERS[site.kind]] = 0
        count, bits = (values[1], values[2]) if site.kind == "rounding" else (values[0], 0)
        key = (site.kind, site.lines, site.note)
        before = found.get(key)
        if before is not None:
            count, bits = count + before.count, max(bits, before.bits)
        place = site.lines[0] if site.lines else ()
        kind = "rounding" if site.kind == "rounding" else "restart"
        found[key] = RoundingSite(kind, place, count, bits, site.note)  # type: ignore[arg-type]
    return tuple(found.values())


# --- shadow table -----------------------------------------------------------------------------------------------------
# Hash table of the shadow values of memory, which compiled code fills.

_LEAST, _MOST = 1 << 18, 1 << 26
_WORDS = np.dtype([("key", "<u8"), ("bits", "<u8"), ("high", "<f8"), ("low", "<f8")])
Values = npt.NDArray[np.float64]


class ShadowTable:
    """The shadows of all memory of a device.

    Args:
        memory_bytes: of all regions; there is room for twice as many elements of four bytes.
    """

    def __init__(self, memory_bytes: int) -> None:
        wanted = _LEAST + memory_bytes // 2
        self.rows = np.zeros(min(_MOST, 1 << (wanted - 1).bit_length()), _WORDS)

    def read(self, host: int, data: Bytes, itemsize: int) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
        """Return both parts of the shadow of each element, and which elements have one.

        Args:
            host: address of the first element.
            data: the memory as it is.
            itemsize: bytes of an element.
        """
        count = len(data) // itemsize
        high, low, known = np.zeros(count), np.zeros(count), np.zeros(count, np.bool_)
        size = self.rows["key"] >> np.uint64(SHADOW_SIZE_SHIFT)
        address = self.rows["key"] & np.uint64((1 << SHADOW_SIZE_SHIFT) - 1)
        inside = (size == itemsize) & (address >= host) & (address < host + count * itemsize)
        rows = self.rows[inside]
        offsets = address[inside] - np.uint64(host)
        rows, offsets = rows[offsets % itemsize == 0], offsets[offsets % itemsize == 0]
        numbers = (offsets // np.uint64(itemsize)).astype(np.int64)
        now = data[: count * itemsize].view(f"<u{itemsize}").astype(np.uint64)
        valid = now[numbers] == rows["bits"]
        numbers, rows = numbers[valid], rows[valid]
        high[numbers], low[numbers], known[numbers] = rows["high"], rows["low"], True
        return high, low, known


# --- shadow values ----------------------------------------------------------------------------------------------------


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
        roundings = take(launch.program.probes, launch.counters)
        return replace(report, roundings=roundings, shadows_lost=launch.machine.shadows_lost)

    def clear(self) -> None:
        """Free the table."""
        self._table = None
