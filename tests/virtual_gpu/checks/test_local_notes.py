"""Reads of local memory that was not written, each with a twin that is right."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.virtual_gpu.checks.local_notes import are_needed
from gpuregress.virtual_gpu.ptx.parser import parse
from tests.virtual_gpu.running import Running

GENERIC = "for (int k = 0; k < {}; k++) p[y[k] & 7] = y[t];"
FILLED = "for (int k = 0; k < {}; k++) a[y[k] & 7] = y[t];"
BODIES = {
    "filled": f"{FILLED.format(8)} z[t] = a[y[t] & 7];",
    "filled_wrong": f"{FILLED.format(7)} z[t] = a[y[t] & 7];",
    "behind_a_barrier": f"{FILLED.format(8)} s[t] = t; __syncthreads(); z[t] = a[y[t] & 7] + s[63 - t];",
    "behind_a_barrier_wrong": f"{FILLED.format(7)} s[t] = t; __syncthreads(); z[t] = a[y[t] & 7] + s[63 - t];",
    "of_another_thread_wrong": f"if (t == 0) {{ {FILLED.format(8)} }} z[t] = a[y[t] & 7];",
    "called": "z[t] = filled(y, t, 8) + filled(y, t, 8);",
    "called_again_wrong": "z[t] = filled(y, t, 8) + filled(y, t, 7);",
    "half_of_a_word": "short *h = (short *)a; h[y[2] & 14] = t; z[t] = a[y[1]];",
    "by_a_pointer": f"int *p = chosen(a, s, y[1]); {GENERIC.format(8)} z[t] = p[y[t] & 7];",
    "by_a_pointer_wrong": f"int *p = chosen(a, s, y[1]); {GENERIC.format(7)} z[t] = p[y[t] & 7];",
    "by_a_pointer_and_read_wrong": f"int *p = chosen(a, s, y[1]); {GENERIC.format(7)} z[t] = a[y[t] & 7];",
    "by_a_pointer_to_shared": f"s[t] = 0; int *p = chosen(a, s, y[0]); {GENERIC.format(7)} z[t] = p[y[t] & 7];",
}
CALLED = f"""__device__ __noinline__ int* chosen(int* a, int* s, int which) {{ return which ? a : s; }}
__device__ __noinline__ int filled(const int* __restrict__ y, int t, int n)
{{ int a[8]; {FILLED.format("n")} return a[y[t] & 7]; }}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = 'extern "C" __global__ void {}(int* z, const int* __restrict__ y) {{ __shared__ int s[64]; int a[8]; '
    kernels = [f"{head.format(name)} int t = threadIdx.x; {body} }}" for name, body in BODIES.items()]
    return Running(
        tmp_path_factory.mktemp("local"), CALLED + "\n".join(kernels), is_small=True, checks=("uninitialized",)
    )


@pytest.mark.parametrize("kernel", BODIES)
def test_a_read_of_unwritten_words_is_found(program: Running, kernel: str) -> None:
    z, y = program.put("z", np.zeros(64, np.int32)), program.put("y", np.arange(64, dtype=np.int32))
    messages = [finding.message for finding in program.launch(kernel, 1, 64, z, y).findings]
    assert ["`local memory[" in message for message in messages] == [True] * kernel.endswith("wrong"), messages


@pytest.mark.parametrize(("variable", "needed"), [(".local .b8 a[8];", True), (".shared .b8 a[8];", False)])
def test_local_memory_needs_notes(variable: str, *, needed: bool) -> None:
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {"
    assert are_needed(parse(f"{head} {variable} ret; }}").functions) == needed
