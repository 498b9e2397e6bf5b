from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from gpuregress.virtual_gpu.runtime import llvm_backend
from tests.virtual_gpu.running import Running

SOURCE = """
extern "C" __global__ void scan(const float* in, float* out) {
  __shared__ float box[64];
  box[threadIdx.x] = expf(in[threadIdx.x]);
  for (int step = 1; step < 64; step *= 2) {
    __syncthreads();
    float other = threadIdx.x >= step ? box[threadIdx.x - step] : 0.0f;
    __syncthreads();
    box[threadIdx.x] += other * 1.5f;
  }
  out[threadIdx.x] = box[threadIdx.x] + __shfl_xor_sync(~0u, box[threadIdx.x], 3);
}
"""


@pytest.fixture(scope="module")
def llvm_passes() -> None:
    """With them: they are what is tested."""


def _bits(folder: Path) -> bytes:
    run = Running(folder, SOURCE, is_small=False)
    data = run.put("in", np.linspace(-3, 3, 64, dtype=np.float32))
    out = run.put("out", np.zeros(64, np.float32))
    run.launch("scan", 1, 64, data, out)
    return out.read().tobytes()


def test_a_huge_kernel_is_not_optimised_and_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = []
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "first"))
    optimised = _bits(tmp_path)
    monkeypatch.setattr(llvm_backend, "HUGE", 1000)
    real = llvm.create_pipeline_tuning_options

    def noted(speed_level: int) -> object:
        levels.append(speed_level)
        return real(speed_level=speed_level)

    monkeypatch.setattr(llvm, "create_pipeline_tuning_options", noted)
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "second"))
    assert _bits(tmp_path) == optimised
    assert set(levels) == {0}


def test_code_that_is_not_optimised_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "first"))
    optimised = _bits(tmp_path)
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "second"))
    compile_object = llvm_backend.compile_object
    sizes = []

    def quickly(text: str, *, is_optimised: bool) -> bytes:
        assert is_optimised
        sizes.append((len(compile_object(text)), len(code := compile_object(text, is_optimised=False))))
        return code

    monkeypatch.setattr(llvm_backend, "compile_object", quickly)
    assert _bits(tmp_path) == optimised
    assert sizes
    assert all(size != quick for size, quick in sizes)
