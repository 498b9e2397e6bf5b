from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void read_at(const float* x, float* y, long long i) { y[threadIdx.x] = x[i]; }
extern "C" __global__ void write_at(float* y, long long i) { y[i] = 1.0f; }
extern "C" __global__ void wide(float4* y, char* raw, int i) { *(float4*)(raw + i) = y[0]; }
extern "C" __global__ void add_at(int* y, int i) { atomicAdd(y + i, 1); }
extern "C" __global__ void through(float** where) { where[0][3] = 2.0f; }
extern "C" __global__ void shared_at(int* y, int i) {
  __shared__ int first[8]; __shared__ int second[8];
  first[threadIdx.x & 7] = 1; second[threadIdx.x & 7] = 2;
  __syncthreads();
  y[threadIdx.x] = first[i] + second[0];
}
extern "C" __global__ void dynamic_at(int* y, int i) {
  extern __shared__ int tail[];
  tail[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = tail[i];
}
extern "C" __global__ void local_at(int* y, int i, int n) {
  int own[4];
  for (int k = 0; k < 4; ++k) own[k] = k * n;
  own[i] = 7;
  y[threadIdx.x] = own[n & 3];
}
extern "C" __global__ void trap_at(int n) { if (threadIdx.x == n) __trap(); }
__constant__ int fixed[4];
extern "C" __global__ void undefined_at(int* y, int n) {
  if (n > 2)
    fixed[n & 3] = 5;
  y[0] = fixed[n & 3];
}
extern "C" __global__ void half_wait() {
  if (threadIdx.x < 16) __syncthreads(); else for (;;) asm volatile("bar.sync 1;");
}
extern "C" __global__ void warp_wait(int* y) {
  if (threadIdx.x == 3) asm volatile("bar.sync 2;");
  y[threadIdx.x] = __shfl_sync(0xffffffff, threadIdx.x, 0);
}
__device__ __noinline__ int deep(int n, int* y) {
  return n == 0 ? *y : deep(n - 1, y) + deep(n - 2 > 0 ? n - 2 : 0, y) % 2;
}
extern "C" __global__ void endless(int* y) { *y = deep(1 << 28, y); }
__device__ float table[16] = {1, 2, 3};
extern "C" __global__ void table_at(float* y, long long i) { y[threadIdx.x] = table[i]; }
extern "C" __global__ void far_vector(float4* x, long long i) { x[i] = make_float4(1, 2, 3, 4); }
extern "C" __global__ void far_atomic(float* x, long long i) { atomicAdd(x + i, 1.0f); }
extern "C" __global__ void either(float* x, float* y, long long i) { (i & 1 ? x : y)[i] = 1.0f; }
extern "C" __global__ void from_null(float* none, float* y, long long i) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  none[i] = 2;
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void generic_at(float* x, float* y, long long i) {
  __shared__ float s[64];
  float own[8];
  for (int k = 0; k < 8; ++k) own[k] = k * y[0];
  s[threadIdx.x] = 1;
  __syncthreads();
  float* place = y[0] == 1 ? own : y[0] == 2 ? s : x;
  y[threadIdx.x] = place[i] + own[threadIdx.x & 7];
}
extern "C" __global__ void global_shared(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  float value;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"((void*)s));
  y[threadIdx.x] = value;
}
extern "C" __global__ void shared_global(float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "l"(x));
  y[threadIdx.x] = value + s[threadIdx.x ^ 1];
}
extern "C" __global__ void barrier_at(int number, int count) {
  asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(count) : "memory");
}
typedef int (*Function)(int);
extern "C" __global__ void nowhere(int* y, Function f) { *y = f(1); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("faults"), SOURCE)


def _fault(
    program: Running, kernel: str, *args: object, block: int = 32, grid: int = 1, shared: int = 0
) -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        program.launch(kernel, grid, block, *args, shared=shared)  # type: ignore[arg-type]  # each test knows
    return caught.value


