"""Dynamic checks of a launch: data races, unwritten reads, masks of warps, memory that is not freed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import CheckFinding, Instruments
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.parallel.dependence import RaceFreedom
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.bulk_notes import BulkNotes
from gpuregress.virtual_gpu.runtime.checks.findings import LaunchFindings, finding_at, leaks
from gpuregress.virtual_gpu.runtime.checks.running_block import RunningBlock
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import ShadowMemory, TouchedBytes
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext, coordinates, thread_of
from gpuregress.virtual_gpu.runtime.faults import left_out
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CHECK_END,
    CHECK_EXITS,
    CHECK_LEFT_OUT,
    CHECK_MASK,
    CHECK_MATRIX,
    CHECK_ORDER,
    CHECK_REPORT,
    DEPARTED,
    ROWS,
    SYSTEM_CALLS,
    Machine,
)
from gpuregress.virtual_gpu.runtime.memory import Region
from gpuregress.virtual_gpu.runtime.program import Site
from gpuregress.virtual_gpu.runtime.waiting_threads import describe_warp, in_one_line

# --- absent lanes -----------------------------------------------------------------------------------------------------
# Findings of masks that name lanes which never arrive, and notes of lanes that exit before a barrier.


class AbsentLanes:
    """The findings of one launch.

    Args:
        machine: the launch's.
        scene: gives the launch's facts, when a report comes.
    """

    def __init__(self, machine: Machine, scene: Callable[[], FaultContext]) -> None:
        self._machine, self._scene = machine, scene
        self._found: dict[tuple[int, int], CheckFinding] = {}

    def take(self, arguments: int) -> None:
        """Take a report: the mask, the number of a thread that waits in its block, and that of one that is absent.

        Args:
            arguments: the host address of these three words.
        """
        mask, waiting, absent = (int(word) for word in (ctypes.c_uint64 * 3).from_address(arguments))
        scene = self._scene()
        state = ctypes.c_int32.from_address(self._element("state", waiting)).value
        left = ctypes.c_uint64.from_address(self._element("key", absent)).value & ~DEPARTED
        wait = scene.kernel.wait_sites[~state - 1]
        known = self._found.get((wait, left))
        if known is not None:
            self._found[wait, left] = replace(known, count=known.count + 1)
            return
        sites = scene.module.sites
        self._found[wait, left] = self._finding(mask, (waiting, sites[wait]), (absent, sites[left]))

    def take_left_out(self, arguments: int) -> None:
        """Take a report of an operation that a lane executes whose mask leaves it out: its site, and the mask.

        Args:
            arguments: the host address of these two words.
        """
        site, mask = (int(word) for word in (ctypes.c_uint64 * 2).from_address(arguments))
        known = self._found.get((site, -1))
        if known is not None:
            self._found[site, -1] = replace(known, count=known.count + 1)
            return
        operation, scene = self._scene().module.sites[site], self._scene()
        message = f"{left_out(self._machine, scene, operation, mask)}, {thread_of(self._machine)}, {operation.where}"
        self._found[site, -1] = finding_at("barrier", message, operation, (operation,))

    def _finding(self, mask: int, waits: tuple[int, Site], left: tuple[int, Site]) -> CheckFinding:
        (waiting, operation), (absent, last) = waits, left
        side = self._scene().block
        machine = self._machine
        block = f"({machine.fault_ctaid_x},{machine.fault_ctaid_y},{machine.fault_ctaid_z})"
        one, other = (f"thread ({','.join(map(str, coordinates(number, side)))})" for number in (waiting, absent))
        message = (
            f"{operation.mnemonic} with the mask 0x{mask:08x}, which names lane {absent % 32}, that never comes: "
            f"{one} of block {block} waits at {operation.where}, {other} goes another way and has exited after "
            f"{last.mnemonic} at {last.where}"
        )
        return finding_at("barrier", message, operation, (operation, last))

    def _element(self, row: str, thread: int) -> int:
        offset, size = ROWS[row]
        return int(self._machine.context) + offset + size * thread

    def all(self) -> tuple[CheckFinding, ...]:
        """The findings, in the order in which they came."""
        return tuple(self._found.values())


class EarlyExits:
    """The notes of one launch on barriers that only a part of a warp executes, since its other lanes have exited.

    PTX does not tell an early return, which is allowed, from a barrier inside a condition, which is the most common
    error of all: see `analysis.divergent_barriers`.

    Args:
        machine: the launch's.
        scene: gives the launch's facts, when a report comes.
    """

    def __init__(self, machine: Machine, scene: Callable[[], FaultContext]) -> None:
        self._machine, self._scene = machine, scene
        self.notes: list[str] = []

    def take(self, arguments: int) -> None:
        """Take a report: the number of the first thread of a warp.

        Args:
            arguments: the host address of this word.
        """
        first = ctypes.c_uint64.from_address(arguments).value
        machine, scene = self._machine, self._scene()
        context = np.ctypeslib.as_array((ctypes.c_uint8 * scene.kernel.context_bytes).from_address(machine.context))
        scene = replace(scene, context=context)
        block = f"({machine.fault_ctaid_x},{machine.fault_ctaid_y},{machine.fault_ctaid_z})"
        self.notes.append(
            f"not all lanes of warp {first // 32} of block {block} execute a barrier of the block: "
            f"{in_one_line(describe_warp(scene, first))}; an early return is allowed, but a barrier inside of a "
            "condition is an error: all lanes of a warp must execute it"
        )


# --- dynamic checks ---------------------------------------------------------------------------------------------------


class DynamicChecks(LaunchInstrument):
    """The dynamic checks, with the shadow memory of the device.

    Attributes:
        keeps_accesses: whether all accesses of a launch are watched, so that `ShadowMemory.touched` has them.
    """

    def __init__(self) -> None:
        self.keeps_accesses = False
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
        shadow = self._shadow = self._shadow or ShadowMemory(len(launch.space.table))
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
        if self.keeps_accesses:
            return frozenset()
        kernel = launch.kernel
        return self._race_freedom.regions(
            f"{id(launch.program)} {kernel.symbol}", launch.shape, kernel.written, numbers
        )

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the findings; an exchange between lanes is one where races are looked for."""
        found = self._found
        findings: tuple[CheckFinding, ...] = ()
        if found is not None:
            findings = found.all()
        notes = []
        if launch.exchange is not None:
            if found is not None and "races" in launch.wanted.checks:
                # What is reported as a race already is not reported again.
                findings += found.of_exchange(launch.exchange)
            else:
                notes.append(launch.exchange.note)
        if launch.left_out:
            notes.append(launch.left_out)
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

    def touched(self, region: Region) -> TouchedBytes | None:
        """What the last launch read and wrote of a region; None where it touched nothing, or that is not known."""
        return None if self._shadow is None else self._shadow.touched(region)

    def _note(self, launch: InstrumentedLaunch) -> str:
        """What the checks did not watch in the launch that ends."""
        parts = list(launch.kernel.unwatched)
        if self._shadow is not None:
            # The barrier of a cooperative grid has no cells either: it is allocated when the grid begins.
            if self._shadow.word("heap_accesses") and not launch.space.heap.is_untouched:
                parts.append(layout.HEAP)
            if self._shadow.word("lost_turns"):
                parts.append(layout.LATE_TURNS)
            if self._shadow.word("lost_accesses"):
                parts.append(layout.LOST_ACCESSES)
        told = [layout.note(parts, launch.wanted.checks)]
        if launch.wanted.conflicts and layout.CLOCKS in parts:
            told.append(layout.CLOCKS)
        return "; ".join(filter(None, told))

    def clear(self) -> None:
        """Free the shadow memory."""
        self._shadow = self._found = self._absent = self._exits = None
        self._race_freedom.clear()
