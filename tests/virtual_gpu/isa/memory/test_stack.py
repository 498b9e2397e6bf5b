"""Memory of a thread that PTX only names: the dynamic stack, and variadic arguments."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import LaunchShape, Source
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.device import CpuDevice
from tests.virtual_gpu.running import Running, ints

_HEAD = """.version 8.0
.target sm_80
.address_size 64
"""

# Each thread asks for n words twice, fills both, gives the second back, and takes as much again.
_ENTRY = """
.visible .entry k(.param .u64 y, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [y];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mad.wide.u32 %rd1, %r2, 16, %rd1;
  mul.wide.u32 %rd2, %r1, 4;
  alloca.u64 %rd3, %rd2, 16;
  stacksave.u64 %rd4;
  alloca.u64 %rd5, %rd2;
  st.local.u32 [%rd3], %r2;
  add.u32 %r3, %r2, 100;
  st.local.u32 [%rd5], %r3;
  WAIT
  stackrestore.u64 %rd4;
  alloca.u64 %rd6, %rd2;
  ld.local.u32 %r4, [%rd3];
  ld.local.u32 %r5, [%rd6];
  cvta.local.u64 %rd7, %rd5;
  ld.u32 %r6, [%rd7];
  and.b64 %rd8, %rd3, 15;
  cvt.u32.u64 %r7, %rd8;
  st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};
  ret;
}
"""


@pytest.mark.parametrize("wait", ["", "bar.sync 0;", "{ .reg .b32 %s; shfl.sync.idx.b32 %s, %r2, 3, 31, -1; }"])
def test_what_is_taken_is_the_threads_own_and_can_be_given_back(wait: str, tmp_path: Path) -> None:
    running = Running(tmp_path, _HEAD + _ENTRY.replace("WAIT", wait), "k")
    y = running.put("y", np.zeros(4 * 64, np.int32))
    running.launch("k", 1, 64, y, np.uint32(9))
    # The third allocation is where the second was, and still holds what that did.
    assert ints(y) == [word for thread in range(64) for word in (thread, thread + 100, thread + 100, 0)]


@pytest.mark.parametrize("words", [1021, 1 << 30])
def test_too_much_is_a_stack_overflow(words: int, tmp_path: Path) -> None:
    running = Running(tmp_path, _HEAD + _ENTRY.replace("WAIT", ""), "k")
    y = running.put("y", np.zeros(4, np.int32))
    running.launch("k", 1, 1, y, np.uint32(1016))  # twice 4,064 bytes fit
    with pytest.raises(KernelFault, match="too much local memory") as caught:
        running.launch("k", 1, 1, y, np.uint32(words * 2))
    assert caught.value.kind == "stack-overflow"


_RECURSIVE = """
.func (.param .b32 sum) down(.param .b32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u32 %r1, [n];
  mov.u32 %r3, 0;
  setp.eq.u32 %p, %r1, 0;
  @%p bra DONE;
  alloca.u64 %rd1, 64;
  st.local.u32 [%rd1], %r1;
  sub.u32 %r2, %r1, 1;
  {
  .param .b32 given;
  .param .b32 back;
  st.param.b32 [given], %r2;
  call (back), down, (given);
  ld.param.b32 %r3, [back];
  }
  ld.local.u32 %r4, [%rd1];
  add.u32 %r3, %r3, %r4;
DONE:
  st.param.b32 [sum], %r3;
  ret;
}
.visible .entry k(.param .u64 y)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [y];
  {
  .param .b32 given;
  .param .b32 back;
  st.param.b32 [given], 5;
  call (back), down, (given);
  ld.param.b32 %r1, [back];
  }
  st.global.u32 [%rd1], %r1;
  ret;
}
"""


def test_each_call_has_its_own(tmp_path: Path) -> None:
    running = Running(tmp_path, _HEAD + _RECURSIVE, "k")
    y = running.put("y", np.zeros(1, np.int32))
    running.launch("k", 1, 1, y)
    assert ints(y) == [15]


def test_it_is_put_in_place_of_a_call_like_other_memory(tmp_path: Path) -> None:
    calls_nothing = re.sub(r"\{\s+\.param \.b32 given;.*?\}", "mov.u32 %r3, 7;", _RECURSIVE, count=1, flags=re.DOTALL)
    running = Running(tmp_path, _HEAD + calls_nothing, "k")
    y = running.put("y", np.zeros(1, np.int32))
    running.launch("k", 1, 1, y)
    assert ints(y) == [12]


SOURCE = """
#include <cstdarg>
__device__ __noinline__ double total(int n, ...)
{
    va_list a;
    va_start(a, n);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += i & 1 ? va_arg(a, double) : va_arg(a, int);
    va_end(a);
    return sum;
}
__device__ __noinline__ double mixed(const char* kinds, ...)
{
    va_list a, again;
    va_start(a, kinds);
    va_copy(again, a);
    double sum = 0;
    for (const char* k = kinds; *k; ++k) {
        if (*k == 'p') sum += *va_arg(a, const int*);
        if (*k == 'c') sum += va_arg(a, int);
        if (*k == 'l') sum += (double)va_arg(a, long long);
    }
    sum += *kinds == 'c' ? va_arg(again, int) : 0;
    va_end(again);
    va_end(a);
    return sum;
}
__device__ __noinline__ int down(int n, ...)
{
    va_list a;
    va_start(a, n);
    int first = va_arg(a, int), second = va_arg(a, int);
    va_end(a);
    return n == 0 ? first - second : down(n - 1, second + n, first) + 1;
}
extern "C" __global__ void variadic(const int* x, double* y)
{
    int t = threadIdx.x;
    y[8 * t] = total(4, x[t], 2.5, x[0] + 7, 3.25);
    y[8 * t + 1] = total(1, x[t]) + total(0);
    y[8 * t + 2] = mixed("cpl", (char)t, x + t, (long long)t << 40);
    y[8 * t + 3] = down(3, t, 2 * t);
    y[8 * t + 4] = __shfl_sync(~0u, x[t], 3);
}
"""


def _expected(t: int) -> list[float]:
    first, second = t, 2 * t
    for n in (3, 2, 1):
        first, second = second + n, first
    return [t + 2.5 + 7 + 3.25, t, t + t + (t << 40) + t, first - second + 3, 3, 0, 0, 0]


@pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimised", "debug"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_variadic_function_gets_all_its_arguments(arch: str, options: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    with CpuDevice(cache) as device:
        program = programs.compile(Source(str(path), arch=arch, options=options, kernels=("variadic",)))
        module = device.load(program)
        given, written = device.allocate("x", 4 * 32, itemsize=4), device.allocate("y", 8 * 256, itemsize=8)
        given.write(np.arange(32, dtype=np.int32).view(np.uint8))
        written.write(np.zeros(8 * 256, np.uint8))
        arguments = tuple(region.address.to_bytes(8, "little") for region in (given, written))
        device.launch(module, program.entries["variadic"].mangled, LaunchShape((1, 1, 1), (32, 1, 1)), arguments)
        stored = written.read().view(np.float64).reshape(32, 8)
    assert stored.tolist() == [_expected(thread) for thread in range(32)]
