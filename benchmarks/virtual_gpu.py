"""Kernels timed on the CPU device through its Protocol: compile, load, fill, launch."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.execution import device_registry as registry
from gpuregress.foundation.records import LaunchShape, Source
from gpuregress.toolchain import programs
from gpuregress.virtual_gpu.parallel import cores

KERNELS = Path(__file__).parents[1] / "kernels"
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Launch:
    """One kernel launch; arguments are buffer names, or (struct format, value)."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[str | tuple[str, float], ...]
    shared: int = 0


@dataclass(frozen=True)
class Program:
    """A source, its buffers and its launches."""

    source: Path
    buffers: Mapping[str, Array]
    launches: tuple[Launch, ...]
    defines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """The best device seconds of all launches together, and what the buffers hold after the last run."""

    seconds: float
    buffers: Mapping[str, Array]


def time(program: Program, repeats: int = 15, count: int = 1) -> Timed:
    """Runs the launches `repeats` times on `count` cores, after one run that compiles and does not count."""
    os.environ[cores.VARIABLE] = str(count)
    source = Source(
        str(program.source),
        include=(str(KERNELS / "include"),),
        defines=program.defines,
        kernels=tuple(launch.kernel for launch in program.launches),
    )
    compiled = programs.compile(source)
    with registry.open_device("cpu") as device:
        module = device.load(compiled)
        memories = {}
        for name, array in program.buffers.items():
            memories[name] = device.allocate(name, array.nbytes, itemsize=array.itemsize)

        def run() -> float:
            for name, array in program.buffers.items():
                memories[name].write(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
            elapsed_ms = 0.0
            for launch in program.launches:
                args = tuple(
                    struct.pack("<Q", memories[arg].address) if isinstance(arg, str) else struct.pack(*arg)
                    for arg in launch.args
                )
                mangled = compiled.entries[launch.kernel].mangled
                report = device.launch(module, mangled, LaunchShape(launch.grid, launch.block, launch.shared), args)
                elapsed_ms += report.elapsed_ms
            return elapsed_ms / 1000

        run()
        seconds = min(run() for _ in range(repeats))
        held = {
            name: memories[name].read().view(array.dtype).reshape(array.shape)
            for name, array in program.buffers.items()
        }
    return Timed(seconds, held)
