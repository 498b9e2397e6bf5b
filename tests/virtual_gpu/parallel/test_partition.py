"""Launches on several cores: the same bytes and the same faults as on one, and not split where that cannot be shown."""

from __future__ import annotations

import ctypes
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu.parallel import cores, partition
from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import StoredFootprint
from gpuregress.virtual_gpu.runtime.textures import Textures
from tests.virtual_gpu.running import Running

SOURCE = """
__device__ int total, primes[4] = {{2, 3, 5, 7}};
struct Size {{ int a, b; }};
extern "C" __global__ void k(int* y, const int* x, int n, int a, Size s) {{
  __shared__ int box[64];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, row = threadIdx.y + blockDim.y * blockIdx.y;
  box[t] = x[t] + i; __syncthreads();
  {body}
}}
"""
SIZE = 600


class _Outcome:
    """A kernel run on so many cores: how many parts it was cut into, what it left, what fault it had."""

    def __init__(
        self,
        body: str,
        count: int,
        grid: Dim3 = (8, 1, 1),
        block: Dim3 = (16, 1, 1),
        n: int = 128,
        a: int = 1,
        shift: int | None = None,
    ) -> None:
        self.parts, self.cuts = 0, list[tuple[int, int]]()
        self.message, self.details = "", tuple[str, ...]()
        whole = partition.PartitionCache.partition

        def watch(*arguments: object) -> list[tuple[int, int]]:
            actual = whole(*arguments)  # type: ignore[arg-type]  # handed through
            self.parts, self.cuts = len(actual), actual
            return actual

        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(partition, "MIN_THREADS", 1)
            patch.setattr(partition.PartitionCache, "partition", watch)
            patch.setenv(cores.VARIABLE, str(count))
            running = Running(Path(folder), SOURCE.format(body=body), is_small=True)
            data = running.put("data", np.random.default_rng(5).integers(0, 99, 2 * SIZE).astype(np.int32))
            if shift is None:
                x = running.put("x", np.random.default_rng(6).integers(0, 99, SIZE).astype(np.int32)).address
            else:
                x = data.address + 4 * shift  # x begins inside y's buffer
            size = np.array([n, a], np.int32).tobytes()
            try:
                running.launch("k", grid, block, data, x.to_bytes(8, "little"), np.int32(n), np.int32(a), size)
            except KernelFault as fault:
                self.message, self.details = str(fault), fault.details
            self.data = data.read().tobytes()


@pytest.mark.parametrize(
    "body",
    [
        "y[i] = x[i];",
        "if (i < n) y[i] += a * x[i];",
        "if (t == 0) y[blockIdx.x] = box[3];",
        "y[n - 1 - i] = x[i % 7];",
        "int v = 0; for (int j = t; j < n; j += 16) v += x[j]; y[i] = v;",
        "for (int j = 0; j < 3; ++j) atomicAdd(&box[j], t); __syncthreads(); y[i] = box[t];",
        "y[i] = __shfl_xor_sync(~0u, box[t], 3) + __ballot_sync(~0u, t & 1);",
        "y[s.a - 1 - i] = s.b;",
        "int u = t; for (int j = 0; j < 4; ++j) { u += 16; box[t] += u; } y[i] = box[t];",
        "int many[64]; many[x[i] & 63] = i; y[i] = many[i & 63];",
        "y[(short)i] = 1;",
        "y[i] = total + (&total)[i - i];",
        "y[i] = primes[x[i] & 3];",
        "y[i] = __dp4a(box[t], i, 7); __threadfence_block();",
        "if (t & 1) return; y[i] = __shfl_down_sync(~0u, i, 1);",
        "if (blockIdx.x & t & 1) return; y[i] = __shfl_down_sync(~0u, i, 1);",
        "if (t < 8) box[t] = __shfl_up_sync(255u, i, 1); __syncthreads(); y[i] = box[t ^ 8];",
    ],
)
def test_split_with_the_same_bytes(body: str) -> None:
    several, one = _Outcome(body, 3), _Outcome(body, 1)
    assert (several.parts, one.parts) == (3, 1)
    assert several.data == one.data