@pytest.mark.parametrize("index", [-1, 10, 11, -(1 << 20), 1 << 33, -(1 << 50), 1 << 50])
def test_out_of_bounds_names_buffer_index_thread_and_line(program: Running, index: int) -> None:
    x, y = program.put("x", np.zeros(10, np.float32)), program.put("y", np.zeros(32, np.float32))
    fault = _fault(program, "read_at", x, y, np.int64(index))
    assert fault.kind == "out-of-bounds"
    text = "out-of-bounds read of 4 bytes at x["
    assert str(fault).startswith(text if abs(index) > 1 << 40 else f"{text}{index}] (x has 10)")
    assert str(fault).endswith("thread (0,0,0) of block (0,0,0), k.cu:2")


@pytest.mark.parametrize("index", [0, 9])
def test_the_edges_are_inside(program: Running, index: int) -> None:
    y = program.put("y", np.zeros(10, np.float32))
    program.launch("write_at", 1, 1, y, np.int64(index))
    assert np.flatnonzero(y.read().view(np.float32)).tolist() == [index]


def test_what_ran_before_the_fault_has_happened(program: Running) -> None:
    x, y = program.put("x", np.ones(4, np.float32)), program.put("y", np.zeros(8, np.float32))
    fault = _fault(program, "read_at", x, y, np.int64(0))
    assert "write of 4 bytes at y[8] (y has 8), thread (8,0,0)" in str(fault)
    assert y.read().view(np.float32).tolist() == [1] * 8


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_buffer_smaller_than_the_access(program: Running, size: int) -> None:
    y = program.device.allocate("y", size)
    assert _fault(program, "write_at", y, np.int64(0)).kind == "out-of-bounds"


@pytest.mark.parametrize("offset", [1, 4, 8])
def test_misaligned_vectors(program: Running, offset: int) -> None:
    y, raw = program.put("y", np.zeros(4, np.float32)), program.put("raw", np.zeros(64, np.uint8))
    fault = _fault(program, "wide", y, raw, np.int32(offset))
    assert fault.kind == "misaligned"
    assert f"misaligned write of 16 bytes at raw[{offset}] (raw has 64)" in str(fault)


def test_null_and_wild_pointers(program: Running) -> None:
    assert "a null pointer" in str(_fault(program, "write_at", bytes(8), np.int64(0)))
    assert "in no buffer" in str(_fault(program, "write_at", (77 << 40).to_bytes(8, "little"), np.int64(0)))


def test_atomics_are_checked(program: Running) -> None:
    fault = _fault(program, "add_at", program.put("y", np.zeros(4, np.int32)), np.int32(4))
    assert "out-of-bounds atomic access of 4 bytes at y[4] (y has 4)" in str(fault)


def test_pointers_out_of_memory_are_checked(program: Running) -> None:
    y = program.put("y", np.zeros(3, np.float32))
    where = program.put("where", np.array([y.address], np.uint64))
    assert "at y[3] (y has 3)" in str(_fault(program, "through", where))


@pytest.mark.parametrize("index", [8, -1, 100])
def test_shared_overruns_name_the_variable(program: Running, index: int) -> None:
    fault = _fault(program, "shared_at", program.put("y", np.zeros(32, np.int32)), np.int32(index))
    assert f"read of 4 bytes at first[{index}] (first has 8)" in str(fault)


def test_dynamic_shared_memory_ends_where_the_launch_says(program: Running) -> None:
    y = program.put("y", np.zeros(32, np.int32))
    program.launch("dynamic_at", 1, 32, y, np.int32(31), shared=128)
    fault = _fault(program, "dynamic_at", y, np.int32(32), shared=128)
    assert "read of 4 bytes at tail[32] (tail has 32)" in str(fault)


def test_local_memory(program: Running) -> None:
    y = program.put("y", np.zeros(32, np.int32))
    program.launch("local_at", 1, 32, y, np.int32(2), np.int32(2))
    assert ints(y) == [7] * 32
    for index in (4, 1000):
        fault = _fault(program, "local_at", y, np.int32(index), np.int32(2))
        assert f"out-of-bounds write of 4 bytes at local memory[{4 * index}] (local memory has 16)" in str(fault)


