"""A GPU as a device: one context, used by one process, one launch at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gpuregress import toolchain
from gpuregress.devices import limits, parameters
from gpuregress.devices.base import KernelInfo, LaunchReport, Memory, Module
from gpuregress.devices.cuda import canary, cooperative, driver, faults, hold, nvml, occupancy, output, redzone
from gpuregress.devices.cuda.memory import CudaMemory, Staging, ZoneReader
from gpuregress.devices.cuda.textures import CudaTexture
from gpuregress.devices.textures import TextureDescription
from gpuregress.errors import DeviceError, GpuregressError, HarnessError, KernelFault
from gpuregress.records import DeviceInfo, Dim3, Entry, Program

_Starter = Callable[[Dim3, Dim3, bytes, int], None]
_TRAP = re.compile(r"^[ \t]*(?:@!?%\w+[ \t]+)?trap;", re.MULTILINE)
_SPARE_BYTES = 64 << 20
"""Left free on the card: the driver's own printf buffer, stacks and code."""


class CudaModule:
    """A program on the card; follows `devices.base.Module`.

    Args:
        device: where it was loaded.
        handle: pycuda's module.
        program: what it was made of.
        image: the bytes that were loaded.
        ptx: its PTX, "" where there is none.
        waiting: the mangled names of the kernels that wait for their whole grid.
    """

    def __init__(
        self, device: CudaDevice, handle: Any, program: Program, image: bytes, ptx: str, waiting: frozenset[str]
    ) -> None:
        self._device = device
        self._handle: Any = handle
        self._entries = {entry.mangled: entry for entry in program.entries.values()}
        self._names = {entry.mangled: name for name, entry in program.entries.items()}
        self._ptx = ptx
        self.waiting = waiting
        self._told = toolchain.resources(program)
        self._functions: dict[str, tuple[Any, KernelInfo]] = {}
        self.prints = b"vprintf" in image or b"__assertfail" in image

    def kernel(self, name: str) -> KernelInfo:
        """What is known of a kernel.

        Args:
            name: its mangled name.

        Raises:
            DeviceError: no such kernel here.
        """
        return self.function(name)[1]

    def entry(self, name: str) -> Entry:
        """A kernel's parameters."""
        return self._entries[name]

    def shown(self, name: str) -> str:
        """A kernel's C++ name, for messages."""
        return self._names.get(name, name)

    @property
    def traps(self) -> bool | None:
        """Whether the program has a trap instruction; None where its PTX is not there."""
        return bool(_TRAP.search(self._ptx)) if self._ptx else None

    def occupancy(self, name: str, block: Dim3, shared: int) -> dict[str, int]:
        """`occupancy` in percent and `blocks`, both of one multiprocessor; empty where the device does not tell.

        Args:
            name: the kernel's mangled name.
            block: threads along x, y, z.
            shared: dynamic shared memory, bytes.
        """
        found = occupancy.of_launch(self._device.info.limits, self.kernel(name), block, shared)
        return {} if found is None else {"occupancy": found.percent, "blocks": found.blocks}

    def function(self, name: str) -> tuple[Any, KernelInfo]:
        """The function's handle of pycuda's, and what is known of it."""
        if name not in self._entries:
            raise DeviceError(f"no kernel {name} in this program; there are: {', '.join(self._entries) or 'none'}")
        if self._handle is None:
            raise DeviceError(f"the program of {name} was unloaded at the end of its case")
        if name not in self._functions:
            with self._device.guard(f"looking up {self.shown(name)}"):
                function = self._handle.get_function(name)
                self._functions[name] = (function, self._describe(name, function))
        return self._functions[name]

    def symbol(self, name: str) -> CudaMemory:
        """A `__constant__` or `__device__` variable.

        Args:
            name: its mangled or plain name.

        Raises:
            DeviceError: no such variable here.
        """
        try:
            with self._device.guard(f"looking up {name}"):
                address, size = self._handle.get_global(name)
        except DeviceError as error:
            if self._device.dead:
                raise
            raise DeviceError(f"no variable {name} in this program") from error
        return self._device.view(name, int(size), int(address))

    def release(self) -> Any:
        """Gives up the module, which unloads it unless the caller keeps what is returned."""
        handle, self._handle = self._handle, None
        self._functions.clear()
        return handle

    def _describe(self, name: str, function: Any) -> KernelInfo:
        return KernelInfo(
            name,
            registers=int(function.num_regs),
            shared=int(function.shared_size_bytes),
            local=int(function.local_size_bytes),
            constant=int(function.const_size_bytes),
            spill=self._told.get(name, {}).get("spill", 0),
            max_threads=int(function.max_threads_per_block),
        )