def test_rows_of_a_matrix() -> None:
    body = "y[row * n + i] = x[row] + box[t];"
    several, one = (_Outcome(body, count, (2, 6, 1), (8, 2, 1), n=16) for count in (3, 1))
    assert (several.parts, several.data) == (3, one.data)
    assert _Outcome(body, 3, (2, 6, 1), (8, 2, 1), n=15).parts == 1  # rows overlap


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_the_sizes_of_grid_and_block_are_told_apart(axis: str) -> None:
    def along(count: int) -> Dim3:
        x, y, z = (count if one == axis else 1 for one in "xyz")
        return x, y, z

    position = f"blockIdx.{axis} * {{0}} + threadIdx.{axis}".format

    def parts(index: str, grid: Dim3, block: Dim3) -> int:
        return _Outcome(f"y[{index}] = 1;", 2, grid, block).parts

    few, many = along(4), along(16)
    assert parts(position(f"gridDim.{axis}"), few, many) == 1  # 16 places from each 4th
    assert parts(position(f"gridDim.{axis}"), many, few) == 2
    assert parts(position(f"(blockDim.{axis} - 1)"), many, few) == 1
    assert parts(position(f"blockDim.{axis}"), few, many) == 2


def test_a_loop_may_jump_over_the_number_that_ends_it() -> None:
    body = "for (int j = 0; j != n && j < 20; j += a) y[i * 8 + j] = i;"
    assert _Outcome(body, 2, n=5, a=1).parts == 2
    assert _Outcome(body, 2, n=5, a=2).parts == 1
    assert _Outcome(body, 2, n=6, a=2).parts == 2


def test_the_last_partner_below_the_middle_is_seen() -> None:
    body = "const int p = i ^ 127; if (p > i) y[p] = i; if (i == 0) y[64] = 5;"
    assert _Outcome(body, 2, (126, 1, 1), (1, 1, 1)).parts == 1  # 63 ^ 127 = 64, of the second part's first block


def test_a_deadlock_is_told_by_the_threads_of_its_own_block() -> None:
    body = """
      if (blockIdx.x < 5) { y[i] = 1; return; }
      if (t < 32) asm volatile("barrier.sync 1, 64;"); else if (t < 40) asm volatile("barrier.sync 2, 64;");
      y[i] = 2;
    """
    several, one = (_Outcome(body, count, (8, 1, 1), (64, 1, 1)) for count in (3, 1))
    assert (several.parts, several.message) == (3, one.message)
    assert "block (5,0,0)" in one.message
    assert several.details == one.details


def test_planes_are_cut_through_where_that_is_more_even() -> None:
    body = "y[row * n + i] = x[row] + box[t];"
    several, one = (_Outcome(body, count, (4, 3, 1), (8, 1, 1), n=32) for count in (2, 1))
    assert (several.cuts, several.data) == ([(0, 6), (6, 12)], one.data)
    # The halves of a row that is cut through come to the same places: only whole rows are apart.
    several, one = (_Outcome("y[row * n + (t ^ 3)] = 1;", count, (4, 3, 1), (8, 1, 1), n=32) for count in (2, 1))
    assert (several.cuts, several.data) == ([(0, 4), (4, 12)], one.data)


@pytest.mark.parametrize(
    "body",
    [
        "atomicAdd(y, 1);",
        "y[i] = y[i + 1];",
        "y[i] = y[x[i] & 63];",
        "y[x[i] & 63] = i;",
        "y[i & 63] = i;",
        "y[0] = i;",
        "((volatile int*)y)[i] = 1;",
        "y[i] = i; __threadfence();",
        'if (i == 3) printf("%d\\n", i);',
        "y[i] = clock();",
        "total += i;",
        "primes[i & 3] = primes[x[i] & 3];",
        "y[(short)(i * 300)] = 1;",
        'int j; asm("min.relu.s32 %0, %1, %2;" : "=r"(j) : "r"(i - 40), "r"(n)); y[j] = i;',
        'int j; asm("add.sat.s32 %0, %1, %2;" : "=r"(j) : "r"(i + 0x7fffff9f), "r"(n)); y[j - 0x7ffffff0] = i;',
        'int m; asm("neg.s32 %0, %1;" : "=r"(m) : "r"(i ^ 127)); if (m > -i) y[i - 64] = 1; if (i < 64) y[i] = 2;',
        'long long p; asm("add.s64 %0, %1, 18446744073709551612;" : "=l"(p) : "l"(y + i)); ((int*)p)[65] = y[i];',
        "y[i * i] = 1;",
        "int* p = x[i] & 1 ? y : y + 256; *p = 1;",
        "const int* p = x[0] & 1 ? y : x; y[i] = p[i * x[1]];",
        "const int* const* p = (const int* const*)x; if (n < 0) y[i] = p[i][0];",
    ],
)
def test_not_split(body: str) -> None:
    assert _Outcome(body, 3).parts == 1


def test_buffers_that_overlap_are_seen_at_the_launch() -> None:
    assert _Outcome("y[i] = x[i];", 3, shift=128).parts == 3
    assert _Outcome("y[i] = x[i];", 3, shift=100).parts == 1


