"""Rows whose accesses are examined as a whole find the races that single accesses do, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu import module
from gpuregress.virtual_gpu.compilation import translate
from gpuregress.virtual_gpu.parallel import dependence
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.schedule.watched_rows import WatchedRow
from tests.virtual_gpu.running import Running

HEAD = (
    "__shared__ int s[256]; __shared__ int u[256]; int t = threadIdx.x, l = t + 32 * threadIdx.y;"
    " int i = blockIdx.x * 64 + l, v = t; "
)
BODIES: dict[str, tuple[str, str]] = {
    "own": ("s[l] = y[i]; z[i] = s[l] + 1;", ""),
    "reversed": ("s[l] = y[i]; __syncthreads(); z[i] = s[63 - l];", ""),
    "reversed_racy": ("s[l] = y[i]; z[i] = s[63 - l];", "`s["),
    "neighbour_racy": ("s[l] = y[i]; v = s[l + 1]; z[i] = v;", "`s["),
    "neighbours_read": ("s[l] = y[i]; __syncthreads(); if (l < 63) z[i] = s[l] + s[l + 1];", ""),
    "read_then_written_racy": ("s[l] = 1; __syncthreads(); v = s[l ^ 32]; s[l] = v; z[i] = v;", "read by"),
    "row_read_then_written_racy": ("s[l] = 1; __syncthreads(); v = s[t]; s[l] = v; z[i] = v;", "read by"),
    "broadcast_then_written_racy": ("s[l] = 1; __syncthreads(); v = s[5]; s[l] = v; z[i] = v;", "`s[5]`"),
    "broadcast": ("s[l] = 1; __syncthreads(); v = s[5]; __syncthreads(); s[l] = v; z[i] = v;", ""),
    "unwritten_racy": ("u[l] = 1; __syncthreads(); z[i] = u[l] + u[l + 64];", "`u[64]` (shared) is read and was never"),
    "unwritten_gap": ("u[2 * l] = 1; __syncthreads(); z[i] = u[2 * l];", ""),
    "all_lanes_racy": ("s[0] = t; __syncthreads(); z[i] = s[0] + l;", "(shared): write by"),
    "some_lanes": ("s[l] = 0; if (y[i] & 1) s[l] = y[0] + l; __syncthreads(); z[i] = s[63 - l];", ""),
    "two_blocks_racy": ("z[l] = i;", "in two blocks"),
    "next_racy": ("z[i] = z[i + 1];", "`z["),
    "global_unwritten_racy": ("z[i] = w[i];", "`w[0]` is read and was never written"),
    "global_written": ("w[i] = l; z[i] = w[i];", ""),
    "pairs": ("((int2*)s)[l] = make_int2(l, t); __syncthreads(); z[i] = s[2 * l + 1];", ""),
    "pairs_racy": ("((int2*)s)[l] = make_int2(l, t); z[i] = s[l];", "`s["),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = 'extern "C" __global__ void {}(int* z, const int* y, int* w) {{ ' + HEAD
    text = "\n".join(f"{head.format(name)} {body} }}" for name, (body, _) in BODIES.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_backend, "OPTIMISATION", 0)
        patch.setattr(module, "compiled", lambda *arguments, **_options: translate.compile_module(*arguments))
        checks = ("races", "uninitialized")
        return Running(tmp_path_factory.mktemp("rows"), text, is_small=False, checks=checks)


@pytest.mark.parametrize("fewest", [1, 1 << 40], ids=["proofs", "no proofs"])
@pytest.mark.parametrize("kernel", BODIES)
def test_a_race_is_found_and_its_twin_is_not(
    program: Running, kernel: str, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependence, "FEWEST_THREADS", fewest)
    z, y = program.put("z", np.zeros(256, np.int32)), program.put("y", np.arange(256, dtype=np.int32))
    w = program.device.allocate("w", 1024, itemsize=4)
    w.data[:] = 0
    messages = [finding.message for finding in program.launch(kernel, 2, (32, 2, 1), z, y, w).findings]
    assert bool(messages) == kernel.endswith("racy"), messages
    assert all(BODIES[kernel][1] in message for message in messages[:1])


def test_rows_of_most_kernels_are_examined_as_a_whole(tmp_path: Path) -> None:
    seen: list[bool] = []
    analyze = WatchedRow.analyze

    def watch(row: WatchedRow) -> bool:
        seen.append(analyze(row))
        return seen[-1]

    text = f'extern "C" __global__ void k(int* z, const int* y) {{ {HEAD} {BODIES["reversed"][0]} }}'
    text += f'extern "C" __global__ void l(int* z, const int* y) {{ {HEAD} {BODIES["some_lanes"][0]} }}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_backend, "OPTIMISATION", 0)
        patch.setattr(module, "compiled", lambda *arguments, **_options: translate.compile_module(*arguments))
        patch.setattr(WatchedRow, "analyze", watch)
        Running(tmp_path, text, is_small=False, checks=("races",))
    assert seen == [True, True, False, True]