class CudaDevice:
    """A GPU through pycuda; follows `devices.base.Device`.

    Args:
        index: counted from 0, as CUDA counts (and `CUDA_VISIBLE_DEVICES` narrows).
        zones: put red zones around buffers; a checking tool sees its own borders only without them.

    Raises:
        DeviceError: no such GPU, no driver, no pycuda.
    """

    def __init__(self, index: int, *, zones: bool = True) -> None:
        self._api = driver.api()
        self._zone_size = redzone.SIZE if zones else 0
        self.dead = False
        self._index = index
        self._card = self._find(index)
        self._info = self._describe()
        self._context: Any = None
        self._modules: list[CudaModule] = []
        self._buffers: list[CudaMemory] = []
        self._allocations: list[Any] = []
        self._textures: list[CudaTexture] = []
        self._zones: ZoneReader | None = None
        self._staging: Staging | None = None
        self._events: tuple[Any, Any] | None = None
        self._hold: Any = None

    @property
    def info(self) -> DeviceInfo:
        """Name, architecture, limits, versions; `extra["sticky"]` once a fault has ended this process's use of it."""
        if self.dead:
            return replace(self._info, extra={**self._info.extra, "sticky": "yes"})
        return self._info

    def __enter__(self) -> Self:
        """Takes the card: its primary context, which is made now where nobody has yet."""
        with self.guard(f"opening {self._info.name}"):
            self._context = driver.patiently(self._card.retain_primary_context)
            self._context.push()
            self._events = (self._api.Event(), self._api.Event())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives the card back; after a sticky fault without a word of pycuda's."""
        self.free_all()
        context, self._context = self._context, None
        staging, self._staging = self._staging, None
        events, self._events = self._events, None
        hold_kernel, self._hold = self._hold, None
        if context is None:
            return
        if self.dead:
            driver.keep_forever((context, staging, events, hold_kernel))
            with output.silenced():
                context.pop()
            return
        del staging, events, hold_kernel
        with suppress(*driver.failures()):
            context.pop()
            context.detach()

    def load(self, program: Program) -> CudaModule:
        """Loads a program: its cubin, or its PTX through the driver where nobody here can make a cubin.

        Raises:
            DeviceError: the driver refuses it, or it was made for another architecture.
            CompileError: its PTX does not assemble.
        """
        self._refuse_if_dead()
        self._check_architecture(program)
        image, ptx = _image(program), _ptx(program)
        waiting = cooperative.kernels_in(ptx)
        with self.guard(f"loading the program onto {self._info.name}"):
            handle = (
                cooperative.Program(image, _by_mangled(program)) if waiting else self._api.module_from_buffer(image)
            )
        module = CudaModule(self, handle, program, image, ptx, waiting)
        self._modules.append(module)
        return module

    def allocate(self, name: str, size: int, *, itemsize: int = 1) -> CudaMemory:
        """A new buffer between two red zones.

        Raises:
            DeviceError: the card has not that much free.
        """
        self._refuse_if_dead()
        needed = max(1, size + 2 * self._zone_size)
        with self.guard(f"allocating {name}"):
            free, total = self._api.mem_get_info()
        if needed + _SPARE_BYTES > free:
            raise DeviceError(
                f"buffer {name} needs {_amount(size)}; {self._info.name} has {_amount(free)} of {_amount(total)} free",
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
        """Memory at an address on the card."""
        return CudaMemory(name, size, address, itemsize, zoned, self._api, self.guard, self._pinned)

    def texture(self, memory: Memory, description: TextureDescription) -> int:
        """A texture or surface object on a buffer; see `devices.base.Device.texture`.

        Raises:
            DeviceError: the memory is not this card's, or the card refuses.
        """
        self._refuse_if_dead()
        if not isinstance(memory, CudaMemory):
            raise DeviceError(f"{memory.name} is no buffer of {self._info.name}")
        with self.guard(f"making a texture of {memory.name}"):
            made = CudaTexture(memory, description)
        self._textures.append(made)
        return made.handle

    def free_all(self) -> None:
        """Frees every buffer, texture and module; never raises."""
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
            if isinstance(handle, cooperative.Program):
                with suppress(*driver.failures()):
                    handle.unload()
        for texture in textures:
            with suppress(*driver.failures()):
                texture.free()
        for allocation in allocations:
            with suppress(*driver.failures()):
                allocation.free()

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        shared: int,
        args: tuple[bytes, ...],
    ) -> LaunchReport:
        """Runs a kernel to its end, and looks at what it did to the red zones.

        Raises:
            DeviceError: the launch is over the device's limits, or the card failed.
            KernelFault: what the kernel did wrong.
        """
        self._refuse_if_dead()
        if not isinstance(module, CudaModule):
            raise DeviceError(f"the program was not loaded onto {self._info.name}")
        function, info = module.function(kernel)
        limits.check_launch(self._info, info, grid, block, shared)
        packed = parameters.pack(module.entry(kernel), args)
        name = module.shown(kernel)
        with self.guard(f"preparing {name}"):
            if shared > limits.SHARED_WITHOUT_OPT_IN - info.shared:
                self._allow_shared(function, shared)
        with self.guard(f"copying textures for {name}"):
            for texture in self._textures:
                texture.before_launch()
        starter = self._starter(module, kernel, function, grid, block, shared)
        printed = output.Printed()
        try:
            with output.captured() if module.prints else nullcontext(printed) as printed:
                elapsed_ms = self._run(lambda: starter(grid, block, packed, shared))
        except driver.failures() as error:
            said, traps = printed.stderr, module.traps
            raise self.failed(str(error), doing=f"launching {name}", kernel=name, said=said, traps=traps) from error
        with self.guard(f"copying surfaces after {name}"):
            for texture in self._textures:
                texture.after_launch()
        self._check_zones(name)
        return LaunchReport(elapsed_ms, printed.stdout + printed.stderr)

    @contextmanager
    def timed_exactly(self) -> Iterator[None]:
        """Inside, the host's part of a launch is not in its time: each is queued behind a kernel that is still busy."""
        with self.guard("preparing exact timing"):
            self._hold = self._api.module_from_buffer(hold.PTX.encode() + b"\0").get_function(hold.KERNEL)
        try:
            yield
        finally:
            held, self._hold = self._hold, None
            if self.dead:
                driver.keep_forever((held,))

    def clocks(self) -> dict[str, str]:
        """The card's `sm_clock`, `memory_clock`, `temperature` and `throttle` reasons at this moment, where told."""
        facts = next(iter(nvml.cards(self._info.extra["bus"])), {})
        return {name: facts[name] for name in ("sm_clock", "memory_clock", "temperature", "throttle") if name in facts}

    def canary(self) -> None:
        """Proves the card healthy: one tiny kernel, whose results are checked.

        Raises:
            DeviceError: the card is lost, or calculates wrong.
        """
        advice = "`nvidia-smi` tells whether it is there; if it is: nvidia-smi --gpu-reset, or reboot"
        with self.guard(f"{self._info.name} does not answer ({advice})"):
            function = self._api.module_from_buffer(canary.PTX.encode() + b"\0").get_function(canary.KERNEL)
        memory = self.allocate("canary", canary.THREADS * 4, itemsize=4)
        with self.guard(f"{self._info.name} does not answer ({advice})"):
            packed = memory.address.to_bytes(8, "little")
            starter = _plain_starter(function)
            self._run(lambda: starter((1, 1, 1), (canary.THREADS, 1, 1), packed, 0))
        wrong = int((memory.read() != canary.expected()).sum())
        self.free_all()
        if wrong:
            raise DeviceError(f"{self._info.name} calculates wrong: {wrong} bytes of the canary kernel's; {advice}")

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Turns what the driver raises inside into our errors."""
        try:
            yield
        except driver.failures() as error:
            raise self.failed(str(error), doing=doing) from error

    def failed(
        self, text: str, *, doing: str, kernel: str = "", said: str = "", traps: bool | None = None
    ) -> GpuregressError:
        """Our error for one of the driver's; finds out whether this process can go on.

        Args:
            text: the driver's words.
            doing: for messages.
            kernel: the kernel that ran, "" if none.
            said: what came on stderr meanwhile.
            traps: whether the program has a trap instruction, None where that is not known.
        """
        self.dead = self.dead or faults.meaning_of(text).sticky or not self._answers()
        return faults.as_error(text, doing=doing, kernel=kernel, dead=self.dead, said=said, traps=traps)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _allow_shared(self, function: Any, size: int) -> None:
        if isinstance(function, cooperative.Function):
            function.allow_shared(size)
        else:
            function.set_attribute(self._api.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, size)

    def _starter(
        self, module: CudaModule, kernel: str, function: Any, grid: Dim3, block: Dim3, shared: int
    ) -> _Starter:
        """What starts the kernel, once it is known that a grid which waits for itself fits."""
        if not isinstance(function, cooperative.Function):
            return _plain_starter(function)
        with self.guard(f"preparing {module.shown(kernel)}"):
            resident = function.resident_blocks(block[0] * block[1] * block[2], shared)
        if kernel in module.waiting:
            limits.check_cooperative(self._info, module.kernel(kernel), grid, resident)
            return function.launch
        return function.launch_plain

    def _run(self, start_kernel: Callable[[], None]) -> float:
        """One launch between two events; milliseconds."""
        assert self._events is not None
        start, end = self._events
        if self._hold is not None:
            _plain_starter(self._hold)((1, 1, 1), (1, 1, 1), hold.ARGUMENTS, 0)
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
            found = self._zones.breach()
        if found is not None:
            memory, breach = found
            memory.fill_zones()
            message = redzone.describe(breach, memory.name, memory.size, memory.itemsize)
            raise KernelFault("red-zone", f"{message}, in {kernel}")

    def _pinned(self) -> Staging:
        if self._staging is None:
            self._staging = Staging(self._api)
        return self._staging

    def _answers(self) -> bool:
        """After any failure: one tiny allocation tells whether the context still lives."""
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
        plain = want.rstrip("af")  # sm_90a: for this one architecture; sm_100f: for its family
        fits = plain == have if want.endswith("a") else (plain[:-1] == have[:-1] and plain <= have)
        if not fits:
            raise DeviceError(
                f"the program was built for {want}; {self._info.name} is {have}: build it with --arch {have}"
            )

    def _find(self, index: int) -> Any:
        count = int(self._api.Device.count())
        if index >= count:
            there = f"cuda:0 to cuda:{count - 1}" if count > 1 else ("cuda:0" if count else "no GPU")
            raise DeviceError(f"there is no cuda:{index}; this machine has {there}")
        return self._api.Device(index)

    def _describe(self) -> DeviceInfo:
        found: dict[str, int] = {}
        for key, name in limits.NAMES.items():
            attribute = getattr(self._api.device_attribute, name, None)
            with suppress(*driver.failures()):  # an older driver does not know them all
                if attribute is not None:
                    found[key] = int(self._card.get_attribute(attribute))
        major, minor = self._card.compute_capability()
        version = self._api.get_driver_version()
        bus = str(self._card.pci_bus_id())
        facts = next(iter(nvml.cards(bus)), {})
        release = f"driver {facts['driver']}, " if "driver" in facts else ""
        return DeviceInfo(
            name=f"cuda:{self._index}",
            model=str(self._card.name()),
            arch=f"sm_{major}{minor}",
            driver=f"{release}CUDA {version // 1000}.{version % 1000 // 10}",
            memory=int(self._card.total_memory()),
            limits=found,
            extra={"bus": bus, **{key: value for key, value in facts.items() if key != "driver"}},
        )


def _plain_starter(function: Any) -> _Starter:
    def start(grid: Dim3, block: Dim3, packed: bytes, shared: int) -> None:
        function._launch_kernel(grid, block, packed, shared, None)  # noqa: SLF001 - the public way repacks the arguments

    return start


def _by_mangled(program: Program) -> dict[str, Entry]:
    return {entry.mangled: entry for entry in program.entries.values()}


def _ptx(program: Program) -> str:
    """The program's PTX, which tells what its machine code does not; "" where there is none."""
    with suppress(OSError):
        return Path(program.ptx).read_text(encoding="utf-8", errors="replace") if program.ptx else ""
    return ""


def _image(program: Program) -> bytes:
    """What to load: the cubin, made now if need be; the PTX where nobody here can make one."""
    try:
        built = toolchain.build_cubin(program)
    except HarnessError:
        # Neither nvJitLink nor ptxas: the driver's own compiler takes PTX that is not newer than itself.
        built = program
    path = Path(built.cubin or built.ptx)
    try:
        image = path.read_bytes()
    except OSError as error:
        raise DeviceError(f"cannot read the compiled program {path}: {error.strerror}") from error
    return image if built.cubin else image + b"\0"


def _amount(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
