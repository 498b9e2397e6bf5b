"""A GPU as a device: one context, used by one process, one launch at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Self

import numpy as np

from gpuregress.execution.cuda import cooperative, driver, faults, nvml
from gpuregress.execution.cuda.memory import (
    ZONE_SIZE,
    CudaMemory,
    Heap,
    Staging,
    ZoneReader,
    describe_breach,
    reset_context,
)
from gpuregress.execution.cuda.module import CudaModule, load_module
from gpuregress.execution.cuda.textures import CudaTexture, encode_tensor_map
from gpuregress.foundation.errors import DeviceError, FaultLocation, GpuregressError, KernelFault
from gpuregress.foundation.records import DeviceInfo, Dim3, LaunchShape, Program, TensorMap
from gpuregress.gpu import limits, programs
from gpuregress.gpu.base import Bytes, Device, DeviceModule, LaunchReport, Memory, check_size
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.gpu.records import replace

# --- the harness's own kernels ----------------------------------------------------------------------------------------
# One keeps a GPU busy while a launch is queued between its two events. The events of a launch onto an idle GPU hold
# the host's part of it, too: from the first event's record to the kernel's start, some 10 to 30 µs. After a kernel
# that is still busy all three wait in the GPU's own queue, and follow each other without the host. The other kernel
# proves the GPU healthy.


BUSY_KERNEL = "gpuregress_hold"
BUSY_CYCLES = 400_000
"""Duration in cycles of the SM's clock: 0.2 ms at 2 GHz, ten times the duration of queueing."""

BUSY_PTX = f"""\
.version 6.3
.target sm_75
.address_size 64
.visible .entry {BUSY_KERNEL}(.param .u64 cycles)
{{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [cycles];
    mov.u64 %rd2, %clock64;
again:
    mov.u64 %rd3, %clock64;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra again;
    ret;
}}
"""
BUSY_ARGUMENTS = BUSY_CYCLES.to_bytes(8, "little")


PROBE_KERNEL = "gpuregress_canary"
PROBE_THREADS = 256
PROBE_PTX = f"""\
.version 6.3
.target sm_75
.address_size 64
.visible .entry {PROBE_KERNEL}(.param .u64 out)
{{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 2654435761, 97;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r2;
    ret;
}}
"""


def probe_output() -> Bytes:
    """Return the canary's output: 2654435761 · thread + 97, modulo 2³², one uint32 for each thread."""
    threads = np.arange(PROBE_THREADS, dtype=np.uint64)
    return (threads * np.uint64(2654435761) + np.uint64(97)).astype(np.uint32).view(np.uint8)


_Starter = Callable[[Dim3, Dim3, bytes, int], None]
_FIRST_WITH_MAPS = 90
_SPARE_BYTES = 64 << 20
"""Left free on the GPU: the driver's own printf buffer, stacks and code."""


