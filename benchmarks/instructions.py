"""Cost of counting instructions on the CPU device: the same launches with and without the count, in turn."""

from __future__ import annotations

import os
import statistics
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.rows import Row
from benchmarks.virtual_gpu import KERNELS, Array, Launch, Program
from gpuregress.foundation.records import LaunchShape, Source
from gpuregress.gpu.base import DeviceModule
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu import device as cpu
from gpuregress.virtual_gpu import module as cpu_module
from gpuregress.virtual_gpu.compilation.object_cache import compiled
from gpuregress.virtual_gpu.parallel import cores
from gpuregress.virtual_gpu.runtime.program import CompiledModule, Schedule

LIMIT = 1.15
"""The count is on in every run as long as it costs less. A vectorised row costs nothing: it is counted as one product.
A row whose threads run one by one costs an addition for each branch of a thread. In the steps of a tree reduction and
of a tiled product, some ten instructions long, that is 7 to 12 %."""
_PAIRS = 400
_MOST_S = 3.0


def _programs() -> dict[str, Program]:
    random = np.random.default_rng(1)
    n, side, many = 1 << 20, 256, 1 << 20
    floats = np.ones(many, np.float32)
    return {
        "saxpy": Program(
            Path(__file__).with_name("saxpy.cu"),
            {"x": floats, "y": floats.copy()},
            (Launch("saxpy", (many // 256, 1, 1), (256, 1, 1), (("<i", many), ("<f", 2.5), "x", "y")),),
        ),
        "tree reduction": Program(
            KERNELS / "reduce.cu",
            {"x": floats[:n], "sum": np.zeros(n // 256, np.float32)},
            (Launch("block_sum<float>", (n // 256, 1, 1), (256, 1, 1), ("sum", "x", ("<i", n)), 1024),),
        ),
        "matmul": Program(
            KERNELS / "matmul.cu",
            {name: np.ones((side, side), np.float32) for name in "abc"},
            (Launch("matmul", (side // 16, side // 16, 1), (16, 16, 1), ("c", "a", "b", *[("<i", side)] * 3)),),
            {"TILE": "16"},
        ),
        "histogram": Program(
            KERNELS / "histogram.cu",
            {"counts": np.zeros(256, np.uint32), "data": random.integers(0, 256, many, np.uint8)},
            (Launch("histogram", (64, 1, 1), (256, 1, 1), ("counts", "data", ("<i", many), ("<i", 256)), 1024),),
        ),
    }


def measure() -> list[Row]:
    """One core; each pair gives a ratio, and the median of the ratios counts: the machine's other users come and go."""
    os.environ[cores.VARIABLE] = "1"
    return [_row(name, _ratios(program)) for name, program in _programs().items()]


def _row(name: str, ratios: Sequence[float]) -> Row:
    ratio = statistics.median(ratios)
    low, high = statistics.quantiles(ratios, n=4)[::2]
    note = f"{len(ratios)} pairs, half of them between {low:.3f} and {high:.3f}"
    return Row(f"{name}: instructions counted", f"{ratio:.3f} times", f"limit {LIMIT}", LIMIT / ratio, 1, note)


def _ratios(program: Program) -> list[float]:
    """Counted over uncounted processor time, of each pair."""
    source = Source(
        str(program.source),
        include=(str(KERNELS / "include"),),
        defines=program.defines,
        kernels=tuple(launch.kernel for launch in program.launches),
    )
    built = programs.compile(source)
    with cpu.CpuDevice(cache) as device:
        with _counting(is_on=False):
            without = device.load(built)
        counted = device.load(built)
        memories = {name: device.allocate(name, data.nbytes) for name, data in program.buffers.items()}
        for name, data in program.buffers.items():
            memories[name].write(_bytes(data))

        def cpu_ms(module: DeviceModule) -> float:
            total = 0.0
            for launch in program.launches:
                args = tuple(
                    struct.pack("<Q", memories[arg].address) if isinstance(arg, str) else struct.pack(*arg)
                    for arg in launch.args
                )
                shape = LaunchShape(launch.grid, launch.block, launch.shared)
                start = time.process_time()
                device.launch(module, built.entries[launch.kernel].mangled, shape, args)
                total += 1000 * (time.process_time() - start)
            return total

        slowest = max(cpu_ms(counted), cpu_ms(without))
        pairs = max(5, min(_PAIRS, int(1000 * _MOST_S / slowest / 2)))
        ratios = []
        for number in range(pairs):
            first, second = (counted, without) if number % 2 else (without, counted)
            times = {id(first): cpu_ms(first), id(second): cpu_ms(second)}
            ratios.append(times[id(counted)] / times[id(without)])
        return ratios


@contextmanager
def _counting(*, is_on: bool) -> Iterator[None]:
    def build(text: str, kernels: Sequence[str], schedule: Schedule | None = None, **options: Any) -> CompiledModule:
        return compiled(text, kernels, replace(schedule or Schedule(), counts=is_on), **options)

    with mock.patch.object(cpu_module, "compiled", build):
        yield


def _bytes(data: Array) -> Array:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
