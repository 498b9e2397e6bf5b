"""The Device protocol: the operations of the virtual GPU and of a real one.

A device is used by one worker process, one launch at a time, as a context manager. Addresses are plain integers, as
kernels see them. A device raises `KernelFault` for faults of a kernel, `UnsupportedError` for programs that it cannot
run, `DeviceError` for all other problems.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.gpu.descriptors import TensorMap, TextureDescription
from gpuregress.gpu.errors import DeviceError
from gpuregress.gpu.instruments import CheckFinding, Costs, Coverage, Instruments, Place, RoundingSite
from gpuregress.gpu.programs import DeviceInfo, Dim3, LaunchShape, Program
from gpuregress.gpu.records import Record
from gpuregress.gpu.schedules import Conflict

Bytes = npt.NDArray[np.uint8]


class KernelInfo(Record):
    """The resources of a compiled kernel.

    Attributes:
        name: the mangled name.
        registers: a thread's registers, 0 where the device does not count them.
        shared: static shared memory, bytes.
        local: local memory of a thread, bytes.
        constant: the `__constant__` variables of its module, bytes.
        spill: bytes spilt to local memory.
        max_threads: the largest block this kernel can be launched with.
        cluster: blocks of a cluster along x, y, z, where the kernel has one (`__cluster_dims__`).
        block: the block that it must be launched with, where it has one (`__block_size__`).
        takes_large_clusters: whether a program has set the attribute that allows clusters of a size that not every GPU
            takes.
    """

    name: str
    registers: int = 0
    shared: int = 0
    local: int = 0
    constant: int = 0
    spill: int = 0
    max_threads: int = 1024
    cluster: Dim3 = (1, 1, 1)
    block: Dim3 | None = None
    takes_large_clusters: bool = False


class LaunchReport(Record):
    """The result of one launch.

    Attributes:
        elapsed_ms: time on the device.
        output: printf output of the kernel, decoded.
        counters: event name → count, the same on every run (empty where the device does not count).
        instructions: executed by all threads, the same on every run and machine; None where the device does not count.
        uncounted: source lines of the loops whose instructions are not in it, because they wait for other threads.
        exchange: what lanes of a warp did that is no fault, but not sure to be right, in words: exchanged values with
            no wait between, left a barrier or a mask out; "" where they did not.
        findings: of the dynamic checks that `Device.instrument` asked for.
        unwatched: what those checks could not watch, in words; "" where they watched all that they can.
        costs: of each instruction, where `Device.instrument` asked for it; files as the compiler names them.
        coverage: what was executed, where `Device.instrument` asked for it; files as the compiler names them.
        roundings: the instructions whose accuracy was watched, likewise.
        shadows_lost: elements of memory for whose shadow values there was no room.
        conflicts: accesses that only the schedule orders, where `Device.instrument` asked for them.
        conflicts_cut: whether there were more than are kept.
    """

    elapsed_ms: float
    output: str = ""
    counters: dict[str, int] = field(default_factory=dict)
    instructions: int | None = None
    uncounted: tuple[str, ...] = ()
    exchange: str = ""
    findings: tuple[CheckFinding, ...] = ()
    unwatched: str = ""
    coverage: Coverage | None = None
    costs: Costs | None = None
    roundings: tuple[RoundingSite, ...] = ()
    shadows_lost: int = 0
    conflicts: tuple[Conflict, ...] = ()
    conflicts_cut: bool = False


class Shadow(Record):
    """The values of a buffer's elements in higher precision.

    Attributes:
        high: each element's value, rounded to a double.
        low: what is left of it; 0 unless the elements are doubles.
        known: the elements that have such a value.
    """

    high: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]


class Memory(Protocol):
    """A stretch of device memory: a buffer, or a module's variable."""

    @property
    def name(self) -> str:
        """The name in messages."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def address(self) -> int:
        """The address as a kernel sees it."""

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes (one dimension, uint8) to the device."""

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Copy bytes from the device into a new array; all from `offset` on where no size is given."""


class DeviceModule(Protocol):
    """A loaded program.

    Attributes:
        is_optimised: whether its launches are as fast as they can be; else one that takes long is worth to be run again
            with a program that is loaded for more threads.
    """

    is_optimised: bool = True

    def kernel(self, name: str) -> KernelInfo:
        """The kernel of this mangled name; `DeviceError` naming those that are there if it is not."""

    def symbol(self, name: str) -> Memory:
        """A `__constant__` or `__device__` variable by its (mangled or plain) name; `DeviceError` if not there."""

    def occupancy(self, name: str, block: Dim3, shared: int) -> dict[str, int]:  # noqa: ARG002 - a default
        """Return `occupancy` in percent and `blocks`, both of one multiprocessor; empty where they are not known.

        Args:
            name: the kernel's mangled name.
            block: threads along x, y, z.
            shared: dynamic shared memory, bytes.
        """
        return {}


class Device(Protocol):
    """A virtual or real GPU."""

    @property
    def info(self) -> DeviceInfo:
        """Name, architecture, limits, versions."""

    def vary(self, run: int) -> str:
        """Take another order of blocks and threads for programs that are loaded from now on, where there is a choice.

        Args:
            run: of a case, from 0, the usual order.

        Returns:
            the order in words; "" where the hardware's scheduler decides.
        """

    def follow(self, schedule: str) -> bool:  # noqa: ARG002 - a default
        """Take a schedule for programs that are loaded from now on, where there is a choice.

        Args:
            schedule: a name of `records.instrumentation.schedules`; `forward` is the usual one.

        Returns:
            whether there is a choice; on a GPU the hardware decides.
        """
        return False

    def instrument(self, wanted: Instruments) -> None:  # noqa: ARG002 - a default
        """Choose what is watched and counted in programs that are loaded from now on; a GPU watches nothing.

        Args:
            wanted: none of it changes the results of a launch.
        """
        return

    def round_at(self, places: Collection[Place]) -> None:  # noqa: ARG002 - a default
        """Choose the instructions whose own rounding errors are part of the values in higher precision.

        Args:
            places: of theirs, as `LaunchReport.roundings` has them; none: the values are as exact as they can be.
        """
        return

    def shadow(self, memory: Memory, itemsize: int) -> Shadow | None:  # noqa: ARG002 - a default
        """The values of a buffer in higher precision, where `instrument` asked for accuracy; None without.

        Args:
            memory: of this device.
            itemsize: bytes of an element.
        """
        return None

    def load(
        self, program: Program, threads: int | None = None, kernels: Collection[str] | None = None
    ) -> DeviceModule:
        """Make a compiled program ready to launch.

        Args:
            program: from the toolchain.
            threads: how many its launches have in all, where that is known: for few a device need not optimise much.
            kernels: the mangled names of those that may be launched; None: any. A device need not compile the others.
        """

    def limit_heap(self, size: int) -> None:
        """Set the size of the heap of kernels (`malloc`, `new`), which is empty then; before programs are loaded.

        Args:
            size: bytes, CUDA's default where none is asked for; a GPU has 4 MiB or more, and takes some for itself.
        """

    def allocate(self, name: str, size: int, *, itemsize: int = 1) -> Memory:
        """A new buffer of `size` bytes, its contents undefined; `itemsize` lets messages count elements."""

    def leave_unwritten(self, memory: Memory) -> None:  # noqa: ARG002 - a default
        """Tell that a buffer's contents, written or not, stand for memory that nobody has written: an output's poison.

        Args:
            memory: of this device.
        """
        return

    def texture(self, memory: Memory, description: TextureDescription) -> int:
        """A texture or surface object on a buffer: the 64-bit handle that kernels are given for it.

        Args:
            memory: of this device, from `allocate`; later launches see what is written there later.
            description: elements and sampler.
        """

    def tensor_map(self, memory: Memory, given: TensorMap) -> bytes:
        """Encode a tensor map on a buffer: the 128 bytes that kernels are given as a CUtensorMap.

        Args:
            memory: of this device, from `allocate`.
            given: the tensor and its boxes.
        """

    def free_all(self) -> None:
        """Free every buffer, texture and module: the end of a case."""

    def launch(self, module: DeviceModule, kernel: str, shape: LaunchShape, args: tuple[bytes, ...]) -> LaunchReport:
        """Run a kernel to its end.

        Args:
            module: where the kernel is.
            kernel: its mangled name.
            shape: its threads.
            args: each argument's bytes, as the kernel's parameter space holds them.
        """

    def stop(self) -> tuple[str, ...] | None:
        """Stop the launch that another thread runs, which raises `LaunchStopped` then, where the device can do that.

        Returns:
            where it stands, as far as that is known if it does not stop; None where no launch is under way.
        """
        return None

    def interrupted(self) -> LaunchReport | None:
        """The report of the last launch if a fault has ended it, with what was counted until then; None without."""
        return None

    def timed_exactly(self) -> AbstractContextManager[None]:
        """Return a context in which the host's part of a launch is not in its time, where the device can do that."""
        return nullcontext()

    def clocks(self) -> dict[str, str]:
        """Return the clocks, temperature and throttle reasons at this moment; empty where they are not known."""
        return {}

    def canary(self) -> None:
        """Prove the device healthy after a fault; nothing where faults cannot harm it.

        Raises:
            DeviceError: it is lost, or calculates wrong.
        """
        return

    def __enter__(self) -> Self:
        """Acquire the device."""

    def __exit__(self, *_error: object) -> None:
        """Release the device, after errors, too."""


def check_size(memory: Memory, given: TensorMap) -> None:
    """Check that a buffer holds its tensor.

    Raises:
        DeviceError: it does not.
    """
    if given.size > memory.size:
        raise DeviceError(f"{memory.name} has {memory.size} bytes; its tensor map has {given.size}")
