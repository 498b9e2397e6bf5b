"""Compiles a source, runs its kernels on the CPU device, and reads what came out."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Dim3, Instruments, LaunchShape, Program, Source
from gpuregress.gpu.base import LaunchReport
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.device import CpuDevice
from gpuregress.virtual_gpu.runtime.memory import Region
from tests.devices.bench import argument_bytes, as_bytes, dim3

Array = npt.NDArray[np.generic]
Argument = Region | np.generic | bytes


def compile_text(folder: Path, text: str, *kernels: str, card: str = "", arch: str = "sm_90") -> Program:
    """Compile CUDA C++, or PTX if it starts with `.version`, after writing it into a folder.

    Args:
        folder: where the source is written.
        text: the source.
        kernels: the C++ names; none: those declared `extern "C"`.
        card: whose tensor cores the device emulates.
        arch: what is compiled for.
    """
    suffix = "ptx" if text.lstrip().startswith(".version") else "cu"
    path = folder / f"k.{suffix}"
    path.write_text(text)
    return programs.compile(Source(str(path), options=("-lineinfo",), kernels=kernels, card=card, arch=arch))


def ptx_of(text: str) -> str:
    """The PTX of CUDA C++."""
    with tempfile.TemporaryDirectory() as folder:
        return Path(compile_text(Path(folder), text).ptx).read_text()


class Running:
    """A device with one program on it.

    Args:
        folder, text, kernels, card, arch: see `compile_text`.
        is_small: whether the code is that for launches of few threads, as in most runs: it is not optimised, which
            takes a fifth of the time. None: for two sources of three, by their text, so that both kinds are tested.
        only: the kernel that is launched, by its C++ name, where the code of the others is not wanted; "": all.
        checks: dynamic checks.
        conflicts: whether accesses that only the schedule orders are kept.
    """

    def __init__(
        self,
        folder: Path,
        text: str,
        *kernels: str,
        card: str = "",
        arch: str = "sm_90",
        is_small: bool | None = None,
        only: str = "",
        checks: tuple[str, ...] = (),
        conflicts: bool = False,
    ) -> None:
        self.device = CpuDevice(cache)
        self.device.instrument(Instruments(checks, conflicts=conflicts))
        self.program = compile_text(folder, text, *kernels, card=card, arch=arch)
        launched = [self.program.entries[only].mangled] if only else None
        if is_small is None:
            is_small = zlib.crc32(f"{text} {only}".encode()) % 3 > 0
        self.module = self.device.load(self.program, 1 if is_small else None, launched)

    def put(self, name: str, array: Array) -> Region:
        """A buffer that holds an array."""
        region = self.device.allocate(name, array.nbytes, itemsize=array.itemsize)
        region.write(as_bytes(array))
        return region

    def launch(
        self, kernel: str, grid: int | Dim3, block: int | Dim3, *args: Argument, shared: int = 0
    ) -> LaunchReport:
        """Launches a kernel by its C++ name."""
        packed = tuple(argument_bytes(item) for item in args)
        mangled = self.program.entries[kernel].mangled
        return self.device.launch(self.module, mangled, LaunchShape(dim3(grid), dim3(block), shared), packed)


def ints(region: Region) -> list[int]:
    """A buffer's content as int32."""
    return [int(item) for item in region.read().view(np.int32)]
