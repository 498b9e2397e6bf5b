"""Races and unwritten bytes in memory from malloc; an allocation begins a new history."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.virtual_gpu.checks.heap_cells import allocates
from gpuregress.virtual_gpu.ptx.parser import parse
from tests.virtual_gpu.running import Running

_BODIES = {
    "shared": "__shared__ int* p; if (!t) p = (int*)malloc(256); __syncthreads(); p[t] = t; __syncthreads();"
    " y[t] = p[63 - t];",
    "shared_racy": "__shared__ int* p; if (!t) p = (int*)malloc(256); __syncthreads(); p[t] = t; y[t] = p[t ^ 32];",
    "again": "if (t == n) for (int k = 0; k < 99; ++k) { int* p = (int*)malloc(64); if (k < 60 || k % 8) p[n + 2] = k;"
    " y[k & 7] = p[k < 60 ? 3 : n + 2]; free(p); }",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    kernels = (
        f'extern "C" __global__ void {name}(int* y, int n) {{\nint t = threadIdx.x; {body} }}\n'
        for name, body in _BODIES.items()
    )
    folder = tmp_path_factory.mktemp("heap")
    return Running(folder, "".join(kernels), is_small=True, checks=("races", "uninitialized"))


@pytest.mark.parametrize("kernel", ["shared", "shared_racy"])
def test_warps_that_share_an_allocation(program: Running, kernel: str) -> None:
    report = program.launch(kernel, 1, 64, program.put("y", np.zeros(64, np.int32)), np.int32(1))
    races = [item.message for item in report.findings if item.kind == "race"]
    assert bool(races) == kernel.endswith("racy")
    assert all("malloc'ed memory[" in text and "(heap; allocated at k.cu:" in text for text in races)
    assert not report.unwatched


def test_memory_that_is_given_out_again_is_unwritten(program: Running) -> None:
    program.device.limit_heap(256)
    report = program.launch("again", 1, 1, program.put("y", np.zeros(64, np.int32)), np.int32(0))
    assert [(item.kind, item.location) for item in report.findings] == [("uninitialized", "k.cu:6")]
    # Of an element that nobody writes, and of one that was written only before its memory was freed.
    assert report.findings[0].count == 60 + sum(k % 8 == 0 for k in range(60, 99))


@pytest.mark.parametrize(("name", "answer"), [("malloc", True), ("free", False)])
def test_programs_that_allocate(name: str, *, answer: bool) -> None:
    text = f"""
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) {name}(.param .b64 a);
.visible .entry k() {{
  {{ .param .b64 a; .param .b64 r; call.uni (r), {name}, (a); }}
  ret;
}}
"""
    assert allocates(list(parse(text).functions)) == answer
