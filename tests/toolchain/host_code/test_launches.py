from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.host_code import launches
from gpuregress.toolchain.host_code.launches import HostCall, HostFunction, HostLaunch, HostParameter, HostVariable

SOURCE = """\
#include <cstdio>
#define N 1024
const int threads = 256;
template <typename T> __global__ void scale(T* x, int n) { x[threadIdx.x] = helper(n); }
#ifdef WIDE
void run(float* x) { scale<float><<<1, threads>>>(x, N); }
#else
static void run(float* x, int n = 3)
{
    float *d_x = (float*)malloc(n * sizeof(float)), y[4] = {1, 2};
    dim3 grid((n + threads - 1) / threads,  // blocks
              2);
    cudaMalloc((void**)&d_x, n * 4);
    n = 5;
    a::scale<float><<<grid, threads, 16, 0>>>(d_x, n);
}
#endif
"""


def test_what_host_code_says() -> None:
    code = launches.read(SOURCE)
    assert code.functions == (
        HostFunction("run", (HostParameter("float*", "x"),), 6, 6),
        HostFunction("run", (HostParameter("float*", "x"), HostParameter("int", "n", "3")), 8, 16),
    )
    assert code.launches == (
        HostLaunch("scale<float>", ("1", "threads"), ("x", "N"), "run", 6),
        HostLaunch("a::scale<float>", ("grid", "threads", "16", "0"), ("d_x", "n"), "run", 15),
    )
    assert HostCall("malloc", ("n * sizeof(float)",), "d_x", "run", 10) in code.calls
    assert HostCall("cudaMalloc", ("(void**)&d_x", "n * 4"), "", "run", 13) in code.calls
    assert code.variables == (
        HostVariable("threads", "const int", "256", "", 3),
        HostVariable("d_x", "float*", "(float*)malloc(n * sizeof(float))", "run", 10),
        HostVariable("y", "float[4]", "{1, 2}", "run", 10),
        HostVariable("grid", "dim3", "((n + threads - 1) / threads, 2)", "run", 11),
        HostVariable("n", "", "5", "run", 14),
    )
    assert code.macros["N"][0].body == "1024"


@given(st.text(alphabet="void k(){}<>;,=#if\nelse\"'1", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    launches.read(text)
