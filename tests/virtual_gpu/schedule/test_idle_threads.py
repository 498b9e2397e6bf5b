"""Threads that have nothing to do until the next barrier are left out, with the same bytes and counts."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu import module
from gpuregress.virtual_gpu.compilation import translate
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime.program import Schedule
from gpuregress.virtual_gpu.schedule import idle_threads, lockstep
from tests.virtual_gpu.running import Running, ptx_of

SOURCE = """
extern "C" __global__ void k(int* y, int n, int a) {{
  __shared__ int box[256];
  const int t = threadIdx.x, row = threadIdx.y;
  int own = t * a;
  box[t + blockDim.x * row] = t * 3 + a;
  __syncthreads();
  {body}
  __syncthreads();
  atomicAdd(&y[t + blockDim.x * row], box[t + blockDim.x * row] + own);
}}
"""
TREE = "for (int h = blockDim.x / 2; h > 0; h /= 2) { if (t < h) box[t] += box[t + h]; __syncthreads(); }"


def _edges(body: str) -> int:
    """The number of edges behind which threads are idle."""
    total = 0
    search = idle_threads.idle_edges

    def watch(*arguments: object) -> set[tuple[int, int]]:
        nonlocal total
        found = search(*arguments)  # type: ignore[arg-type]  # handed through
        total += len(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockstep, "idle_edges", watch)
        translate.translate(parse(ptx_of(SOURCE.format(body=body))), ["k"])
    return total


IDLE = [
    TREE,
    "if (t < n) box[t] = y[box[t]];",
    "if (n > t) box[t] = y[box[t]];",
    "if (t == 0) box[t] = y[box[5]];",
    "if (!(t >= n)) box[t] = y[box[t]];",
    "if (t <= a) box[t] = y[box[t]];",
]
BUSY = [
    "if (t > n) box[t] = y[box[t]];",  # the threads before are idle, not those behind
    "if (t != n) box[t] = y[box[t]];",
    "if (t == n) box[t] = y[box[t]];",
    "if (t % 3 < n) box[t] = y[box[t]];",
    "if (t < own) box[t] = y[box[t]];",
    "if (t < n) box[t] = y[box[t]]; else box[t] = 7;",
    "if (t < n) own = y[box[t]]; ",  # each thread keeps a value of its own
    "box[t] ^= y[n]; if (t < n) box[t] = y[box[t]];",
    "if (n > 5) box[t] ^= y[a & 7]; if (t < n) box[t] = y[box[t]];",
    "if (t < n) box[t] = y[box[t]]; y[100 + t] = row;",
]


@pytest.mark.parametrize("body", IDLE)
def test_guards_with_idle_threads(body: str) -> None:
    assert _edges(body)


@pytest.mark.parametrize("body", BUSY)
def test_guards_without(body: str) -> None:
    assert not _edges(body)


def test_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [SOURCE.format(body=body).replace(" k(", f" k{number}(") for number, body in enumerate([*IDLE, *BUSY])]
    monkeypatch.setattr(
        module, "compiled", lambda text, kernels, _, **_options: translate.compile_module(text, kernels, Schedule())
    )
    outcomes = []
    for search in (idle_threads.idle_edges, lambda *_: set[tuple[int, int]]()):
        monkeypatch.setattr(lockstep, "idle_edges", search)
        running = Running(tmp_path, "".join(kernels), is_small=False)
        results: list[object] = []
        for number, block in itertools.product(range(len(kernels)), [(64, 1, 1), (20, 3, 1)]):
            for n, a in ((0, 1), (7, 5), (1000, -3), (-1, 3)):
                data = running.put("y", np.arange(5000, dtype=np.int32) % 50)
                report = running.launch(f"k{number}", (2, 1, 1), block, data, np.int32(max(n, 0)), np.int32(abs(a)))
                results.append((report.instructions, data.read().tobytes()))
        outcomes.append(results)
    assert outcomes[0] == outcomes[1]
