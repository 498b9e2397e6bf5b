"""Branches and calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

_TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y) {
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
  mov.u32 %r2, 9;
  targets: .branchtargets A, B, C;
  setp.lt.u32 %p1, %r1, LAST;
  @%p1 brx.idx %r1, targets;
  bra END;
A: mov.u32 %r2, 10; bra END;
B: mov.u32 %r2, 11;
C: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 15; @%p1 bra C;
END: st.global.u32 [%rd2], %r2;
  @!%p1 exit;
  trap;
}
"""


def _run(folder: Path, last: int, threads: int, end: str = "@!%p1 exit;") -> list[int]:
    running = Running(folder, _TEXT.replace("LAST", str(last)).replace("@!%p1 exit;", end))
    y = running.put("y", np.zeros(5, np.int32))
    running.launch("k", 1, threads, y)
    return ints(y)


def test_a_branch_by_index_takes_the_label_of_the_list(tmp_path: Path) -> None:
    assert _run(tmp_path, 3, 5, end="exit;") == [10, 15, 15, 9, 9]


def test_an_index_beyond_the_list_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(KernelFault, match="branch"):
        _run(tmp_path, 5, 4, end="exit;")


def test_a_trap_ends_the_launch_and_an_exit_only_the_thread(tmp_path: Path) -> None:
    assert _run(tmp_path, 0, 5) == [9] * 5
    with pytest.raises(KernelFault, match="trap"):
        _run(tmp_path, 1, 1)


