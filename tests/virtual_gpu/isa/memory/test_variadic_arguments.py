"""C's variadic functions: va_start, va_arg, va_copy, in place of their calls, recursive, and in debug builds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress import toolchain
from gpuregress.foundation.records import LaunchShape, Source
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.device import CpuDevice

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
        program = toolchain.compile(Source(str(path), arch=arch, options=options, kernels=("variadic",)))
        module = device.load(program)
        given, written = device.allocate("x", 4 * 32, itemsize=4), device.allocate("y", 8 * 256, itemsize=8)
        given.write(np.arange(32, dtype=np.int32).view(np.uint8))
        written.write(np.zeros(8 * 256, np.uint8))
        arguments = tuple(region.address.to_bytes(8, "little") for region in (given, written))
        device.launch(module, program.entries["variadic"].mangled, LaunchShape((1, 1, 1), (32, 1, 1)), arguments)
        stored = written.read().view(np.float64).reshape(32, 8)
    assert stored.tolist() == [_expected(thread) for thread in range(32)]
