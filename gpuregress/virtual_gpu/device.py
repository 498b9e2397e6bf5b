"""Virtual GPU that runs PTX on the processor. docs/contributing/cpu-device-internals.md describes how."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Collection, Iterator
from typing import Self

import numpy as np

from gpuregress.gpu import base, limits, schedules
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.base import LaunchReport, check_size
from gpuregress.gpu.descriptors import TensorMap, TextureDescription
from gpuregress.gpu.errors import DeviceError, KernelFault, LaunchStopped
from gpuregress.gpu.instruments import Instruments, Place
from gpuregress.gpu.limits import check_cooperative, check_launch, of_architecture
from gpuregress.gpu.programs import DeviceInfo, Dim3, LaunchShape, Program
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedule_names import NamedSchedule
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.instruments.coverage_counts import CoverageCounts
from gpuregress.virtual_gpu.instruments.dynamic_checks import DynamicChecks
from gpuregress.virtual_gpu.instruments.exact_costs import ExactCosts
from gpuregress.virtual_gpu.instruments.launch_instrument import LaunchInstrument
from gpuregress.virtual_gpu.instruments.shadow_values import ShadowValues
from gpuregress.virtual_gpu.launches import Launch
from gpuregress.virtual_gpu.module import CpuModule, warp_width
from gpuregress.virtual_gpu.parallel import block_order, cores, partition
from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch
from gpuregress.virtual_gpu.runtime import llvm_backend, machine_layout, tensor_tiles
from gpuregress.virtual_gpu.runtime.arena import Arena, local_size
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import TouchedBytes
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext, thread_of
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region
from gpuregress.virtual_gpu.runtime.program import KernelFacts, ModuleFacts, Schedule
from gpuregress.virtual_gpu.runtime.textures import Textures

_MOST_TEMPLATES = 1024
FEW_THREADS = 1 << 16
"""Threads, in all launches of a case, that run faster than their code is optimised: some 20 ms against most of the
compilation."""
_ARRIVALS = {
    schedules.AT_WAIT: machine_layout.LATEST,
    schedules.AT_ISSUE: machine_layout.AT_ONCE,
    schedules.AT_ANY_WAIT: machine_layout.AT_ANY_WAIT,
}


class _Template(Record):
    """The record of a launch before it begins: what its memory belongs to, and its bytes.

    A launch of few threads takes 16 µs with one, and 32 where its record is made anew.
    """

    held: tuple[object, ...]
    data: bytes


def _one_part() -> int:
    return 1


class CpuDevice(base.Device):
    """The virtual GPU; see `gpu.base.Device`.

    Args:
        cache: where compiled modules are kept; None: each process compiles what it loads.
        space: its memory; None: memory of this process.
    """

    def __init__(self, cache: Cache | None = None, space: AddressSpace | None = None) -> None:
        self._cache = cache
        self._space = AddressSpace() if space is None else space
        self._textures = Textures()
        self._modules: dict[CpuModule, int] = {}
        self._module_facts: tuple[ModuleFacts, ...] = ()
        self._templates: dict[tuple[object, ...], _Template] = {}
        self._partitions = partition.PartitionCache()
        self._arenas = [Arena()]
        self._order = block_order.of_run(0)
        self._wanted = Instruments()
        self._shadow_values = ShadowValues()
        self._dynamic_checks = DynamicChecks()
        self._instruments: tuple[LaunchInstrument, ...] = (
            self._dynamic_checks,
            ExactCosts(),
            CoverageCounts(),
            self._shadow_values,
        )
        self._schedule = NamedSchedule()
        self._thread_order = np.zeros(1, np.uint32)
        self._interrupted: LaunchReport | None = None
        self._launch: Launch | None = None
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
                memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
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

    def keep_accesses(self) -> None:
        """Watch all accesses of the launches that follow, so that `touched` has them; needs the check `races`."""
        self._dynamic_checks.keeps_accesses = True

    def touched(self) -> Iterator[TouchedBytes]:
        """List what the last launch read and wrote, in one item for each region of global memory that it touched."""
        for region in self._space.all():
            touched = self._dynamic_checks.touched(region)
            if touched is not None:
                yield touched

    def round_at(self, places: Collection[Place]) -> None:
        """Choose the instructions whose rounding errors are part of the shadows; see `gpu.base.Device.round_at`."""
        self._shadow_values.round_at(places)

    def shadow(self, memory: base.Memory, itemsize: int) -> base.Shadow | None:
        """Return the shadow values of a buffer; see `gpu.base.Device.shadow`."""
        region = self._space.find(memory.address)
        if region is None:
            return None
        return self._shadow_values.of_region(region, itemsize)

    def load(
        self,
        program: Program,
        threads: int | None = None,
        kernels: Collection[str] | None = None,
        usual: CpuModule | None = None,
    ) -> CpuModule:
        """Translate a program's PTX, or find it in the cache; see `gpu.base.Device.load`.

        Args:
            program: from the toolchain.
            threads: as of the protocol.
            kernels: as of the protocol; `NO_KERNEL`: the program is checked, and its kernels are loaded when they are
                needed, with this module as `usual`.
            usual: the module of another form of the same program, whose variables this one shares.

        Raises:
            DeviceError: the program has no PTX.
            UnsupportedError: every kernel needs an instruction that is not there; where only some do, launching one
                of those raises it.
        """
        if kernels is None:
            kernels = [entry.mangled for entry in program.entries.values()]
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
        module = CpuModule(program, self._space, schedule, tuple(kernels), usual, cache=self._cache)
        self._add(module)
        return module

    def _add(self, module: CpuModule) -> None:
        self._modules[module] = len(self._modules)
        self._module_facts = (*self._module_facts, module.module_facts)

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
            self._add(other)
        return module.variants[schedule]

    def _aliases(self, parameters: bytes) -> tuple[tuple[int, int], ...]:
        """First bytes of parameters that hold an address of a buffer, and of the first one that holds the same."""
        words = np.frombuffer(parameters[: len(parameters) // 8 * 8], np.uint64)
        first: dict[int, int] = {}
        aliases = []
        for number, word in enumerate(words.tolist()):
            earlier = first.setdefault(word, number)
            if earlier != number and self._space.find(word) is not None:
                aliases.append((8 * number, 8 * earlier))
        return tuple(aliases)

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

    def texture(self, memory: base.Memory, description: TextureDescription, offset: int = 0) -> int:
        """A texture or surface object on a buffer; see `gpu.base.Device.texture`.

        Args:
            memory: of this device.
            description: as of the protocol.
            offset: of the object's first byte in the buffer.

        Raises:
            DeviceError: the memory is not this device's, or too small.
        """
        region = self._space.find(memory.address)
        if region is not memory or region is None:
            raise DeviceError(f"{memory.name} is not a buffer of the cpu device")
        needed = description.extents[0] * description.rows * description.element_size
        if offset:
            rest, start = region.data[offset:], region.address + offset
            region = Region(region.number, region.name, rest.size, region.itemsize, data=rest, address=start)
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
        self._module_facts = ()
        self._templates.clear()
        self._space.clear()
        self._textures.clear()
        self._partitions.clear()
        for instrument in self._instruments:
            instrument.clear()
        for arena in self._arenas:
            arena.release()

    def unload(self, module: CpuModule) -> None:
        """Free the code and the variables of one module; what messages say of its memory stays.

        Args:
            module: of this device.
        """
        for variant in (module, *module.variants.values()):
            variant.close()
        for region in module.variables.values():
            self._space.free(region.address)

    def stop(self) -> tuple[str, ...] | None:
        """Stop the launch that another thread runs; see `gpu.base.Device.stop`."""
        launch = self._launch
        if launch is None:
            return None
        running = launch.running
        for machine in running:
            machine.stop = 1
        if not running:
            return None
        if launch.module.is_optimised:
            return ()
        # Only code that is not optimised records its thread before there is a fault.
        return (thread_of(running[0]),)

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
        asked = kernel, grid, block, shared, kernel in module.large_clusters
        if asked not in module.allowed:
            check_launch(self.info, module.kernel(kernel), grid, block, shared)
            module.allowed.add(asked)
        parameters = module.pack(kernel, args)
        module = self._for_launch(module, kernel, block, parameters)
        facts = module.facts(kernel)
        most_resident = self._most_resident(module, kernel, shape)
        addresses = AddressMap(self._space, self._textures, module.addresses)
        kernel_launch = KernelLaunch(facts.footprint, grid, block, parameters, addresses)
        is_permuted, threads = module.schedule.permuted, 1
        blocks = kernel_launch.blocks // math.prod(facts.cluster)
        if is_permuted:
            threads, sequence = math.prod(block), self._schedule.blocks(blocks)
        else:
            sequence = block_order.sequence(blocks, self._order.blocks)
        if threads != len(self._thread_order) or is_permuted:
            self._thread_order = self._schedule.threads(threads)
        is_plain = sequence is None and not module.schedule.instruments.any and not is_permuted
        most_parts = cores.for_one_launch if is_plain else _one_part
        parts = self._partitions.partition(f"{id(module)} {kernel}", kernel_launch, most_parts)
        while len(self._arenas) < len(parts):
            self._arenas.append(Arena())
        machines = []
        for (first, end), arena in zip(parts, self._arenas, strict=False):
            machine = self._machine(module, facts, arena, kernel_launch, shared)
            machine.first_block, machine.end_block = first, end
            machines.append(machine)
        scene = FaultContext(
            module=module.module_facts,
            kernel=facts,
            name=kernel,
            space=self._space,
            dynamic_size=shared,
            block=block,
            parameters=kernel_launch.parameters,
            context=self._arenas[0].context,
            textures=self._textures,
            modules=self._module_facts,
            checks_barriers="barriers" in module.schedule.instruments.checks,
        )
        self._space.heap.enter(self._modules[module])
        launch = self._launch = Launch(
            module=module,
            facts=facts,
            shape=kernel_launch,
            arenas=self._arenas,
            machines=machines,
            sequence=sequence,
            most_resident=most_resident,
            scene=scene,
        )
        try:
            report = launch.run(self._instruments)
        except (KernelFault, LaunchStopped):
            self._interrupted = launch.report
            raise
        finally:
            self._launch = None
        if launch.is_slow and self._cache is not None:
            self._cache.note_slow(module.program.key)
        return report

    def _most_resident(self, module: CpuModule, kernel: str, shape: LaunchShape) -> int:
        """The blocks that are resident at once; 1 for a kernel whose blocks wait for none.

        Raises:
            DeviceError: the blocks of a cooperative launch have no room.
        """
        facts, info = module.facts(kernel), module.kernel(kernel)
        if not facts.cooperative and not facts.may_spin:
            return 1
        resident = limits.of_launch(self.info.limits, info, shape.block, shape.shared)
        if resident is None:
            return 1
        if facts.cooperative:
            check_cooperative(self.info, info, shape.grid, resident.blocks)
        return max(1, self.info.limits["multiprocessors"] * resident.blocks)

    def _machine(
        self, module: CpuModule, facts: KernelFacts, arena: Arena, launch: KernelLaunch, shared: int
    ) -> Machine:
        shared_bytes = module.module_facts.dynamic_start + shared + machine_layout.SHARED_GAP
        arena.prepare(launch.parameters, shared_bytes, facts, math.prod(launch.block))
        if facts.watches_exchanges:  # Each launch has new memory for them.
            return self._new_machine(module, facts, arena, launch, shared)
        held = (facts, module, arena, self._textures.table, self._thread_order)
        key = (
            *map(id, held),
            arena.version,
            launch.grid,
            launch.block,
            shared,
            len(self._textures.objects),
            self._schedule.arrival,
        )
        if key not in self._templates:
            if len(self._templates) >= _MOST_TEMPLATES:
                self._templates.clear()
            machine = self._new_machine(module, facts, arena, launch, shared)
            self._templates[key] = _Template(held, bytes(machine))
        return Machine.from_buffer_copy(self._templates[key].data)

    def _new_machine(
        self, module: CpuModule, facts: KernelFacts, arena: Arena, launch: KernelLaunch, shared: int
    ) -> Machine:
        machine = Machine(
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
        )
        machine.grid_x, machine.grid_y, machine.grid_z = launch.grid
        machine.block_x, machine.block_y, machine.block_z = launch.block
        machine.cluster_x, machine.cluster_y, machine.cluster_z = facts.cluster
        return machine

    def __enter__(self) -> Self:
        """Enter the device; nothing to acquire."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Free all."""
        self.free_all()