SOURCE = """
#include <assert.h>
#include <stdio.h>
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int filled(int n) {
  int own[8];
  for (int i = 0; i < 8; ++i) own[i] = n * i;
  int rest = n > 0 ? filled(n - 1) : 0;
  return rest + own[(n + 3) & 7];
}
struct Pair { int a; double b; };
__device__ __noinline__ Pair swapped(Pair p, char c) { Pair q; q.a = (int)p.b + c; q.b = p.a; return q; }
__device__ int twice(int x) { return 2 * x; }
__device__ int negated(int x) { return -x; }
__device__ __noinline__ int who(int) { return threadIdx.x + 100 * blockIdx.x + 10000 * blockDim.x; }
typedef int (*Function)(int);
__device__ Function table[3] = {twice, negated, who};
extern "C" __global__ void functions(int* y, int k) {
  int t = threadIdx.x;
  y[t] = table[(t + k) % 3](t + 1);
}
extern "C" __global__ void recursion(int* y) {
  y[threadIdx.x] = fib(threadIdx.x); y[32 + threadIdx.x] = filled(threadIdx.x);
}
extern "C" __global__ void structures(double* y) {
  Pair p; p.a = threadIdx.x; p.b = 40.5; Pair q = swapped(p, 2); y[0] = q.a; y[1] = q.b;
}
extern "C" __global__ void leaves(int* y) { y[0] = 1; asm("exit;"); y[0] = 2; }
extern "C" __global__ void speaks(int n, float f) {
  printf("%d|%5d|%-4u|%x|%c|%s|%%|%.2f|%e|%lld|%p\\n", n, n, 7u, 255, 'q', "text", f, 1e10, 1ll << 40, (void*)0);
  if (threadIdx.x == 1) printf("no arguments\\n");
}
extern "C" __global__ void asserts(int n) { assert(n != 3 && "not three"); }
extern "C" __global__ void heap(int* y, int n) {
  int* p = (int*)malloc(4 * n);
  if (!p) { y[threadIdx.x] = -1; return; }
  for (int i = 0; i < n; ++i) p[i] = i + threadIdx.x;
  y[threadIdx.x] = p[n - 1];
  free(p);
}
extern "C" __global__ void keep(int** place, int n) { *place = (int*)malloc(4); **place = n; }
extern "C" __global__ void give_back(int** place, int* y) { *y = **place; free(*place); }
extern "C" __global__ void overrun(int n) { int* p = (int*)malloc(4 * n); p[n] = 1; }
extern "C" __global__ void twice_freed() { void* p = malloc(8); free(p); free(p); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("calls"), SOURCE)


def _fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def test_recursion_with_and_without_local_memory(program: Running) -> None:
    y = program.put("y", np.zeros(64, np.int32))
    program.launch("recursion", 1, 16, y)
    filled = [sum(k * ((k + 3) & 7) for k in range(t + 1)) for t in range(16)]
    assert ints(y)[:16] == [_fibonacci(t) for t in range(16)]
    assert ints(y)[32:48] == filled


def test_function_pointers(program: Running) -> None:
    y = program.put("y", np.zeros(6, np.int32))
    program.launch("functions", 1, 6, y, np.int32(0))
    assert ints(y) == [2, -2, 60002, 8, -5, 60005]


def test_structures_in_and_out(program: Running) -> None:
    y = program.put("y", np.zeros(2))
    program.launch("structures", 1, 1, y)
    assert y.read().view(np.float64).tolist() == [42, 0]


def test_exit_in_the_middle(program: Running) -> None:
    y = program.put("y", np.zeros(1, np.int32))
    program.launch("leaves", 1, 4, y)
    assert ints(y) == [1]


def test_printf(program: Running) -> None:
    report = program.launch("speaks", 1, 2, np.int32(-42), np.float32(1.5))
    line = "-42|  -42|7   |ff|q|text|%|1.50|1.000000e+10|1099511627776|(nil)\n"
    assert report.output == f"{line}{line}no arguments\n"


def test_assert_names_file_line_function_and_expression(program: Running) -> None:
    program.launch("asserts", 1, 1, np.int32(2))
    with pytest.raises(KernelFault) as caught:
        program.launch("asserts", 2, 3, np.int32(3))
    assert caught.value.kind == "assert"
    assert 'assertion `n != 3 && "not three"` failed in ' in str(caught.value)
    line = SOURCE[: SOURCE.index("void asserts")].count("\n") + 1
    assert f"k.cu:{line}, thread (0,0,0) of block (0,0,0)" in str(caught.value)


def test_heap(program: Running) -> None:
    y = program.put("y", np.zeros(8, np.int32))
    program.launch("heap", 1, 8, y, np.int32(5))
    assert ints(y) == [4 + t for t in range(8)]
    program.launch("heap", 1, 8, y, np.int32(1 << 24))
    assert ints(y) == [-1] * 8


def test_the_heap_outlives_a_launch(program: Running) -> None:
    position, y = program.put("place", np.zeros(1, np.int64)), program.put("y", np.zeros(1, np.int32))
    program.launch("keep", 1, 1, position, np.int32(42))
    program.launch("give_back", 1, 1, position, y)
    assert ints(y) == [42]
    with pytest.raises(KernelFault, match=r"free of|read of 4 bytes"):
        program.launch("give_back", 1, 1, position, y)


def test_heap_faults(program: Running) -> None:
    with pytest.raises(KernelFault, match=r"write of 4 bytes at malloc'ed memory"):
        program.launch("overrun", 1, 1, np.int32(4))
    with pytest.raises(KernelFault, match="free of"):
        program.launch("twice_freed", 1, 1)


# By hand, as no compiler writes it: vectors, sums, constants and predicates as operands, parameters in registers.
BY_HAND = """
.version 8.0
.target sm_90
.address_size 64
.visible .func unused(.param .u64 a)
.func (.reg .u32 r, .reg .pred o, .reg .f32 g) f(.reg .u32 a, .reg .v2 .u32 b, .reg .pred p, .param .b32 c)
{
    .reg .u32 t;
    .reg .pred z;
    setp.gt.u32 z, a, 100;
    mov.u32 r, 77;
    not.pred o, p;
    mov.f32 g, 0f3F800000;
    @z ret;
    ld.param.u32 t, [c];
    mad.lo.u32 r, b.x, 10, b.y;
    add.u32 r, r, t;
    @p add.u32 r, r, 1000;
    mov.f32 g, 2.0;
}
.visible .entry by_hand(.param .u64 y)
{
    .global .align 4 .u32 table[4] = {(1 << 4) | 3, 7 % 4, ~0, 1 ? 5 : 6};
    .reg .u64 q;
    .reg .v2 .u32 v;
    .reg .v4 .u16 h;
    .reg .u32 x, i;
    .reg .u16 one;
    .reg .pred c, d;
    .reg .f32 g;
    ld.param.u64 q, [y];
    mov.v2.u32 v, {3, 4};
    mov.v2.u32 v, {v.y, v.r};
    setp.eq.u32 c, v.x, 4;
    mov.u32 x, 0;
    call (x, d, g), f, (x, v, c, v.x + 5);
    selp.u32 i, 1, 0, d;
    st.global.u32 [q], x;
    st.global.u32 [q + 4], i;
    st.global.f32 [q + 4 * 2], g;
    mov.u32 x, 101;
    @!d call (x, d, g), f, (x, v, d, 5);
    st.global.u32 [q + 12], x;
    @!d call (_, _, g), f, (9, v, d, 5);
    @d call (x, d, _), f, (9, v, d, 5);
    selp.u32 i, 1, 0, d;
    st.global.u32 [q + 16], x;
    st.global.u32 [q + 20], i;
    st.global.f32 [q + 24], g;
    ld.global.v4.u32 {x, i, _, _}, [table];
    st.global.u32 [q + 28], x + -1;
    st.global.u32 [q + 32], i;
    ld.global.v2.u32 v, [table + 8];
    st.global.v2.u32 [q + 40], v;
    mov.u16 one, 1;
    mov.v4.u16 h, {one, 2, 3, 4};
    st.global.v4.u16 [q + 48], h;
    ret;
}
"""


def test_forms_of_calls_and_operands_that_no_compiler_writes(tmp_path: Path) -> None:
    running = Running(tmp_path, BY_HAND, "by_hand")
    out = running.put("y", np.zeros(14, np.int32))
    running.launch("by_hand", 1, 1, out)
    stored = np.array(ints(out), np.int32)
    assert stored[[0, 1, 3, 4, 5, 7, 8, 10, 11]].tolist() == [1052, 0, 77, 1048, 0, 18, 3, -1, 5]
    assert stored[[2, 6]].view(np.float32).tolist() == [2, 1]
    assert stored[12:].view(np.uint16).tolist() == [1, 2, 3, 4]


# As Numba compiles `this_grid().sync()`: the block `who` leaves before.
GRID = """
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry grid(.param .u64 y, .param .u32 who)
{
    .reg .b64 q, grid, slot;
    .reg .b32 block, leaver, status, value;
    .reg .pred leaves;
    ld.param.u64 q, [y];
    ld.param.u32 leaver, [who];
    call (grid), cudaCGGetIntrinsicHandle, (1);
    mov.u32 block, %ctaid.x;
    setp.eq.u32 leaves, block, leaver;
    @leaves ret;
    mad.wide.u32 slot, block, 4, q;
    st.global.u32 [slot], block + 10;
    call (status), cudaCGSynchronize, (grid, 0);
    xor.b32 block, block, 3;
    mad.wide.u32 slot, block, 4, q;
    ld.global.u32 value, [slot];
    call (status), cudaCGSynchronize, (grid, 0);
    st.global.u32 [slot], value + 100;
    ret;
}
.visible .entry rounds(.param .u64 y, .param .u32 count)
{
    .reg .b64 q, grid;
    .reg .b32 round, last, status;
    .reg .pred goes_on;
    ld.param.u64 q, [y];
    ld.param.u32 last, [count];
    call (grid), cudaCGGetIntrinsicHandle, (1);
    mov.u32 round, 0;
AGAIN:
    red.global.add.u32 [q], 1;
    call (status), cudaCGSynchronize, (grid, 0);
    add.u32 round, round, 1;
    setp.lt.u32 goes_on, round, last;
    @goes_on bra AGAIN;
    ret;
}
"""


def test_the_grid_barrier_of_the_device_runtime(tmp_path: Path) -> None:
    running = Running(tmp_path, GRID, "grid", checks=("races",))
    y = running.put("y", np.zeros(4, np.int32))
    running.launch("grid", 4, 64, y, np.uint32(9))
    assert ints(y) == [110, 111, 112, 113]
    with pytest.raises(KernelFault, match=r"threads 1-63 wait at barrier.sync, PTX line 20; thread 0 spins"):
        running.launch("grid", 4, 64, y, np.uint32(2))


LATE_PARAMETER = """
.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 r) plus(.param .b32 a, .param .b32 b)
{
    .reg .b32 x, y;
    ld.param.b32 y, [b];
    bar.sync 0;
    ld.param.b32 x, [a];
    add.u32 x, x, y;
    st.param.b32 [r], x;
    bar.sync 0;
    ret;
}
.visible .entry late(.param .u64 y)
{
    .reg .b64 q;
    .reg .b32 t, v;
    .param .b32 a, b, r;
    ld.param.u64 q, [y];
    mov.u32 t, %tid.x;
    st.param.b32 [a], t;
    st.param.b32 [b], 100;
    call (r), plus, (a, b);
    ld.param.b32 v, [r];
    mad.wide.u32 q, t, 4, q;
    st.global.u32 [q], v;
    ret;
}
"""


def test_parameters_and_results_last_while_a_thread_waits(tmp_path: Path) -> None:
    running = Running(tmp_path, LATE_PARAMETER, "late")
    y = running.put("y", np.zeros(64, np.int32))
    running.launch("late", 1, 64, y)
    assert ints(y) == list(range(100, 164))


def test_many_barriers_of_the_device_runtime(tmp_path: Path) -> None:
    """A block of a cooperative grid is left and entered again in the middle of a wait."""
    running = Running(tmp_path, GRID, "rounds")
    y = running.put("y", np.zeros(1, np.int32))
    running.launch("rounds", 1, 64, y, np.uint32(100))
    assert ints(y) == [64 * 100]
