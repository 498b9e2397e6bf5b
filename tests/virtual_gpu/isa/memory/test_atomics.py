from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.virtual_gpu.arrays import run
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void updates(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  int t = threadIdx.x;
  atomicAdd(i, t); atomicSub(i + 1, t); atomicMin(i + 2, -t); atomicMax(i + 3, t); atomicExch(i + 4, t);
  atomicAnd(u, ~(1u << t)); atomicOr(u + 1, 1u << t); atomicXor(u + 2, 1u << t);
  u[8 + t] = atomicInc(u + 3, 9); u[40 + t] = atomicDec(u + 4, 9);
  atomicAdd(l, 1ull << t); atomicMax(l + 1, 1ull << t); atomicCAS(l + 2, (unsigned long long)t, t + 1ull);
  atomicAdd(f, 0.25f); atomicAdd(d, 0.125);
  __shared__ int box; if (t == 0) box = 0; __syncthreads();
  i[8 + t] = atomicAdd(&box, 2); __syncthreads(); i[5] = box;
}
extern "C" __global__ void tiny(float* y) {
  __shared__ float box; box = 1e-40f; y[0] = 1e-40f;
  atomicAdd(&box, 1e-40f); atomicAdd(y, 1e-40f); y[1] = box;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("atomics"), SOURCE)


def test_every_atomic(program: Running) -> None:
    i, u = program.put("i", np.zeros(40, np.int32)), program.put("u", np.zeros(72, np.uint32))
    u.write(np.array([0xFFFFFFFF], np.uint32).view(np.uint8))
    l = program.put("l", np.zeros(3, np.uint64))  # noqa: E741 - named as in the kernel
    f, d = program.put("f", np.zeros(1, np.float32)), program.put("d", np.zeros(1, np.float64))
    program.launch("updates", 1, 32, i, u, l, f, d)
    assert ints(i) == [496, -496, -31, 31, 31, 64, 0, 0, *range(0, 64, 2)]
    unsigned = u.read().view(np.uint32).tolist()
    assert unsigned[:5] == [0, 0xFFFFFFFF, 0xFFFFFFFF, 2, 8]
    assert unsigned[8:40] == [t % 10 for t in range(32)]
    assert unsigned[40:] == [(-t) % 10 for t in range(32)]
    assert l.read().view(np.uint64).tolist() == [2**32 - 1, 2**31, 32]
    assert (f.read().view(np.float32)[0], d.read().view(np.float64)[0]) == (8, 4)


def test_float_atomics_flush_in_global_memory_only(program: Running) -> None:
    y = program.put("y", np.zeros(2, np.float32))
    program.launch("tiny", 1, 1, y)
    assert y.read().view(np.float32).tolist() == [0, 2 * np.float32(1e-40)]


@pytest.mark.parametrize("form", ["max.f32", "inc.f32", "and.f64", "min.f64", "xor.f16x2"])
def test_there_are_few_operations_of_floats(form: str) -> None:
    width = 64 if form.endswith("64") else 32
    ptx = f""".version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {{
      .reg .b64 %o; .reg .b{width} %v;
      ld.param.u64 %o, [out];
      ld.global.b{width} %v, [%o];
      red.global.{form} [%o], %v;
      ret;
    }}"""
    with pytest.raises(UnsupportedError, match=f"red.global.{form} at PTX line 8 .* no such operation of"):
        run(ptx, "k", (1, 1, 1), (1, 1, 1), [np.zeros(1)])
