"""Reads of local memory that was not written, each with a twin that is right."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.devices.cpu.checks.local_notes import are_watched
from gpuregress.devices.cpu.ptx.parser import parse
from tests.devices.cpu.running import Running

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
}
CALLED = f"""__device__ __noinline__ int filled(const int* __restrict__ y, int t, int n)
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


@pytest.mark.parametrize(("store", "watched"), [("st.local.u32", True), ("ld.u32 %r0, [%a]; st.u32", False)])
def test_writes_by_generic_addresses_may_be_local(store: str, *, watched: bool) -> None:
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .reg .b64 %a; .reg .b32 %r<4>;"
    assert are_watched(parse(f"{head} {store} [%a], %r0; ret; }}").functions) == watched