class CudaDevice(Device):
    """A GPU through pycuda; see `gpu.base.Device`.

    Args:
        index: counted from 0, as CUDA counts (and `CUDA_VISIBLE_DEVICES` narrows).
        zones: put red zones around buffers; a checking tool sees its own borders only without them.

    Raises:
        DeviceError: no such GPU, no driver, no pycuda.
    """

    def __init__(self, index: int, *, zones: bool = True) -> None:
        self._api = driver.api()
        self._zone_size = ZONE_SIZE if zones else 0
        self.dead = False
        self._index = index
        self._card = driver.find_card(self._api, index)
        self._info = driver.describe_card(self._api, self._card, index)
        self._context: Any = None
        self._modules: list[CudaModule] = []
        self._buffers: list[CudaMemory] = []
        self._allocations: list[Any] = []
        self._textures: list[CudaTexture] = []
        self._zones: ZoneReader | None = None
        self._staging: Staging | None = None
        self._events: tuple[Any, Any] | None = None
        self._heap = Heap()
        self._hold: Any = None

    @property
    def info(self) -> DeviceInfo:
        """Name, architecture, limits, versions; `card.sticky` once a fault has ended this process's use of it."""
        if self.dead:
            return replace(self._info, card=replace(self._info.card, sticky=True))
        return self._info

    def __enter__(self) -> Self:
        """Acquire the GPU's primary context, which is created now if no other has."""
        with self.guard(f"opening {self._info.name}"):
            self._acquire()
        return self

    def _acquire(self) -> None:
        self._context = driver.patiently(self._card.retain_primary_context)
        self._context.push()
        self._events = (self._api.Event(), self._api.Event())

    def __exit__(self, *_error: object) -> None:
        """Release the GPU; after a sticky fault without messages of pycuda."""
        self.free_all()
        context, self._context = self._context, None
        staging, self._staging = self._staging, None
        events, self._events = self._events, None
        hold_kernel, self._hold = self._hold, None
        if context is None:
            return
        if self.dead:
            driver.keep_forever((context, staging, events, hold_kernel))
            with faults.silenced():
                context.pop()
            return
        del staging, events, hold_kernel
        with suppress(*driver.failures()):
            context.pop()
            context.detach()

    def vary(self, run: int) -> str:  # noqa: ARG002 - the protocol's
        """Nothing: the hardware's scheduler decides; see `gpu.base.Device.vary`."""
        return ""

    def load(
        self,
        program: Program,
        threads: int | None = None,  # noqa: ARG002 - of no use to a GPU
        kernels: Collection[str] | None = None,  # noqa: ARG002 - a GPU is given the whole program
    ) -> CudaModule:
        """Load a program: its cubin, or its PTX through the driver where no assembler is installed.

        Raises:
            DeviceError: the driver refuses it, or it was made for another architecture.
            CompileError: its PTX does not assemble.
        """
        self._refuse_if_dead()
        self._check_architecture(program)
        self._prepare_heap()
        with self.guard(f"loading the program onto {self._info.name}"):
            module = load_module(self, self._api, program)
        self._modules.append(module)
        self._heap.is_used |= module.allocates
        return module

    def limit_heap(self, size: int) -> None:
        """Set the size of the kernels' heap; see `gpu.base.Device.limit_heap`."""
        self._heap.wanted = size

    def _prepare_heap(self) -> None:
        """Give the programs that are loaded next an empty heap of the size that is wanted.

        Raises:
            DeviceError: the GPU has not that much memory.
        """
        if self._modules or not self._heap.must_change:
            return
        if self._heap.is_used:
            # What kernels allocated lives as long as the context, and so does the size of the heap.
            with self.guard(f"emptying the heap of kernels on {self._info.name}"):
                self._staging = self._events = self._zones = None
                self._context.pop()
                self._context.detach()
                reset_context(self._index)
                self._acquire()
                self._heap.begin()
        with self.guard(f"making a heap of {_amount(self._heap.wanted)} for kernels (limits.heap)"):
            self._heap.make(self._api)

    def allocate(self, name: str, size: int, *, itemsize: int = 1) -> CudaMemory:
        """A new buffer between two red zones.

        Raises:
            DeviceError: the GPU has not that much free.
        """
        self._refuse_if_dead()
        needed = max(1, size + 2 * self._zone_size)
        with self.guard(f"allocating {name}"):
            free, total = self._api.mem_get_info()
        if needed + _SPARE_BYTES > free:
            raise DeviceError(
                f"buffer {name} needs {_amount(size)}; {self._info.name} has {_amount(free)} of {_amount(total)} free"
            )
        with self.guard(f"allocating {name}, {_amount(size)}"):
            allocation = self._api.mem_alloc(needed)
        self._allocations.append(allocation)
        memory = self.view(name, size, int(allocation) + self._zone_size, itemsize=itemsize, zoned=self._zone_size > 0)
        if memory.zoned:
            memory.fill_zones()
            self._buffers.append(memory)
        self._zones = None
        return memory

    def view(self, name: str, size: int, address: int, *, itemsize: int = 1, zoned: bool = False) -> CudaMemory:
        """Memory at an address on the GPU."""
        return CudaMemory(
            name=name,
            size=size,
            address=address,
            itemsize=itemsize,
            zoned=zoned,
            _api=self._api,
            _guard=self.guard,
            _staging=self._pinned,
        )

    def texture(self, memory: Memory, description: TextureDescription) -> int:
        """A texture or surface object on a buffer; see `gpu.base.Device.texture`.

        Raises:
            DeviceError: the memory is not this GPU's, or the GPU refuses.
        """
        self._refuse_if_dead()
        if not isinstance(memory, CudaMemory):
            raise DeviceError(f"{memory.name} is not a buffer of {self._info.name}")
        with self.guard(f"making a texture of {memory.name}"):
            made = CudaTexture(memory, description)
        self._textures.append(made)
        return made.handle

    def tensor_map(self, memory: Memory, given: TensorMap) -> bytes:
        """Encode a tensor map on a buffer; see `gpu.base.Device.tensor_map`.

        Raises:
            DeviceError: the memory is too small, the GPU has no tensor maps, or the driver refuses this one.
        """
        self._refuse_if_dead()
        check_size(memory, given)
        if _number(self._info.arch) < _FIRST_WITH_MAPS:
            raise DeviceError(f"{memory.name}: {self._info.name} is {self._info.arch}: tensor maps need sm_90 or later")
        with self.guard(f"encoding the tensor map of {memory.name}"):
            return encode_tensor_map(given, memory.address)

    def free_all(self) -> None:
        """Free every buffer, texture and module; never raises."""
        modules, self._modules = self._modules, []
        allocations, self._allocations = self._allocations, []
        zones, self._zones = self._zones, None
        self._buffers = []
        textures, self._textures = self._textures, []
        if self.dead:
            driver.keep_forever((*allocations, *(module.release() for module in modules), zones))
            return
        for module in modules:
            handle = module.release()
            if isinstance(handle, cooperative.CooperativeProgram):
                with suppress(*driver.failures()):
                    handle.unload()
        for texture in textures:
            with suppress(*driver.failures()):
                texture.free()
        for allocation in allocations:
            with suppress(*driver.failures()):
                allocation.free()

    def launch(self, module: DeviceModule, kernel: str, shape: LaunchShape, args: tuple[bytes, ...]) -> LaunchReport:
        """Run a kernel to its end, and check the red zones.

        Raises:
            DeviceError: the launch is over the device's limits, or the GPU failed.
            KernelFault: the kernel's fault.
        """
        self._refuse_if_dead()
        if not isinstance(module, CudaModule):
            raise DeviceError(f"the program was not loaded onto {self._info.name}")
        function, info = module.function(kernel)
        limits.check_launch(self._info, info, shape.grid, shape.block, shape.shared)
        packed = programs.pack(module.entry(kernel), args)
        name = module.shown(kernel)
        with self.guard(f"preparing {name}"):
            if shape.shared > limits.SHARED_WITHOUT_OPT_IN - info.shared:
                self._allow_shared(function, shape.shared)
        with self.guard(f"copying textures for {name}"):
            for texture in self._textures:
                texture.before_launch()
        starter = self._starter(module, kernel, function, shape)
        printed = faults.Printed()
        try:
            with faults.captured() if module.prints else nullcontext(printed) as printed:
                elapsed_ms = self._run(lambda: starter(shape.grid, shape.block, packed, shape.shared))
        except driver.failures() as error:
            stderr, traps = printed.stderr, module.traps
            raise self.failed(str(error), doing=f"launching {name}", kernel=name, stderr=stderr, traps=traps) from error
        with self.guard(f"copying surfaces after {name}"):
            for texture in self._textures:
                texture.after_launch()
        self._check_zones(name)
        return LaunchReport(elapsed_ms, printed.stdout + printed.stderr)

    @contextmanager
    def timed_exactly(self) -> Iterator[None]:
        """Inside, the host's part of a launch is not in its time: each is queued behind a kernel that is still busy."""
        with self.guard("preparing exact timing"):
            self._hold = self._api.module_from_buffer(BUSY_PTX.encode() + b"\0").get_function(BUSY_KERNEL)
        try:
            yield
        finally:
            held, self._hold = self._hold, None
            if self.dead:
                driver.keep_forever((held,))

    def clocks(self) -> dict[str, str]:
        """Return `sm_clock`, `memory_clock`, `temperature` and `throttle` reasons at this moment, where known."""
        facts = next(iter(nvml.cards(self._info.card.bus)), {})
        return {name: facts[name] for name in ("sm_clock", "memory_clock", "temperature", "throttle") if name in facts}

    def canary(self) -> None:
        """Prove the GPU healthy: one tiny kernel, whose results are checked.

        Raises:
            DeviceError: the GPU is lost, or calculates wrong.
        """
        advice = "`nvidia-smi` shows whether it is there; if it is: nvidia-smi --gpu-reset, or reboot"
        with self.guard(f"{self._info.name} does not answer ({advice})"):
            function = self._api.module_from_buffer(PROBE_PTX.encode() + b"\0").get_function(PROBE_KERNEL)
        memory = self.allocate("canary", PROBE_THREADS * 4, itemsize=4)
        with self.guard(f"{self._info.name} does not answer ({advice})"):
            packed = memory.address.to_bytes(8, "little")
            starter = _plain_starter(function)
            self._run(lambda: starter((1, 1, 1), (PROBE_THREADS, 1, 1), packed, 0))
        wrong = int((memory.read() != probe_output()).sum())
        self.free_all()
        if wrong:
            raise DeviceError(f"{self._info.name} computes wrong results: {wrong} bytes of a test kernel's; {advice}")

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Convert the driver's exceptions inside into our errors."""
        try:
            yield
        except driver.failures() as error:
            raise self.failed(str(error), doing=doing) from error

    def failed(
        self, text: str, *, doing: str, kernel: str = "", stderr: str = "", traps: bool | None = None
    ) -> GpuregressError:
        """Return our error for one of the driver's; check whether this process can go on.

        Args:
            text: the driver's words.
            doing: for messages.
            kernel: the kernel that ran, "" if none.
            stderr: text on stderr meanwhile.
            traps: whether the program has a trap instruction, None where that is not known.
        """
        self.dead = self.dead or faults.meaning_of(text).sticky or not self._answers()
        return faults.as_error(text, doing=doing, kernel=kernel, dead=self.dead, stderr=stderr, traps=traps)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _allow_shared(self, function: Any, size: int) -> None:
        if isinstance(function, cooperative.CooperativeFunction):
            function.allow_shared(size)
        else:
            function.set_attribute(self._api.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, size)

    def _starter(self, module: CudaModule, kernel: str, function: Any, shape: LaunchShape) -> _Starter:
        """The function that starts a kernel; a grid that waits for itself must fit on the GPU."""
        if not isinstance(function, cooperative.CooperativeFunction):
            return _plain_starter(function)
        with self.guard(f"preparing {module.shown(kernel)}"):
            resident = function.resident_blocks(math.prod(shape.block), shape.shared)
        if kernel in module.waiting:
            limits.check_cooperative(self._info, module.kernel(kernel), shape.grid, resident)
            return function.launch
        if module.is_blind and limits.fits_at_once(self._info, shape.grid, resident):
            # The kernel may wait for its grid. If it does not, a cooperative launch changes nothing.
            return function.launch
        return function.launch_plain

    def _run(self, start_kernel: Callable[[], None]) -> float:
        """One launch between two events; milliseconds."""
        assert self._events is not None
        start, end = self._events
        if self._hold is not None:
            _plain_starter(self._hold)((1, 1, 1), (1, 1, 1), BUSY_ARGUMENTS, 0)
        start.record()
        start_kernel()
        end.record()
        self._api.Context.synchronize()
        return float(start.time_till(end))

    def _check_zones(self, kernel: str) -> None:
        if not self._buffers:
            return
        with self.guard(f"checking the red zones after {kernel}"):
            self._zones = self._zones or ZoneReader(self._api, tuple(self._buffers))
            result = self._zones.breach()
        if result is not None:
            memory, breach = result
            memory.fill_zones()
            message = describe_breach(breach, memory.name, memory.size, memory.itemsize)
            location = FaultLocation(memory.name, breach.first // memory.itemsize, memory.size // memory.itemsize)
            raise KernelFault("red-zone", f"{message}, in {kernel}", location=location)

    def _pinned(self) -> Staging:
        if self._staging is None:
            self._staging = Staging(self._api)
        return self._staging

    def _answers(self) -> bool:
        """Whether the context still works after a failure, by one tiny allocation."""
        if self._context is None:
            return True
        try:
            self._api.mem_alloc(16).free()
        except driver.failures() as error:
            return "out of memory" in str(error)
        return True

    def _refuse_if_dead(self) -> None:
        if self.dead:
            raise DeviceError(f"{self._info.name} cannot be used by this process any more: an earlier kernel's fault")

    def _check_architecture(self, program: Program) -> None:
        have, want = self._info.arch, program.arch
        # The suffix of sm_90a stands for this one architecture, that of sm_100f for its family.
        plain = want.rstrip("af")
        fits = plain == have if want.endswith("a") else (plain[:-1] == have[:-1] and plain <= have)
        if not fits:
            raise DeviceError(
                f"the program was built for {want}; {self._info.name} is {have}: build it with --arch {have}"
            )


def _plain_starter(function: Any) -> _Starter:
    def start(grid: Dim3, block: Dim3, packed: bytes, shared: int) -> None:
        function._launch_kernel(grid, block, packed, shared, None)  # noqa: SLF001 - the public way repacks the arguments

    return start


def _number(arch: str) -> int:
    """`sm_90a` → 90."""
    return int("".join(letter for letter in arch if letter.isdigit()) or 0)


def _amount(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
