"""A fake card with kernels in Python, and a program for it."""

from __future__ import annotations

import os
from pathlib import Path

from gpuregress.execution.cuda import device
from gpuregress.execution.cuda.device import CudaDevice
from gpuregress.execution.cuda.module import CudaModule
from gpuregress.foundation.records import Entry, LaunchShape, Parameter, Program
from tests.execution.cuda.fake_api import Error, FakeApi, Fault, pointer

POINTER = Parameter(8, 8, "pointer")


def _write(offset: int, count: int) -> object:
    def kernel(api: FakeApi, packed: bytes) -> None:
        start = pointer(packed) + offset
        api.memory[start : start + count] = 255

    return kernel


def _illegal(api: FakeApi, packed: bytes) -> None:
    raise Fault("an illegal memory access was encountered")


def _assert(api: FakeApi, packed: bytes) -> None:
    os.write(2, b"k.cu:7: void k(int*): block: [0,0,0], thread: [3,0,0] Assertion `x` failed.\nmore\n")
    raise Fault("device-side assert triggered")


def _refused(api: FakeApi, packed: bytes) -> None:
    raise Error("cuLaunchKernel failed: too many resources requested for launch")


def _canary(api: FakeApi, packed: bytes) -> None:
    api.memcpy_htod(pointer(packed), device.probe_output())


def _speak(api: FakeApi, packed: bytes) -> None:
    os.write(1, b"spoken\n")


KERNELS = {
    "fill": _write(0, 400),
    "past": _write(400, 4),
    "before": _write(-8, 3),
    "illegal": _illegal,
    "asserts": _assert,
    "refused": _refused,
    "speak": _speak,
    device.PROBE_KERNEL: _canary,
    device.BUSY_KERNEL: lambda _api, _packed: None,
}


def program_in(folder: Path, ptx: str) -> Program:
    cubin = folder / "k.cubin"
    cubin.write_bytes(b"an image with vprintf in it")
    entries = {name: Entry(name, (POINTER,)) for name in KERNELS}
    return Program("key", ptx, str(cubin), entries, {}, "none", (), "sm_90")


def launch(device: CudaDevice, module: CudaModule, kernel: str, shared: int = 0) -> str:
    memory = device.allocate("y", 400, itemsize=4)
    shape = LaunchShape((1, 1, 1), (32, 1, 1), shared)
    report = device.launch(module, kernel, shape, (memory.address.to_bytes(8, "little"),))
    return report.output
