"""Virtual GPU that runs PTX on the processor. docs/cpu-device-internals.md describes how."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import platform
import time
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Self

import numpy as np

from gpuregress.gpu import base, limits, schedules
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.base import LaunchReport, check_size
from gpuregress.gpu.descriptors import TensorMap, TextureDescription
from gpuregress.gpu.errors import DeviceError, LaunchStopped
from gpuregress.gpu.instruments import Instruments, Place
from gpuregress.gpu.limits import check_cooperative, check_launch, of_architecture
from gpuregress.gpu.programs import DeviceInfo, Dim3, LaunchShape, Program
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedule_names import NamedSchedule
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.instruments.coverage_counts import CoverageCounts
from gpuregress.virtual_gpu.instruments.dynamic_checks import DynamicChecks
from gpuregress.virtual_gpu.instruments.exact_costs import ExactCosts
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.instruments.shadow_values import ShadowValues
from gpuregress.virtual_gpu.module import CpuModule, warp_width
from gpuregress.virtual_gpu.parallel import block_order, cores, partition
from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch
from gpuregress.virtual_gpu.runtime import lane_exchanges, llvm_backend, machine_layout, tensor_tiles
from gpuregress.virtual_gpu.runtime.arena import Arena, local_size
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.fault_context import ClusterBlock, FaultContext, thread_of
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region
from gpuregress.virtual_gpu.runtime.program import KernelFacts, Schedule
from gpuregress.virtual_gpu.runtime.resident_blocks import CoResidentGrid, ResidentBlocks
from gpuregress.virtual_gpu.runtime.syscalls import Syscalls
from gpuregress.virtual_gpu.runtime.textures import Textures

FEW_THREADS = 1 << 16
"""Threads, in all launches of a case, that run faster than their code is optimised: some 20 ms against most of the
compilation."""
SLOW_S = 0.25
"""Processor time of a launch's compiled code, in seconds, from which on the next run optimises its program."""
_ARRIVALS = {
    schedules.AT_WAIT: machine_layout.LATEST,
    schedules.AT_ISSUE: machine_layout.AT_ONCE,
    schedules.AT_ANY_WAIT: machine_layout.AT_ANY_WAIT,
}


