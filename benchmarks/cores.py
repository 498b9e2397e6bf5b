"""Two cores against one, for kernels of kernels/ that make no global atomics.

Beside each wall time stands what the longer part took of its core: on a machine with other work to do, that says what
two free cores would give. What the memory allows is shown by g++ on the same arrays with one thread and with two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks import host, virtual_gpu
from benchmarks.rows import Row, missing
from benchmarks.virtual_gpu import KERNELS, Launch, Program
from gpuregress.virtual_gpu.parallel import partition
from gpuregress.virtual_gpu.parallel.cores import available
from gpuregress.virtual_gpu.runtime.machine_layout import Machine

GOAL = 1.7
N = 1 << 22
SAXPY_CODE = """
#include <thread>
struct Work {
    static constexpr int n = %(n)d;
    std::vector<float> x = std::vector<float>(n, 1.5f), y = std::vector<float>(n, 2.0f);
    void run() {
        std::vector<std::thread> others;
        for (int i = 1; i < %(threads)d; ++i) others.emplace_back(part, i, x.data(), y.data());
        part(0, x.data(), y.data());
        for (auto& other : others) other.join();
    }
    __attribute__((noinline)) static void part(int number, const float* x, float* y) {
        const int first = n / %(threads)d * number, end = first + n / %(threads)d;
        for (int i = first; i < end; ++i) y[i] = 2.5f * x[i] + y[i];
    }
    double result() { return y[n / 2]; }
};
"""


@dataclass(frozen=True)
class Taken:
    """Seconds of the best run: on the wall, and of the core that had most to do."""

    wall: float
    longest: float


def _saxpy() -> Program:
    x, y = np.full(N, 1.5, np.float32), np.full(N, 2.0, np.float32)
    launch = Launch("saxpy", (N // 256, 1, 1), (256, 1, 1), (("<i", N), ("<f", 2.5), "x", "y"))
    return Program(Path(__file__).with_name("saxpy.cu"), {"x": x, "y": y}, (launch,))


def _axpy() -> Program:
    x, y = np.full(N, 1.5, np.float32), np.full(N, 2.0, np.float32)
    launch = Launch("blas::axpy<float>", (1024, 1, 1), (256, 1, 1), (("<i", N), ("<f", 2.5), "x", "y"))
    return Program(KERNELS / "saxpy.cu", {"x": x, "y": y}, (launch,))


def _reduction() -> Program:
    n, block = 1 << 21, 256
    buffers = {"x": np.ones(n, np.float32), "sum": np.zeros(n // block, np.float32)}
    launch = Launch("block_sum<float>", (n // block, 1, 1), (block, 1, 1), ("sum", "x", ("<i", n)), shared=4 * block)
    return Program(KERNELS / "reduce.cu", buffers, (launch,))


def _matmul() -> Program:
    n, tile = 512, 16
    buffers = {name: np.ones((n, n), np.float32) for name in "abc"}
    launch = Launch("matmul", (n // tile, n // tile, 1), (tile, tile, 1), ("c", "a", "b", *(("<i", n),) * 3))
    return Program(KERNELS / "matmul.cu", buffers, (launch,), {"TILE": str(tile)})


def _transpose() -> Program:
    rows, columns = 1000, 2040
    buffers = {"out": np.zeros((columns, rows), np.int32), "in": np.arange(rows * columns, dtype=np.int32)}
    launch = Launch("transpose<int, 32, 8>", (64, 32, 1), (32, 8, 1), ("out", "in", ("<i", rows), ("<i", columns)))
    return Program(KERNELS / "transpose.cu", buffers, (launch,))


def _bitonic(stages: int = 20) -> Program:
    n = 1 << stages
    keys = np.random.default_rng(1).integers(0, 1 << 32, n, np.uint32)
    columns = [(stage, stage * (stage + 1) // 2 + column) for stage in range(stages) for column in range(stage + 1)]
    launches = [
        Launch("bitonic_step", (n // 256, 1, 1), (256, 1, 1), ("keys", ("<i", n), ("<i", stage), ("<i", step)))
        for stage, step in columns
    ]
    return Program(KERNELS / "bitonic.cu", {"keys": keys}, tuple(launches))


def _short_launches() -> Program:
    return _bitonic(17)


def _park_miller() -> Program:
    n, run = 1 << 20, 64
    arguments = ("numbers", ("<I", 1), ("<i", run), ("<i", n))
    launch = Launch("park_miller", (n // run // 64, 1, 1), (64, 1, 1), arguments)
    return Program(KERNELS / "park_miller.cu", {"numbers": np.zeros(n, np.uint32)}, (launch,))


def _gp() -> Program:
    population, length = 2000, 63
    programs = np.random.default_rng(1).integers(0, 11, (population, length)).astype(np.uint8)
    programs[:, 32:] = np.random.default_rng(2).integers(0xF0, 0xF4, (population, length - 32))
    buffers: dict[str, virtual_gpu.Array] = {name: np.zeros(population, np.int32) for name in ("hits", "status")}
    buffers |= {"fitness": np.zeros(population, np.float32), "programs": programs}
    arguments = ("fitness", "hits", "status", "programs", ("<i", length), ("<i", 3))
    return Program(KERNELS / "gp.cu", buffers, (Launch("gp_fitness", (population, 1, 1), (64, 1, 1), arguments),))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "tree reduction, block 256, 2^21 elements": _reduction,
    "matmul 512 x 512, tile 16": _matmul,
    "transpose 1000 x 2040": _transpose,
    "saxpy, 2^22 elements": _saxpy,
    "axpy, grid-stride loop, 2^22 elements": _axpy,
    "bitonic sort of 2^20 keys, 210 launches": _bitonic,
    "bitonic sort of 2^17 keys, 153 launches": _short_launches,
    "park_miller, 2^20 numbers": _park_miller,
    "gp, 2000 programs, 11-multiplexer": _gp,
}


def taken(program: Program, count: int, repeats: int) -> tuple[Taken, dict[str, bytes]]:
    """A program's best run on so many cores, and what its buffers hold then."""
    whole = partition.run_parallel
    longest: list[float] = []

    def timed(function: Callable[[int], int], machines: Sequence[Machine]) -> tuple[int, Machine]:
        parts: list[float] = []

        def part(address: int) -> int:
            start = time.thread_time()
            status = function(address)
            parts.append(time.thread_time() - start)
            return status

        result = whole(part, machines)
        longest.append(max(parts))
        is_first = len(longest) <= len(program.launches)  # it need not be cut
        assert is_first or len(parts) == count, f"{program.source.stem} was cut into {len(parts)} parts"
        return result

    with mock.patch.object(partition, "run_parallel", timed):
        result = virtual_gpu.time(program, repeats, count)
    launches = len(program.launches)
    runs = [sum(longest[start : start + launches]) for start in range(0, len(longest), launches)]
    return Taken(result.seconds, min(runs[1:])), {name: array.tobytes() for name, array in result.buffers.items()}


