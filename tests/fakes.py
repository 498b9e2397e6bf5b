"""A fake device: kernels are numpy functions here, so that runner, workers and session are tested without a compiler.

Its kernels do on purpose what real ones do by accident: fault, hang, crash, exit, print.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Self

import numpy as np

from gpuregress.foundation.errors import DeviceError, FaultLocation, KernelFault, UnsupportedError
from gpuregress.foundation.records import (
    Argument,
    Buffer,
    Case,
    DeviceInfo,
    Entry,
    Fill,
    Launch,
    LaunchShape,
    Limits,
    Parameter,
    Program,
    Progression,
    Rule,
    Source,
    Task,
    TensorMap,
)
from gpuregress.gpu.base import Bytes, Device, DeviceModule, KernelInfo, LaunchReport, Memory
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.gpu.schedules import BY_WARP, FORWARD, LOCKSTEP, REVERSE, SHUFFLED
from tests.waiting import wait_until

_POINTER = Parameter(8, 8, "pointer")


class FakeMemory:
    """Bytes with an address."""

    def __init__(self, name: str, size: int, address: int) -> None:
        self.name = name
        self.size = size
        self.address = address
        self.data = np.zeros(size, np.uint8)

    def write(self, data: Bytes, offset: int = 0) -> None:
        self.data[offset : offset + data.size] = data

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        return self.data[offset:].copy() if size is None else self.data[offset : offset + size].copy()


class FakeModule(DeviceModule):
    """Every kernel of KERNELS, and one symbol of 64 bytes."""

    def __init__(self, *, is_optimised: bool = True) -> None:
        self.is_optimised = is_optimised
        self.memory = FakeMemory("d_table", 64, 1 << 50)

    def kernel(self, name: str) -> KernelInfo:
        if name not in KERNELS:
            raise DeviceError(f"no kernel {name}; there are: {', '.join(KERNELS)}")
        return KernelInfo(name, registers=8)

    def symbol(self, name: str) -> FakeMemory:
        if name != "d_table":
            raise DeviceError(f"no symbol {name}; there is: d_table")
        return self.memory


class FakeDevice(Device):
    """A device on numpy."""

    info = DeviceInfo("cpu", "fake", "sm_90", "none", 1 << 30)

    def __init__(self, *, is_optimised: bool = True, varies: bool = False) -> None:
        self.is_optimised = is_optimised
        self.memories: dict[int, FakeMemory] = {}
        self.launched = 0
        self.varies = varies
        self.schedule = FORWARD

    def follow(self, schedule: str) -> bool:
        self.schedule = schedule
        return self.varies

    def vary(self, run: int) -> str:
        return f"order {run}" if self.varies else ""

    def load(self, program: Program, threads: int | None = None, kernels: Collection[str] | None = None) -> FakeModule:
        return FakeModule(is_optimised=self.is_optimised)

    def allocate(self, name: str, size: int, *, itemsize: int = 1) -> FakeMemory:
        memory = FakeMemory(name, size, (len(self.memories) + 1) << 32)
        self.memories[memory.address] = memory
        return memory

    def tensor_map(self, memory: Memory, given: TensorMap) -> bytes:
        del memory, given
        return bytes(128)

    def limit_heap(self, size: int) -> None:
        self.heap = size

    def texture(self, memory: Memory, description: TextureDescription) -> int:
        raise UnsupportedError(f"{memory.name}: this device has no textures of {description.format}")

    def free_all(self) -> None:
        self.memories.clear()

    def launch(self, module: DeviceModule, kernel: str, shape: LaunchShape, args: tuple[bytes, ...]) -> LaunchReport:
        self.launched += 1
        output = KERNELS[kernel](self, *args)
        return LaunchReport(0.5, output or "")

    def at(self, pointer: bytes) -> FakeMemory:
        return self.memories[int.from_bytes(pointer, "little")]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.free_all()


def _double(device: FakeDevice, out: bytes, source: bytes) -> None:
    """out[i] = 2 * x[i], all but the last element of out."""
    values = device.at(source).data.view(np.float32)
    device.at(out).data.view(np.float32)[: values.size - 1] = 2 * values[:-1]


def _twice(device: FakeDevice, out: bytes, source: bytes) -> None:
    """out[i] = 2 * x[i]."""
    device.at(out).data.view(np.float32)[:] = 2 * device.at(source).data.view(np.float32)


def _twice_and_a_bit(device: FakeDevice, out: bytes, source: bytes) -> None:
    """out[i] = 2 * x[i] + 0.25, but for one element, which is far off."""
    _twice(device, out, source)
    device.at(out).data.view(np.float32)[:] += np.float32(0.25)
    device.at(out).data.view(np.float32)[3] += np.float32(100)


def _scale(device: FakeDevice, out: bytes, source: bytes, factor: bytes, count: bytes) -> None:
    """out[i] = factor * x[i]."""
    values = device.at(source).data.view(np.float32)
    device.at(out).data.view(np.float32)[:] = np.frombuffer(factor, np.float32) * values


def _idle(device: FakeDevice, out: bytes, source: bytes, factor: bytes, count: bytes) -> None:
    """Nothing is written."""


def _eight(device: FakeDevice, out: bytes, source: bytes, factor: bytes, count: bytes) -> None:
    """The first eight elements are written."""
    device.at(out).data.view(np.float32)[:8] = 1


def _slow(device: FakeDevice, out: bytes, source: bytes, factor: bytes, count: bytes) -> None:
    time.sleep(60)


def _count(device: FakeDevice, out: bytes, source: bytes) -> None:
    """Every launch ever made on this device shows: not deterministic."""
    device.at(out).data.view(np.float32)[:] = device.launched


def _status(device: FakeDevice, out: bytes, source: bytes) -> None:
    device.at(out).data[:] = 0
    device.at(out).data.view(np.int32)[2] = 7


def _fault(device: FakeDevice, *_arguments: bytes) -> None:
    raise KernelFault(
        "out-of-bounds",
        "out-of-bounds read of 4 bytes at x[9] (x has 9)",
        details=("more",),
        sticky=True,
        location=FaultLocation("x", 9, elements=9, size=4),
    )


def _nap(device: FakeDevice, out: bytes, source: bytes) -> None:
    time.sleep(0.5)
    _double(device, out, source)


def _sleep(device: FakeDevice, out: bytes, source: bytes) -> None:
    time.sleep(60)


def _meet(device: FakeDevice, out: bytes, source: bytes) -> None:
    """Wait for as many processes in this kernel as `FAKE_MEETING` says behind the folder in which they sign."""
    folder, count = os.environ["FAKE_MEETING"].split(":")
    (Path(folder) / str(os.getpid())).touch()
    wait_until(lambda: len(list(Path(folder).iterdir())) == int(count))


def _stubborn(device: FakeDevice, out: bytes, source: bytes) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def _unlucky(device: FakeDevice, out: bytes, source: bytes) -> None:
    """Other results in reverse, no end in lockstep or by warps, a crash where it is shuffled."""
    if device.schedule in (LOCKSTEP, BY_WARP):
        _sleep(device, out, source)
    if device.schedule.startswith(SHUFFLED):
        _crash(device, out, source)
    (_twice_and_a_bit if device.schedule == REVERSE else _double)(device, out, source)


def _tardy(device: FakeDevice, out: bytes, source: bytes) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1)


def _crash(device: FakeDevice, out: bytes, source: bytes) -> None:
    os.write(2, b"last words\n")
    os.kill(os.getpid(), signal.SIGSEGV)


def _no_memory(device: FakeDevice, out: bytes, source: bytes) -> None:
    os.write(2, b"LLVM ERROR: out of memory\n" + b"  File stack.py, line 1 in frame\n" * 25)  # as faulthandler does
    os.abort()


def _second_crashes(device: FakeDevice, out: bytes, source: bytes) -> None:
    if device.launched > 1:
        _crash(device, out, source)


def _exit(device: FakeDevice, out: bytes, source: bytes) -> None:
    os._exit(7)


def _lost_once(device: FakeDevice, out: bytes, source: bytes) -> None:
    """The device is lost the first time, as the file `FAKE_MARK` remembers."""
    mark = Path(os.environ["FAKE_MARK"])
    if not mark.exists():
        mark.touch()
        raise DeviceError("the device fell off the bus")
    _double(device, out, source)


def _bug(device: FakeDevice, out: bytes, source: bytes) -> None:
    raise RuntimeError("a bug")


def _noise(device: FakeDevice, out: bytes, source: bytes) -> str:
    os.write(1, b'{"say": "outcome", "outcome": {}}\n')
    os.write(1, b"noise\n" * 1000)
    _double(device, out, source)
    return "printed by the kernel\n"


KERNELS: dict[str, Callable[..., str | None]] = {
    "double": _double,
    "twice": _twice,
    "twice_and_a_bit": _twice_and_a_bit,
    "scale": _scale,
    "slow": _slow,
    "idle": _idle,
    "eight": _eight,
    "count": _count,
    "status": _status,
    "fault": _fault,
    "nap": _nap,
    "sleep": _sleep,
    "meet": _meet,
    "stubborn": _stubborn,
    "unlucky": _unlucky,
    "tardy": _tardy,
    "crash": _crash,
    "second_crashes": _second_crashes,
    "exit": _exit,
    "no_memory": _no_memory,
    "lost_once": _lost_once,
    "bug": _bug,
    "noise": _noise,
}


def program() -> Program:
    """A program with every fake kernel."""
    entries = {name: Entry(name, (_POINTER, _POINTER)) for name in KERNELS}
    return Program("key", "", "", entries, {"d_table": "d_table"}, "none", (), "sm_90")


def case(*kernels: str, name: str = "", count: int = 8, timeout: float = 30.0, **changes: Any) -> Case:
    """A case `fake/KERNEL` that launches the kernels in order on an input `x` and an output `out` of float32."""

    arguments = tuple(Argument("buffer", buffer=buffer) for buffer in ("out", "x"))
    launches = tuple(Launch(kernel, (1, 1, 1), (32, 1, 1), 0, arguments) for kernel in kernels)
    values: dict[str, Any] = {
        "job": "fake",
        "name": name or f"fake/{'+'.join(kernels)}",
        "path": "/nowhere/fake.yaml",
        "parameters": {},
        "source": Source("/nowhere/fake.cu", kernels=tuple(kernels)),
        "revision": "1.4",
        "source_digest": "00",
        "seed": 42,
        "buffers": {
            "x": Buffer("x", "float32", (count,), Fill("arange", Progression(0, 1), 1)),
            "out": Buffer("out", "float32", (count,)),
        },
        "launches": launches,
        "dump": ("out",),
        "compare": {"out": Rule()},
        "limits": Limits(timeout=timeout),
    }
    return Case(**{**values, **changes})


def task(case: Case, folder: Path, first_launch: int = 1, **more: Any) -> Task:
    """A case to run on the fake device, its log and dumps in a folder."""
    return Task(case, program(), str(folder / "launch.log"), first_launch, str(folder / "dumps"), **more)


def open_device(name: str) -> FakeDevice:
    """Opens the fake; `none` is a device that is not there, `unoptimised` one whose programs are slow.

    `varied` is one that knows schedules.
    """
    if name == "none":
        raise DeviceError("no such device: none")
    if name == "broken":
        raise RuntimeError("broken driver")
    if name == "unoptimised":
        return FakeDevice(is_optimised=False)
    if name == "varied":
        return FakeDevice(varies=True)
    return FakeDevice()