def test_indexes_that_wrap_are_seen_at_the_launch() -> None:
    assert _Outcome("if (x[0] > 1000) y[i * a] = 1;", 3, a=1 << 20).parts == 3
    assert _Outcome("if (x[0] > 1000) y[i * a] = 1;", 3, a=1 << 28).parts == 1


def test_an_unsigned_parameter_in_a_wider_register_keeps_its_sign() -> None:
    """The compiler loads it by `ld.param.u32 %rd1`: 2^31 places up, not down."""
    body = "y[i] = y[(size_t)(unsigned)n - (1u << 31) + i];"
    assert _Outcome(body, 2, n=-(1 << 31)).parts == 2
    assert _Outcome(body, 2, n=-(1 << 31) + 16).parts == 1


def test_the_lowest_blocks_fault_is_told() -> None:
    body = "if (i >= 37 && i < 40) y[i + 5000] = 1; if (i > 90) y[i + 9000] = 2;"
    several, one = _Outcome(body, 3), _Outcome(body, 1)
    assert several.parts == 3
    assert several.message == one.message
    assert "data[5037]" in several.message
    assert "thread (5,0,0) of block (2,0,0)" in several.message


@pytest.mark.parametrize(
    "body",
    [
        "for (int j = i; j < n; j += gridDim.x * blockDim.x) y[j] = a * x[j] + y[j];",
        "for (int j = t; j < 48; j += blockDim.x) y[blockIdx.x * 48 + j] = j;",
        "for (int j = i * 4; j < i * 4 + 4 && j < n; ++j) y[j] = x[j] + y[j];",
        "int* p = y + i; for (int j = 0; j < 3; ++j, p += n) *p = j;",
        "for (int j = 3; j >= 0; --j) y[i * 4 + j] = j;",
        "for (int j = 0; j < 3; ++j) for (int k = 0; k < 2; ++k) y[(i * 3 + j) * 2 % 768 + k] = j + k;",
        "if (i >= 64) return; y[2 * i + (x[i] & 1)] = 1;",
        "y[i ^ 3] = x[i];",
        "const int p = i ^ 4; if (p > i) { y[i] = x[p]; y[p] = x[i]; }",
        "y[(i & ~15) + 15 - (i & 15)] = 1;",
        "y[i / 16 * 16 + (i % 16 + 1) % 16] = i;",
        "y[min(i, n - 1)] = i;",
        "int own[8]; for (int j = 0; j < 8; ++j) own[(j * t) & 7] = j; y[i] = own[x[i] & 7];",
        "if (i < n / 2) y[i] = 1; else y[i + n] = 2;",
        "unsigned u = i; while (u < 600u) { y[u] = 1; u += 128u; }",
        "long long j = (long long)i * 2; y[j] = 1; y[j + 1] = 2;",
        "if (y[i] > 50) for (int j = i; j < n; j += 128) y[j] += 1;",
        "y[i * 2 + (x[i] > 50 ? 1 : 0)] = 1;",
    ],
)
def test_loops_strides_and_pairs_are_split(body: str) -> None:
    several, one = _Outcome(body, 2), _Outcome(body, 1)
    assert (several.parts, one.parts) == (2, 1)
    assert several.data == one.data


@pytest.mark.parametrize(
    "body",
    [
        "y[i] = i; y[i + 1] = i;",
        "y[i * 3 + 4] = 1; y[i * 3] = 2;",
        "y[i] = y[i ^ 64];",
        "y[i ^ 64] = y[i];",
        "if (blockIdx.x) y[i] = y[i - 16];",
        "y[n - i] = 1; y[i] = 2;",
        "y[(i * a) & 63] = 1;",
        "y[i % 100] = 1;",
        "y[i / 2 + t] = 1;",
        "for (int j = i; j < n; j += 64) y[j] = i;",
        "for (int j = i; j < i + 20; ++j) y[j] = i;",
        "for (int j = t; j < 49; j += blockDim.x) y[blockIdx.x * 48 + j] = j;",
        "for (int j = i * 4; j <= i * 4 + 4; ++j) y[j] = i;",
        "for (int j = 0; j < x[i]; ++j) y[i + j] = 1;",
        "for (int j = i; y[j] > 3 && j < n; ++j) y[j] = 1;",
        "int* p = y + i; while (*p > 50) { *p = 1; ++p; }",
        "int* p = y; for (int j = 0; j < i; ++j) ++p; *p = 1; y[n] = 2; y[n + (i & 1)] = 1;",
        "const int p = i ^ 64; y[p] = x[i]; y[i] = x[p];",
        "y[min(i, 60)] = i;",
        "for (int j = 0, v;; ) { v = x[(i + j) & 63] & 3; y[i * 7 + j - v + 3] = i; if (++j >= v + 4) break; }",
        "y[(i & 15) + 15 * blockIdx.x] = 1;",
        "for (int j = 0; j < (j > a + 5 ? 3 : 100); ++j) y[i * 6 + j] = i;",
        "int j = i; if (x[i] > 50) j += 16; y[j] = 1;",
        "unsigned u = i; for (int j = 0; j < 4; ++j) { if (u < 600u) y[u] = i; u += 1431655766u; }",
        "((char*)y)[4 * i] = 1; *(int*)((char*)y + 4 * (i & ~3)) = 2; y[i & ~127] = 3;",
    ],
)
def test_what_reaches_into_the_next_blocks_part_is_not_split(body: str) -> None:
    assert _Outcome(body, 2).parts == 1