def measure() -> list[Row]:
    if available() < 2:
        return [missing("two cores", "there is one core")]
    rows = []
    for what, make in PROGRAMS.items():
        program = make()
        repeats = 5 if len(program.launches) > 1 else 60 if make is _saxpy else 20
        one, bytes_of_one = taken(program, 1, repeats)
        two, bytes_of_two = taken(program, 2, repeats)
        assert bytes_of_one == bytes_of_two
        limit = f"; {LIMITS[make]()}" if make in LIMITS else ""
        rows.append(
            Row(
                f"two cores: {what}",
                f"{1000 * two.wall:.2f} ms",
                f"one core: {1000 * one.wall:.2f} ms",
                one.wall / two.wall,
                None if make in LIMITS else GOAL,
                f"the longer part's own time: {one.longest / two.longest:.2f}{limit}",
            )
        )
    return rows


@lru_cache(maxsize=1)
def _memory_limit() -> str:
    if host.compiler() is None:
        return "g++ is not installed"
    one, two = (host.seconds(SAXPY_CODE % {"n": N, "threads": threads}, 60) for threads in (1, 2))
    return f"g++ -O2 gains {one / two:.2f} from two threads on such arrays ({1000 * one:.2f} ms on one)"


LIMITS: dict[Callable[[], Program], Callable[[], str]] = {
    _saxpy: _memory_limit,
    _short_launches: lambda: "a launch takes 0.3 ms, and waking the other core its part of that",
}
"""What else limits a program than the work to be shared: such a row has no goal."""
