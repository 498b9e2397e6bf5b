"""One launch on the virtual GPU: run its blocks and make its report or fault."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.errors import KernelFault, LaunchStopped
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.module import CpuModule
from gpuregress.virtual_gpu.parallel import block_order, partition
from gpuregress.virtual_gpu.parallel.affine import KernelLaunch
from gpuregress.virtual_gpu.runtime import lane_exchanges, machine_layout
from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.fault_context import ClusterBlock, FaultContext
from gpuregress.virtual_gpu.runtime.lane_exchanges import LaneExchange
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.program import KernelFacts
from gpuregress.virtual_gpu.runtime.resident_blocks import CoResidentGrid, ResidentBlocks
from gpuregress.virtual_gpu.runtime.syscalls import Syscalls

SLOW_S = 0.25
"""Processor time of a launch's compiled code, in seconds, from which on the next run optimises its program."""


_MOST_PLACES = 12
"""Where threads of a stopped launch stand, in the details of its report."""


@dataclass(slots=True)
class Launch:
    """A launch whose memory is prepared.

    Attributes:
        module: the program.
        facts: the kernel's.
        shape: grid, block, parameters.
        arenas: memory of the cores, the first one's first.
        machines: the records of the cores that run a part of the grid.
        sequence: the order of the blocks; None: by their numbers.
        most_resident: blocks that are resident at once.
        scene: the facts that messages need, before the launch has begun.
        cluster: the blocks that were resident when the launch ended, for the message of a fault.
        not_begun: blocks that waited for room then.
        ended: blocks that had ended then, where `cluster` does not have them.
        running: the machines whose blocks run now.
        report: of the launch, as soon as it has ended.
        is_slow: whether its code took so long that it is worth optimising.
    """

    module: CpuModule
    facts: KernelFacts
    shape: KernelLaunch
    arenas: Sequence[Arena]
    machines: Sequence[Machine]
    sequence: Sequence[int] | None
    most_resident: int
    scene: FaultContext
    cluster: tuple[ClusterBlock, ...] = ()
    not_begun: int = 0
    ended: int = 0
    running: Sequence[Machine] = ()
    report: LaunchReport | None = None
    is_slow: bool = False

    def run(self, instruments: Sequence[LaunchInstrument]) -> LaunchReport:
        """Run all blocks.

        Args:
            instruments: the device's.

        Raises:
            KernelFault: the kernel's fault.
            LaunchStopped: the launch was stopped from outside.
        """
        # Kernels that make system calls, or whose blocks wait for each other, are never split.
        machine, program = self.machines[0], self.module.module_facts
        bulk = BulkCopies(
            machine, self.scene.space, program.shared, self.module.mnemonics, in_cluster=self.facts.in_cluster
        )
        wanted = self.module.schedule.instruments
        instruments = [instrument for instrument in instruments if instrument.serves(wanted)] if wanted.any else []
        watched = self._watched(bulk) if instruments else None
        if watched is not None:
            for instrument in instruments:
                instrument.before(watched)
        calls = Syscalls(machine, self.scene.space, self.facts.local_bytes, bulk, watched.calls if watched else {})
        machine.syscall = ctypes.c_void_p.from_buffer(calls.callback).value or 0
        function = self.module.function(self.facts)
        is_tried = not self.module.is_optimised
        start, busy = time.perf_counter_ns(), time.thread_time() if is_tried else 0.0
        self.running = self.machines
        status, machine = self._run_blocks(function)
        self.running = ()
        elapsed_ms = (time.perf_counter_ns() - start) / 1e6
        if is_tried and not status:
            # Optimised code shortens neither the answers to its calls nor the wait for a core of a busy machine.
            own_s = (time.thread_time() - busy) * (1.0 - calls.elapsed_ns / 1e6 / elapsed_ms)
            self.is_slow = own_s > SLOW_S
        report = LaunchReport(elapsed_ms, calls.output)
        if not status:
            exchange, left_out = self._lane_notes()
            report = self._completed(report, bulk, exchange, left_out)
            if watched is not None:
                watched = replace(watched, exchange=exchange, left_out=left_out)
        if watched is not None:
            for instrument in instruments:
                report = instrument.after(watched, report)
        self.report = report
        if status:
            raise self._fault(machine, calls, report)
        return report

    def _watched(self, bulk: BulkCopies) -> InstrumentedLaunch:
        """The launch as its instruments see it."""
        return InstrumentedLaunch(
            wanted=self.module.schedule.instruments,
            program=self.module.module_facts,
            kernel=self.facts,
            programs=self.scene.modules,
            shape=self.shape,
            machine=self.machines[0],
            arenas=self.arenas,
            space=self.scene.space,
            bulk=bulk,
            counters=self.module.counters,
            scene=lambda: self.scene,
        )

    def _run_blocks(self, function: Callable[[int], int]) -> tuple[int, Machine]:
        """Run the blocks in the way that the kernel needs; return the status of a fault, or 0, and the machine."""
        machine, arena, space = self.machines[0], self.arenas[0], self.scene.space
        if self.facts.cooperative or self.facts.cluster != (1, 1, 1):
            # Repeats keep the order of a grid that waits for itself.
            keeps_order = self.facts.cooperative and not self.module.schedule.permuted
            sequence = None if keeps_order else self.sequence
            grid = CoResidentGrid(machine, self.facts, space, len(arena.shared), sequence)
            status = grid.run(lambda: function(ctypes.addressof(machine)))
            arena, self.cluster = grid.arena, grid.cluster_blocks()
        elif self.facts.may_spin:
            blocks = ResidentBlocks(machine, self.facts, space, arena, most=self.most_resident, sequence=self.sequence)
            status = blocks.run(lambda: function(ctypes.addressof(machine)))
            arena, self.cluster = blocks.arena, blocks.blocks()
            self.not_begun, self.ended = blocks.waiting, blocks.ended
        elif self.sequence is not None:
            status, machine = block_order.run_in_order(function, machine, self.sequence)
        else:
            status, machine = partition.run_parallel(function, self.machines)
            arena = self.arenas[self.machines.index(machine)]
        self.scene = replace(self.scene, context=arena.context)
        return status, machine

    def _completed(
        self, report: LaunchReport, bulk: BulkCopies, exchange: LaneExchange | None, left_out: str
    ) -> LaunchReport:
        """Complete the report of a launch that came to its end by all but what instruments add."""
        counts = {
            "reads of lanes that take no part": sum(machine.inactive_reads for machine in self.machines),
            "bulk copies to shared memory that no thread waited for": bulk.lost,
            "asynchronous stores that no thread waited for": bulk.lost_stores,
        }
        return replace(
            report,
            counters={name: count for name, count in counts.items() if count},
            instructions=sum(machine.instructions for machine in self.machines) or None,  # None: they are not counted.
            uncounted=self.facts.uncounted,
            exchange="; ".join(filter(None, (exchange.note if exchange is not None else "", left_out))),
        )

    def _lane_notes(self) -> tuple[LaneExchange | None, str]:
        """The first exchange between lanes, and the first operation whose mask leaves out a lane, in words."""
        exchange, left_out = None, ""
        for machine in self.machines:
            if exchange is None and self.facts.watches_exchanges:
                exchange = lane_exchanges.first(machine, self.scene)
            if not left_out:
                left_out = lane_exchanges.describe_left_out(machine, self.scene)
        return exchange, left_out

    def _fault(self, machine: Machine, calls: Syscalls, report: LaunchReport) -> KernelFault | LaunchStopped:
        scene = replace(self.scene, cluster=self.cluster, not_begun=self.not_begun, ended=self.ended)
        fault = calls.fault(machine, replace(scene, bad_access=calls.bad_access))
        if machine.fault_kind not in (machine_layout.FAULT_STOPPED, machine_layout.FAULT_LOOP):
            return fault
        findings = [f"until then: {finding.kind}: {finding.message}" for finding in report.findings]
        others = fault.details[1:_MOST_PLACES]  # the first one is the message
        return LaunchStopped((str(fault), *others, *findings), fault.source_line)