_INDEXES = st.sampled_from(
    ["i", "n - 1 - i", "row * n + i", "i * 2", "i + a", "blockIdx.x", "i * a + row", "t", "i - a * t"]
)


@settings(max_examples=10)
@given(
    written=_INDEXES,
    read=_INDEXES,
    grid=st.sampled_from([(8, 1, 1), (3, 4, 1), (2, 2, 2)]),
    n=st.sampled_from([16, 48, 128]),
    a=st.sampled_from([0, 1, 3, 16]),
    shift=st.sampled_from([0, 40, 128, SIZE, None]),
)
def test_splitting_changes_nothing(written: str, read: str, grid: Dim3, n: int, a: int, shift: int | None) -> None:
    body = f"if ({written} >= 0 && {written} < {SIZE} && {read} >= 0 && {read} < {SIZE}) y[{written}] = x[{read}] + i;"
    several, one = (_Outcome(body, count, grid, n=n, a=a, shift=shift) for count in (3, 1))
    assert (several.message, several.data) == (one.message, one.data)


def test_after_an_interrupt_no_part_runs_on() -> None:
    machines, ended = [Machine(), Machine()], list[int]()

    def function(address: int) -> int:
        if address == ctypes.addressof(machines[0]):
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(address)
        return 0

    with pytest.raises(KeyboardInterrupt):
        partition.run_parallel(function, machines)
    assert ended == [ctypes.addressof(machines[1])]


def test_a_launch_that_is_not_large_is_cut_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Dim3] = []

    def in_two(launch: KernelLaunch, _most: int) -> list[tuple[int, int]]:
        asked.append(launch.grid)
        return [(0, 1), (1, launch.grid[0])]

    monkeypatch.setattr(partition, "partition", in_two)
    kept, addresses = partition.PartitionCache(), AddressMap(AddressSpace(), Textures(), {})

    def parts(grid: Dim3, *, has_loops: bool = False) -> int:
        footprint = StoredFootprint(has_loops, "")
        return len(kept.partition("k", KernelLaunch(footprint, grid, (128, 1, 1), b"", addresses), lambda: 2))

    smallest = partition.MIN_THREADS // 128
    assert [parts((smallest - 1, 1, 1)) for _ in range(3)] == [1, 1, 1]
    assert [parts((smallest, 1, 1)) for _ in range(3)] == [1, 2, 2]
    assert [parts((16 * smallest, 1, 1)) for _ in range(2)] == [2, 2]
    assert asked == [(smallest, 1, 1), (16 * smallest, 1, 1)]
    assert [parts((smallest - 1, 1, 1), has_loops=True) for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("data", ["", "[", "{}", '{"Footprint": []}', '{"Nothing": [1]}', "[1]", "null"])
def test_a_launch_whose_footprint_is_damaged_stays_whole(data: str) -> None:
    addresses = AddressMap(AddressSpace(), Textures(), {})
    launch = KernelLaunch(StoredFootprint(has_loops=True, data=data), (4096, 1, 1), (128, 1, 1), b"", addresses)
    assert partition.partition(launch, 2) == [(0, 4096)]


@given(
    grid=st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)),
    ends=st.tuples(st.integers(0, 80), st.integers(0, 80)),
)
def test_boxes_are_the_blocks_of_a_part(grid: tuple[int, int, int], ends: tuple[int, int]) -> None:
    first, end = sorted(min(item, grid[0] * grid[1] * grid[2]) for item in ends)
    if first == end:
        return
    numbers = [
        x + grid[0] * (y + grid[1] * z)
        for box in partition._boxes(first, end, grid)
        for z in range(box["ctaid.z"][0], box["ctaid.z"][1] + 1)
        for y in range(box["ctaid.y"][0], box["ctaid.y"][1] + 1)
        for x in range(box["ctaid.x"][0], box["ctaid.x"][1] + 1)
    ]
    assert numbers == list(range(first, end))
