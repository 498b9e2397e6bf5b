"""Dynamic checks of a launch: data races, unwritten reads, masks of warps, memory that is not freed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.parallel.race_freedom import RaceFreedom
from gpuregress.virtual_gpu.runtime.checks import unwatched
from gpuregress.virtual_gpu.runtime.checks.absent_lanes import AbsentLanes, EarlyExits
from gpuregress.virtual_gpu.runtime.checks.bulk_notes import BulkNotes
from gpuregress.virtual_gpu.runtime.checks.findings import LaunchFindings, leaks
from gpuregress.virtual_gpu.runtime.checks.running_block import RunningBlock
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import ShadowMemory
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CHECK_END,
    CHECK_EXITS,
    CHECK_LEFT_OUT,
    CHECK_MASK,
    CHECK_MATRIX,
    CHECK_ORDER,
    CHECK_REPORT,
    SYSTEM_CALLS,
)
from gpuregress.virtual_gpu.runtime.memory import Region


class DynamicChecks(LaunchInstrument):
    """The dynamic checks, with the shadow memory of the device."""

    def __init__(self) -> None:
        self._shadow: ShadowMemory | None = None
        self._found: LaunchFindings | None = None
        self._absent: AbsentLanes | None = None
        self._exits: EarlyExits | None = None
        self._race_freedom = RaceFreedom()

    def serves(self, wanted: Instruments) -> bool:
        """Whether a check is asked for."""
        return bool(wanted.checks)

    def before(self, launch: InstrumentedLaunch) -> None:
        """Make the shadow memory ready, if the kernel's accesses are watched."""
        self._found = self._absent = self._exits = None
        if "barriers" in launch.wanted.checks:
            self._absent = AbsentLanes(launch.machine, launch.scene)
            self._exits = EarlyExits(launch.machine, launch.scene)
            launch.calls[CHECK_MASK] = self._absent.take
            launch.calls[CHECK_LEFT_OUT] = self._absent.take_left_out
            launch.calls[CHECK_EXITS] = self._exits.take
        granules = launch.kernel.granules
        if not granules:
            return
        shadow = self._shadow = self._shadow or ShadowMemory()
        regions = launch.space.all()
        if shadow.begin_launch(regions, granules[1], launch.shape.blocks, self._race_free(launch, regions)):
            for arena in launch.arenas:
                arena.checks.clear()
        heap = launch.space.heap
        shadow.keep_heap(heap, granules[1])

        def add_class(arguments: int) -> None:
            number = ctypes.c_uint64.from_address(arguments).value
            if heap.add_class(number):
                shadow.add_heap_class(number, heap, granules[1])

        launch.calls[SYSTEM_CALLS.index("malloc")] = add_class
        launch.machine.checks = shadow.address
        first = launch.arenas[0].checks
        launch.machine.block_checks, launch.machine.cluster_checks = first.address, first.alone
        keeps, block = launch.wanted.conflicts, RunningBlock(launch.machine, shadow, granules[0])
        found = self._found = LaunchFindings(block, launch.scene, keeps_conflicts=keeps)
        launch.bulk.noted = BulkNotes(block, launch.wanted.checks, found.deliveries, found.add)
        launch.calls[CHECK_REPORT] = lambda _arguments: found.take(CHECK_REPORT)
        launch.calls[CHECK_ORDER] = lambda _arguments: found.take(CHECK_ORDER)
        launch.calls[CHECK_MATRIX] = found.products.take
        launch.calls[CHECK_END] = found.ends.take

    def _race_free(self, launch: InstrumentedLaunch, regions: Sequence[Region]) -> frozenset[int]:
        """The numbers of the regions in which no two threads race, or where races are not looked for."""
        numbers = [region.number for region in regions]
        if "races" not in launch.wanted.checks:
            return frozenset(numbers)
        kernel = launch.kernel
        return self._race_freedom.regions(
            f"{id(launch.program)} {kernel.symbol}", launch.shape, kernel.written, numbers
        )

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the findings; an exchange between lanes is one where races are looked for."""
        found = self._found
        findings, exchange = () if found is None else found.all(), report.exchange
        if exchange and found is not None and "races" in launch.wanted.checks:
            # What is reported as a race already is not told again.
            findings, exchange = (*findings, *found.of_exchange(exchange)), ""
        notes = [exchange] if exchange else []
        if found is not None and found.same_value:
            notes.append(found.same_value)
        if self._exits is not None:
            notes += self._exits.notes
        if self._absent is not None:
            findings += self._absent.all()
        if "leaks" in launch.wanted.checks:
            findings += leaks(launch.space.heap, launch.programs)
        report = replace(report, findings=findings, exchange="; ".join(notes), unwatched=self._note(launch))
        return report if found is None else replace(report, conflicts=found.conflicts, conflicts_cut=found.is_cut)

    def _note(self, launch: InstrumentedLaunch) -> str:
        """What the checks did not watch in the launch that ends."""
        parts = list(launch.kernel.unwatched)
        if self._shadow is not None:
            # The barrier of a cooperative grid has no cells either: it is allocated when the grid begins.
            if self._shadow.word("heap_accesses") and not launch.space.heap.is_untouched:
                parts.append(unwatched.HEAP)
            if self._shadow.word("lost_turns"):
                parts.append(unwatched.LATE_TURNS)
            if self._shadow.word("lost_accesses"):
                parts.append(unwatched.LOST_ACCESSES)
        told = [unwatched.note(parts, launch.wanted.checks)]
        if launch.wanted.conflicts and unwatched.CLOCKS in parts:
            told.append(unwatched.CLOCKS)
        return "; ".join(filter(None, told))

    def clear(self) -> None:
        """Free the shadow memory."""
        self._shadow = self._found = self._absent = self._exits = None
        self._race_freedom.clear()