LOCAL_ARRAYS = """
__device__ int last(const int* set, int size) { return set[size - 1]; }
extern "C" __global__ void between(int* y, int size, int n) {
  int before[5], set[5], after[5];
  for (int k = 0; k < 5; ++k) { before[k] = 100 + y[k]; set[k] = y[k]; after[k] = 200 + set[k]; }
  y[threadIdx.x] = last(set, size) * 1000 + before[(n + 1) % 5] + after[(n + 2) % 5];
}
extern "C" __global__ void reordered(int* y, int i, int n) {
  unsigned char key[7]; short half[3]; double wide[2]; long long sum[3] = {};
  for (int k = 0; k < 7; ++k) key[k] = y[k];
  for (int k = 0; k < 3; ++k) half[k] = y[k];
  for (int k = 0; k < 2; ++k) wide[k] = y[k];
  for (int k = 0; k < n; ++k) { key[k % 7] ^= half[k % 3]; wide[k & 1] += key[k % 7]; sum[k % 3] += wide[k & 1]; }
  y[threadIdx.x] = key[n % 7] + half[i] + wide[n & 1] + sum[i];
}
"""


LOCAL_VARIABLES = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y, .param .s32 offset) {
  .local .align 4 .b8 first[16];
  .local .align 4 .b8 second[16];
  .local .align 4 .b8 third[16];
  .reg .b64 %rd<6>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [y]; ld.param.s32 %r1, [offset]; cvt.s64.s32 %rd2, %r1;
  mov.u64 %rd3, second; add.s64 %rd4, %rd3, %rd2;
  st.local.u32 [%rd4], 7; ld.local.u32 %r2, [second+12];
  st.global.u32 [%rd1], %r2; ret;
}
"""


@pytest.fixture(scope="module")
def local_arrays(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("local_arrays"), LOCAL_ARRAYS, is_small=True)


@pytest.mark.parametrize(
    ("kernel", "index", "name"),
    [
        ("between", 0, "set[-1] (set has 5), thread (0,0,0) of block (0,0,0), k.cu:2, called at k.cu:6"),
        ("between", 6, "set[5] (set has 5)"),
        ("reordered", -1, "half[-1] (half has 3)"),
        ("reordered", 3, "half[3] (half has 3)"),
    ],
)
def test_an_index_beyond_a_local_array(local_arrays: Running, kernel: str, index: int, name: str) -> None:
    y = local_arrays.put("y", np.arange(32, dtype=np.int32))
    assert name in str(_fault(local_arrays, kernel, y, np.int32(index), np.int32(3)))


def test_all_elements_of_local_arrays(local_arrays: Running) -> None:
    y = local_arrays.put("y", np.arange(32, dtype=np.int32))
    local_arrays.launch("between", 1, 1, y, np.int32(5), np.int32(3))
    assert ints(y)[0] == 4000 + 104 + 200
    for index in range(3):
        local_arrays.launch("reordered", 1, 1, y, np.int32(index), np.int32(0))


def test_local_variables_of_ptx_have_gaps_between(tmp_path: Path) -> None:
    program = Running(tmp_path, LOCAL_VARIABLES, is_small=True)
    y = program.put("y", np.zeros(1, np.int32))
    program.launch("k", 1, 1, y, np.int32(12))
    assert ints(y) == [7]
    for index in (-4, 16):
        assert f"second[{index // 4}] (second has 4)" in str(_fault(program, "k", y, np.int32(index), block=1))
    assert program.module.kernel("k").local == 48


def test_trap_says_who(program: Running) -> None:
    fault = _fault(program, "trap_at", np.int32(5))
    assert fault.kind == "trap"
    assert "thread (5,0,0) of block (0,0,0), k.cu:" in str(fault)


def test_a_trap_of_the_compiler_is_told_from_one_of_the_source(program: Running) -> None:
    fault = _fault(program, "undefined_at", program.put("y", np.zeros(1, np.int32)), np.int32(3))
    line = SOURCE[: SOURCE.index("if (n > 2)")].count("\n") + 1
    assert "in place of undefined behaviour (a store to __constant__ memory" in str(fault)
    assert f"k.cu:{line}" in str(fault)
    assert "trap executed, thread (0,0,0)" in str(_fault(program, "trap_at", np.int32(0)))


def test_deadlock_says_who_waits_where(program: Running) -> None:
    fault = _fault(program, "half_wait")
    assert fault.kind == "deadlock"
    assert "threads 0-15 wait at " in str(fault)
    assert "threads 16-31 wait at bar.sync, k.cu:" in str(fault)


def test_a_warp_that_never_meets(program: Running) -> None:
    fault = _fault(program, "warp_wait", program.put("y", np.zeros(32, np.int32)))
    assert fault.kind == "deadlock"
    assert "thread 3 waits at bar.sync" in str(fault)
    assert "threads 0-2, 4-31 wait at shfl.sync.idx.b32" in str(fault)


def test_endless_recursion(program: Running) -> None:
    fault = _fault(program, "endless", program.put("y", np.ones(1, np.int32)), block=1)
    assert fault.kind == "stack-overflow"


def test_calls_to_nowhere(program: Running) -> None:
    fault = _fault(program, "nowhere", program.put("y", np.ones(1, np.int32)), bytes(8), block=1)
    assert fault.kind == "illegal-instruction"


FAR = [sign * (factor << bit) for bit in (36, 37, 38, 39, 40, 45, 50, 58) for factor in (1, 3) for sign in (1, -1)]


@pytest.mark.parametrize("index", FAR)
def test_an_index_of_terabytes_reaches_no_other_buffer(program: Running, index: int) -> None:
    x = program.put("x", np.zeros(64, np.float32))
    others = [program.put(f"b{number}", np.ones(64, np.float32)) for number in range(20)]
    for kernel, args in (("write_at", (x,)), ("read_at", (x, others[0])), ("far_atomic", (x,)), ("far_vector", (x,))):
        step = 4 if kernel == "far_vector" else 1
        message = str(_fault(program, kernel, *args, np.int64(index // step)))
        assert message.partition(", thread")[0].endswith(f" at x[{index // step * step}] (x has 64)")
    message = str(_fault(program, "table_at", x, np.int64(index)))
    assert f"at table[{4 * index}] (table has 64)" in message
    assert "out-of-bounds write of 4 bytes at " in str(_fault(program, "either", x, others[1], np.int64(index)))
    for position in (1, 2, 3):
        y = program.put("y", np.full(64, position, np.float32))
        assert _fault(program, "generic_at", x, y, np.int64(index)).kind == "out-of-bounds"
    for small in (0, 256, 1024, 1025):
        assert _fault(program, "from_null", np.uint64(0), x, np.int64(index + small)).kind == "out-of-bounds"


def test_an_index_that_passes_all_addresses_is_as_on_a_gpu_the_element_itself(program: Running) -> None:
    x, y = program.put("x", np.full(64, 3, np.float32)), program.put("y", np.zeros(32, np.float32))
    program.launch("read_at", 1, 32, x, y, np.int64(1 << 62))
    assert (y.read().view(np.float32) == 3).all()


def test_an_access_reaches_its_own_state_space_only(program: Running) -> None:
    x, y = program.put("x", np.ones(64, np.float32)), program.put("y", np.ones(64, np.float32))
    program.put("behind", np.ones(64, np.float32))
    fault = _fault(program, "global_shared", y)
    assert fault.kind == "illegal-access"
    assert "shared memory, which ld.global.f32 does not reach, thread (0,0,0)" in str(fault)
    fault = _fault(program, "shared_global", x, y)
    assert fault.kind == "illegal-access"
    assert f"read of 4 bytes at address {hex(x.address)}: x, global memory, which ld.shared.f32 does not" in str(fault)


@pytest.mark.parametrize(("number", "count"), [(16, 32), (-1, 32), (0, 33), (3, 16)])
def test_a_barrier_that_no_block_has(program: Running, number: int, count: int) -> None:
    fault = _fault(program, "barrier_at", np.int32(number), np.int32(count))
    assert fault.kind == "illegal-instruction"
    assert "bar.sync: a block has 16 barriers, numbered from 0, and each counts whole warps, thread (0" in str(fault)


def test_the_last_barrier(program: Running) -> None:
    program.launch("barrier_at", 1, 64, np.int32(15), np.int32(64))