class CpuDevice(base.Device):
    """The virtual GPU; see `gpu.base.Device`.

    Args:
        cache: where compiled modules are kept; None: each process compiles what it loads.
    """

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        self._space = AddressSpace()
        self._textures = Textures()
        self._modules: list[CpuModule] = []
        self._partitions = partition.PartitionCache()
        self._arenas = [Arena()]
        self._order = block_order.of_run(0)
        self._wanted = Instruments()
        self._shadow_values = ShadowValues()
        self._instruments: tuple[LaunchInstrument, ...] = (
            DynamicChecks(),
            ExactCosts(),
            CoverageCounts(),
            self._shadow_values,
        )
        self._schedule = NamedSchedule()
        self._thread_order = np.zeros(1, np.uint32)
        self._interrupted: LaunchReport | None = None
        self._running: Sequence[Machine] = ()
        self._is_optimised = False
        self._info: DeviceInfo | None = None

    @property
    def info(self) -> DeviceInfo:
        """Name, architecture, limits, versions."""
        if self._info is None:
            model = f"virtual {SM_90.name} on {platform.machine()}"
            limits = of_architecture(SM_90)
            self._info = DeviceInfo(
                name="cpu",
                model=model,
                arch=SM_90.name,
                driver=llvm_backend.description(),
                memory=_host_memory(),
                limits=limits,
            )
        return self._info

    def vary(self, run: int) -> str:
        """Choose the order of blocks and threads for programs loaded from now on; see `gpu.base.Device.vary`."""
        self._order = block_order.of_run(run)
        return str(self._order)

    def follow(self, schedule: str) -> bool:
        """Choose the schedule of programs loaded from now on; see `gpu.base.Device.follow`."""
        self._schedule = NamedSchedule(schedule)
        return True

    def instrument(self, wanted: Instruments) -> None:
        """Choose what programs loaded from now on watch and count; see `gpu.base.Device.instrument`."""
        self._wanted = wanted

    def round_at(self, places: Collection[Place]) -> None:
        """Choose the instructions whose rounding errors are part of the shadows; see `gpu.base.Device.round_at`."""
        self._shadow_values.round_at(places)

    def shadow(self, memory: base.Memory, itemsize: int) -> base.Shadow | None:
        """Return the shadow values of a buffer; see `gpu.base.Device.shadow`."""
        region = self._space.find(memory.address)
        return None if region is None else self._shadow_values.of_region(region, itemsize)

    def load(self, program: Program, threads: int | None = None, kernels: Collection[str] | None = None) -> CpuModule:
        """Translate a program's PTX, or find it in the cache; see `gpu.base.Device.load`.

        Raises:
            DeviceError: the program has no PTX.
            UnsupportedError: every kernel needs an instruction that is not there; where only some do, launching one
                of those raises it.
        """
        launched = tuple(entry.mangled for entry in program.entries.values()) if kernels is None else tuple(kernels)
        has_many = threads is None or threads > FEW_THREADS
        is_optimised = has_many or (self._cache is not None and self._cache.is_slow(program.key))
        schedule = Schedule(
            self._order.last_first and self._schedule.is_usual,
            proven_rows=has_many and (self._wanted.only_checks or not self._wanted.any) and self._schedule.is_usual,
            is_optimised=is_optimised,
            card=program.card or SM_90.name,
            instruments=self._wanted,
            permuted=not self._schedule.is_usual,
            in_step=self._schedule.is_in_step,
        )
        module = CpuModule(program, self._space, schedule, launched, cache=self._cache)
        self._modules.append(module)
        return module

    def _for_launch(self, module: CpuModule, kernel: str, block: Dim3, parameters: bytes) -> CpuModule:
        """The module for a block's warps, and for parameters that hold the same address, where it matters."""
        facts, schedule = module.facts(kernel), module.schedule
        if facts.assumes_rows:
            schedule = replace(schedule, warp_width=warp_width(block))
        if facts.assumes_distinct:
            schedule = replace(schedule, aliases=self._aliases(parameters))
        if schedule == module.schedule:
            return module
        if schedule not in module.variants:
            other = CpuModule(
                program=module.program,
                space=self._space,
                schedule=schedule,
                kernels=module.kernels,
                usual=module,
                cache=self._cache,
            )
            module.variants[schedule] = other
            self._modules.append(other)
        return module.variants[schedule]

    def _aliases(self, parameters: bytes) -> tuple[tuple[int, int], ...]:
        """First bytes of parameters that hold an address of a buffer, and of the first one that holds the same."""
        words = np.frombuffer(parameters[: len(parameters) // 8 * 8], np.uint64)
        first: dict[int, int] = {}
        pairs = ((8 * at, 8 * first.setdefault(int(word), at)) for at, word in enumerate(words))
        return tuple(pair for pair in pairs if pair[0] != pair[1] and self._space.find(int(words[pair[0] // 8])))

    def allocate(self, name: str, size: int, *, itemsize: int = 1) -> Region:
        """A new buffer, its contents undefined.

        Raises:
            DeviceError: there is no memory for it.
        """
        return self._space.allocate(name, size, itemsize)

    def leave_unwritten(self, memory: base.Memory) -> None:
        """Count a buffer's contents as never written; see `gpu.base.Device.leave_unwritten`."""
        region = self._space.find(memory.address)
        if region is not None:
            region.is_filled = False

    def limit_heap(self, size: int) -> None:
        """Set the size of the kernels' heap, which is empty then; see `gpu.base.Device.limit_heap`."""
        self._space.heap.clear(size)

    def texture(self, memory: base.Memory, description: TextureDescription) -> int:
        """A texture or surface object on a buffer; see `gpu.base.Device.texture`.

        Raises:
            DeviceError: the memory is not this device's, or too small.
        """
        region = self._space.find(memory.address)
        if region is not memory or region is None:
            raise DeviceError(f"{memory.name} is not a buffer of the cpu device")
        needed = description.extents[0] * description.rows * description.element_size
        if needed > region.size:
            raise DeviceError(f"{memory.name} has {region.size} bytes; its texture has {needed}")
        return self._textures.add(region, description)

    def tensor_map(self, memory: base.Memory, given: TensorMap) -> bytes:
        """Encode a tensor map on a buffer; see `gpu.base.Device.tensor_map`.

        Raises:
            DeviceError: the memory is too small.
        """
        check_size(memory, given)
        return tensor_tiles.pack(given, memory.address)

    def free_all(self) -> None:
        """Free every buffer, texture and module."""
        for module in self._modules:
            module.close()
        self._modules.clear()
        self._space.clear()
        self._textures.clear()
        self._partitions.clear()
        for instrument in self._instruments:
            instrument.clear()
        for arena in self._arenas:
            arena.release()

    def stop(self) -> tuple[str, ...] | None:
        """Stop the launch that another thread runs; see `gpu.base.Device.stop`."""
        running = self._running
        for machine in running:
            machine.stop = 1
        if not running:
            return None
        # Only code that is not optimised records its thread before there is a fault.
        return () if self._is_optimised else (thread_of(running[0]),)

    def interrupted(self) -> LaunchReport | None:
        """What was counted of the last launch, if a fault has ended it; see `gpu.base.Device.interrupted`."""
        return self._interrupted

    def launch(
        self, module: base.DeviceModule, kernel: str, shape: LaunchShape, args: tuple[bytes, ...]
    ) -> LaunchReport:
        """Run a kernel to its end; see `gpu.base.Device.launch`.

        Raises:
            KernelFault: the kernel's fault, with its source line.
            DeviceError: the launch is over the limits, or the module is not this device's.
        """
        if not isinstance(module, CpuModule) or module not in self._modules:
            raise DeviceError("the program was not loaded onto the cpu device")
        self._interrupted = None
        grid, block, shared = shape.grid, shape.block, shape.shared
        check_launch(self.info, module.kernel(kernel), grid, block, shared)
        module = self._for_launch(module, kernel, block, module.pack(kernel, args))
        facts, info = module.facts(kernel), module.kernel(kernel)
        is_resident = facts.cooperative or facts.may_spin
        resident = limits.of_launch(self.info.limits, info, block, shared) if is_resident else None
        if resident is not None and facts.cooperative:
            check_cooperative(self.info, info, grid, resident.blocks)
        addresses = AddressMap(self._space, self._textures, module.addresses)
        launch = KernelLaunch(facts.footprint, grid, block, module.pack(kernel, args), addresses)
        total, is_permuted = launch.blocks // math.prod(facts.cluster), module.schedule.permuted
        sequence = self._schedule.blocks(total) if is_permuted else block_order.sequence(total, self._order.blocks)
        self._thread_order = self._schedule.threads(math.prod(block) if is_permuted else 1)
        is_plain = sequence is None and not module.schedule.instruments.any and not is_permuted
        most = cores.for_one_launch() if is_plain else 1
        parts = self._partitions.partition(f"{id(module)} {kernel}", launch, most)
        self._arenas += [Arena() for _ in range(len(parts) - len(self._arenas))]
        machines = []
        for (first, end), arena in zip(parts, self._arenas, strict=False):
            machine = self._machine(module, facts, arena, launch, shared)
            machine.first_block, machine.end_block = first, end
            machines.append(machine)
        context_of = functools.partial(
            FaultContext,
            module.module_facts,
            facts,
            kernel,
            self._space,
            shared,
            block,
            launch.parameters,
            textures=self._textures,
            modules=tuple(one.module_facts for one in self._modules),
            checks_barriers="barriers" in module.schedule.instruments.checks,
        )
        self._space.heap.enter(self._modules.index(module))
        most = max(1, self.info.limits["multiprocessors"] * resident.blocks if resident is not None else 1)
        return self._run(module, facts, launch, machines, sequence, context_of, most)

    def _machine(
        self, module: CpuModule, facts: KernelFacts, arena: Arena, launch: KernelLaunch, shared: int
    ) -> Machine:
        shared_bytes = module.module_facts.dynamic_start + shared + machine_layout.SHARED_GAP
        arena.prepare(launch.parameters, shared_bytes, facts, math.prod(launch.block))
        coordinates = {
            f"{name}_{axis}": count
            for name, size in (("grid", launch.grid), ("block", launch.block), ("cluster", facts.cluster))
            for axis, count in zip("xyz", size, strict=True)
        }
        return Machine(
            params=arena.parameters.ctypes.data,
            params_size=len(launch.parameters),
            table=self._space.table.ctypes.data,
            table_count=len(self._space.table),
            heap=self._space.heap.control.ctypes.data,
            symbols=module.symbols.ctypes.data,
            tables=module.tables.ctypes.data,
            shared=arena.shared.ctypes.data,
            dynamic_size=shared,
            local=arena.local.ctypes.data,
            local_size=facts.local_bytes,
            local_notes=local_size(facts, math.prod(launch.block)),
            local_gaps=arena.local_gaps.ctypes.data,
            local_gap_count=len(arena.local_gaps),
            context=arena.context.ctypes.data,
            textures=self._textures.table.ctypes.data,
            texture_count=len(self._textures.objects),
            cluster_count=1,
            cluster_shared=arena.alone.ctypes.data,
            copies=arena.copies.ctypes.data,
            exchanges=arena.exchanges.ctypes.data,
            counters=module.counters.ctypes.data,
            order=self._thread_order.ctypes.data,
            arrival=_ARRIVALS[self._schedule.arrival],
            **coordinates,
        )

    def _run(
        self,
        module: CpuModule,
        facts: KernelFacts,
        launch: KernelLaunch,
        machines: list[Machine],
        sequence: Sequence[int] | None,
        context_of: Callable[..., FaultContext],
        most_resident: int,
    ) -> LaunchReport:
        function, program = module.function(facts), module.module_facts
        # Kernels that make system calls, or whose blocks wait for each other, are never split.
        machine, arena = machines[0], self._arenas[0]
        mnemonics = [site.mnemonic for site in program.sites]
        bulk = BulkCopies(machine, self._space, program.shared, mnemonics, in_cluster=facts.in_cluster)
        wanted = module.schedule.instruments
        instruments = [one for one in self._instruments if one.serves(wanted)] if wanted.any else []
        watched: InstrumentedLaunch | None = None
        if instruments:
            watched = InstrumentedLaunch(
                wanted=wanted,
                program=program,
                kernel=facts,
                programs=[one.module_facts for one in self._modules],
                shape=launch,
                machine=machine,
                arenas=self._arenas,
                space=self._space,
                bulk=bulk,
                counters=module.counters,
                scene=lambda: context_of(context=arena.context),
            )
            for instrument in instruments:
                instrument.before(watched)
        calls = Syscalls(machine, self._space, facts.local_bytes, bulk, {} if watched is None else watched.calls)
        machine.syscall = ctypes.cast(calls.callback, ctypes.c_void_p).value or 0
        cluster: tuple[ClusterBlock, ...] = ()
        not_begun = ended = 0
        start, busy = time.perf_counter_ns(), time.thread_time()
        self._running, self._is_optimised = machines, module.is_optimised
        if facts.cooperative or facts.cluster != (1, 1, 1):
            # Repeats keep the order of a grid that waits for itself.
            clusters = None if facts.cooperative and not module.schedule.permuted else sequence
            grid = CoResidentGrid(machine, facts, self._space, len(arena.shared), clusters)
            status = grid.run(lambda: function(ctypes.addressof(machine)))
            arena, cluster = grid.arena, grid.cluster_blocks()
        elif facts.may_spin:
            blocks = ResidentBlocks(
                machine=machine, facts=facts, space=self._space, arena=arena, most=most_resident, sequence=sequence
            )
            status = blocks.run(lambda: function(ctypes.addressof(machine)))
            arena, cluster, not_begun, ended = blocks.arena, blocks.blocks(), blocks.waiting, blocks.ended
        elif sequence is not None:
            status, machine = block_order.run_in_order(function, machine, sequence)
        else:
            status, machine = partition.run_parallel(function, machines)
            arena = self._arenas[machines.index(machine)]
        self._running = ()
        elapsed_ms = (time.perf_counter_ns() - start) / 1e6
        # Optimised code shortens neither the answers to its calls nor the wait for a core of a busy machine.
        own_s = (time.thread_time() - busy) * (1.0 - calls.elapsed_ns / 1e6 / elapsed_ms)
        if status:
            report = LaunchReport(elapsed_ms, calls.output)
        else:
            if self._cache is not None and own_s > SLOW_S and not module.is_optimised:
                self._cache.note_slow(module.program.key)
            scene = functools.partial(context_of, context=arena.context)
            report = _report(elapsed_ms, calls.output, facts, machines, bulk, scene)
        for instrument in instruments:
            assert watched is not None
            report = instrument.after(watched, report)
        if status:
            self._interrupted = report
            whole = context_of(
                context=arena.context,
                cluster=cluster,
                not_begun=not_begun,
                ended=ended,
                bad_access=calls.bad_access,
            )
            fault = calls.fault(machine, whole)
            if machine.fault_kind in (machine_layout.FAULT_STOPPED, machine_layout.FAULT_LOOP):
                raise LaunchStopped(
                    (str(fault), *(f"until then: {one.kind}: {one.message}" for one in report.findings))
                )
            raise fault
        return report

    def __enter__(self) -> Self:
        """Enter the device; nothing to acquire."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free all."""
        self.free_all()


def _host_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _report(
    elapsed_ms: float,
    output: str,
    facts: KernelFacts,
    machines: Sequence[Machine],
    bulk: BulkCopies,
    scene: Callable[[], FaultContext],
) -> LaunchReport:
    """The report of a launch that came to its end, without what instruments add."""
    reads = sum(item.inactive_reads for item in machines)
    counters = {"reads of lanes that take no part": reads} if reads else {}
    counters |= {"bulk copies to shared memory that no thread waited for": bulk.lost} if bulk.lost else {}
    counters |= {"asynchronous stores that no thread waited for": bulk.lost_stores} if bulk.lost_stores else {}
    instructions = sum(item.instructions for item in machines) or None  # each launch has at least one
    exchange = left_out = ""
    for item in machines:
        exchange = exchange or (lane_exchanges.describe(item, scene()) if facts.watches_exchanges else "")
        left_out = left_out or (lane_exchanges.describe_left_out(item, scene()) if item.left_out else "")
    exchange = "; ".join(filter(None, (exchange, left_out)))
    return LaunchReport(
        elapsed_ms=elapsed_ms,
        output=output,
        counters=counters,
        instructions=instructions,
        uncounted=facts.uncounted,
        exchange=exchange,
    )
