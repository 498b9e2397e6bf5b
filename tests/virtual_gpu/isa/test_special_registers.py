"""Special registers whose values are the virtual GPU's own: no other device need have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

FIXED = {"smid": 0, "nsmid": 1, "gridid": 0, "nwarpid": 64, "envreg3": 0, "pm0": 0, "tid.w": 0, "ntid.w": 1}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    kernels = "".join(
        f'extern "C" __global__ void at_{name.replace(".", "_")}(unsigned* out) {{ unsigned v;'
        f' asm("mov.u32 %0, %%{name};" : "=r"(v)); out[blockIdx.x * blockDim.x * blockDim.y'
        " + threadIdx.x + blockDim.x * threadIdx.y] = v; }\n"
        for name in (*FIXED, "warpid")
    )
    clocks = """extern "C" __global__ void clocks(unsigned long long* out) {
      unsigned long long a, b, c, d; unsigned e;
      asm volatile("mov.u64 %0, %%clock64;" : "=l"(a)); asm volatile("mov.u64 %0, %%clock64;" : "=l"(b));
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(c)); asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(d));
      asm volatile("mov.u32 %0, %%clock;" : "=r"(e));
      unsigned t = threadIdx.x; out[2 * t] = b - a; out[2 * t + 1] = d - c; }
    extern "C" __global__ void warps(unsigned* out) {
      unsigned w, x = 1, t = threadIdx.x + blockDim.x * threadIdx.y;
      asm("mov.u32 %0, %%warpid;" : "=r"(w));
      for (unsigned i = 0; i < w; ++i) x = x * 3 + i;
      __syncthreads();
      out[t] = x; }"""
    return Running(tmp_path_factory.mktemp("special"), kernels + clocks)


@pytest.mark.parametrize("name", FIXED)
def test_what_is_the_same_in_all_threads(program: Running, name: str) -> None:
    out = program.put("out", np.full(80, 9, np.uint32))
    program.launch(f"at_{name.replace('.', '_')}", 2, (10, 4, 1), out)
    assert out.read().view(np.uint32).tolist() == [FIXED[name]] * 80


def test_warps_are_numbered_by_the_linear_thread(program: Running) -> None:
    out = program.put("out", np.zeros(2 * 120, np.uint32))
    program.launch("at_warpid", 2, (40, 3, 1), out)
    assert out.read().view(np.uint32).tolist() == [thread // 32 for thread in range(120)] * 2


def test_what_is_kept_of_a_warps_number(program: Running) -> None:
    out, expected = program.put("out", np.zeros(160, np.uint32)), []
    for warp in range(5):
        kept = 1
        for step in range(warp):
            kept = kept * 3 + step
        expected += [kept] * 32
    program.launch("warps", 1, (40, 4, 1), out)
    assert out.read().view(np.uint32).tolist() == expected


def test_clocks_go_on(program: Running) -> None:
    out = program.put("out", np.zeros(2 * 40, np.uint64))
    program.launch("clocks", 1, 40, out)
    assert (out.read().view(np.uint64) > 0).all()
    assert (out.read().view(np.uint64) < 1000).all()


def test_the_lower_half_of_a_parameters_address_becomes_a_generic_one(tmp_path: Path) -> None:
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .align 4 .b8 values[8], .param .u64 y)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, values;
  cvt.u64.u32 %rd1, %r1;
  cvta.param.u64 %rd2, %rd1;
  ld.u32 %r2, [%rd2+4];
  ld.param.u64 %rd3, [y];
  st.global.u32 [%rd3], %r2;
  ret;
}
"""
    running = Running(tmp_path, text, "k")
    y = running.put("y", np.zeros(1, np.uint32))
    running.launch("k", 1, 1, np.array([7, 9], np.uint32).tobytes(), y)
    assert y.read().view(np.uint32).tolist() == [9]
