"""A program on a GPU: its kernels, their resources, its variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Protocol

from gpuregress.execution.cuda import cooperative
from gpuregress.execution.cuda.memory import CudaMemory
from gpuregress.foundation.errors import DeviceError, HarnessError
from gpuregress.foundation.records import TENSOR_MAP_ALIGNMENT, DeviceInfo, Dim3, Entry, Program
from gpuregress.gpu import limits
from gpuregress.gpu.base import DeviceModule, KernelInfo
from gpuregress.toolchain import cubin_linker

_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*(?:\([^)]*\))?(?P<directives>[^{;]*)\{")
_CLUSTER_SIZE = re.compile(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


def cluster_sizes_in(ptx: str) -> dict[str, Dim3]:
    """Return the mangled name of each kernel with a cluster size -> blocks along x, y, z.

    Args:
        ptx: a program.
    """
    if ".reqnctapercluster" not in ptx:
        return {}
    sizes: dict[str, Dim3] = {}
    for entry in _ENTRY.finditer(ptx):
        size = _CLUSTER_SIZE.search(entry["directives"])
        if size is not None:
            sizes[entry["name"]] = (int(size[1]), int(size[2] or 1), int(size[3] or 1))
    return sizes


_TRAP = re.compile(r"^[ \t]*(?:@!?%\w+[ \t]+)?trap;", re.MULTILINE)


class Card(Protocol):
    """The operations of the device that a module uses."""

    dead: bool

    @property
    def info(self) -> DeviceInfo:
        """Its limits."""

    def guard(self, doing: str) -> AbstractContextManager[None]:
        """Convert the driver's exceptions inside into our errors."""

    def view(self, name: str, size: int, address: int) -> CudaMemory:
        """Memory at an address."""


def load_module(device: Card, api: Any, program: Program) -> CudaModule:
    """Load a program: its cubin, or its PTX through the driver where no assembler is installed.

    Args:
        device: where to.
        api: `pycuda.driver`.
        program: made for the device's architecture.

    Raises:
        DeviceError: it cannot be read.
        CompileError: its PTX does not assemble.
    """
    image, ptx = _image(program), _ptx(program)
    entries = {entry.mangled: entry for entry in program.entries.values()}
    # Without PTX it is not known whether a kernel waits for its grid: it is launched so that it may.
    own = not ptx or cooperative.kernels_in(ptx) or _takes_tensor_maps(entries)
    handle = cooperative.CooperativeProgram(image, entries) if own else api.module_from_buffer(image)
    return CudaModule(device, handle, program, image, ptx)


class CudaModule(DeviceModule):
    """A program on the GPU; see `gpu.base.DeviceModule`.

    Args:
        device: where it was loaded.
        handle: pycuda's module.
        program: from the toolchain.
        image: the bytes that were loaded.
        ptx: its PTX, "" where there is none.

    Attributes:
        waiting: the mangled names of the kernels that wait for their whole grid, where its PTX shows that.
        prints: whether it may write to the standard streams.
        allocates: whether its kernels may allocate memory.
    """

    def __init__(self, device: Card, handle: Any, program: Program, image: bytes, ptx: str) -> None:
        self._device = device
        self._handle: Any = handle
        self._entries = {entry.mangled: entry for entry in program.entries.values()}
        self._names = {entry.mangled: name for name, entry in program.entries.items()}
        self._ptx = ptx
        self.waiting = cooperative.kernels_in(ptx)
        self._clusters = cluster_sizes_in(ptx)
        self._told = cubin_linker.resources(program)
        self._functions: dict[str, tuple[Any, KernelInfo]] = {}
        self.prints = b"vprintf" in image or b"__assertfail" in image
        self.allocates = b"malloc" in image

    def kernel(self, name: str) -> KernelInfo:
        """Return the resources of a kernel.

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
    def is_blind(self) -> bool:
        """Whether there is no PTX of the program."""
        return not self._ptx

    @property
    def traps(self) -> bool | None:
        """Whether the program has a trap instruction; None where its PTX is not there."""
        return bool(_TRAP.search(self._ptx)) if self._ptx else None

    def occupancy(self, name: str, block: Dim3, shared: int) -> dict[str, int]:
        """Return `occupancy` in percent and `blocks`; see `gpu.base.DeviceModule.occupancy`."""
        result = limits.of_launch(self._device.info.limits, self.kernel(name), block, shared)
        if result is None:
            return {}
        return {"occupancy": result.percent, "blocks": result.blocks}

    def function(self, name: str) -> tuple[Any, KernelInfo]:
        """Return pycuda's handle of a kernel, and its resources."""
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
        """Release the module, which unloads it unless the caller keeps the returned handle."""
        handle, self._handle = self._handle, None
        self._functions.clear()
        return handle

    def _describe(self, name: str, function: Any) -> KernelInfo:
        own = function.cluster if isinstance(function, cooperative.CooperativeFunction) else (1, 1, 1)
        return KernelInfo(
            name,
            registers=int(function.num_regs),
            shared=int(function.shared_size_bytes),
            local=int(function.local_size_bytes),
            constant=int(function.const_size_bytes),
            spill=self._told.get(name, {}).get("spill", 0),
            max_threads=int(function.max_threads_per_block),
            cluster=self._clusters.get(name, own),
        )


def _takes_tensor_maps(entries: Mapping[str, Entry]) -> bool:
    """Whether a kernel may have tensor maps, which the driver aligns where each argument is passed on its own."""
    return any(item.alignment >= TENSOR_MAP_ALIGNMENT for entry in entries.values() for item in entry.parameters)


def _ptx(program: Program) -> str:
    """The program's PTX, for facts that machine code does not show; "" where there is none."""
    if not program.ptx:
        return ""
    with suppress(OSError):
        return Path(program.ptx).read_text(encoding="utf-8", errors="replace")
    return ""


def _image(program: Program) -> bytes:
    """The image to load: the cubin, assembled now if needed; the PTX where no assembler is installed."""
    try:
        built = cubin_linker.build_cubin(program)
    except HarnessError:
        # Neither nvJitLink nor ptxas: the driver's own compiler takes PTX that is not newer than itself.
        built = program
    path = Path(built.cubin or built.ptx)
    try:
        image = path.read_bytes()
    except OSError as error:
        raise DeviceError(f"cannot read the compiled program {path}: {error.strerror}") from error
    return image if built.cubin else image + b"\0"
