"""The program's own variables count as the case's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.workshop import Workshop

KERNEL = """// $Revision: 1.0 $
__device__ char big[3000];
__constant__ float taps[4];
extern "C" __global__ void k(float *y) { y[0] = big[threadIdx.x] + taps[threadIdx.x]; }
"""
JOB = """source: ../kernels/k.cu
buffers:
  y: {{dtype: float32, shape: [250]}}
  taps: {{dtype: float32, shape: [4], fill: ones, symbol: taps}}
launches:
  - {{kernel: k, grid: [1], block: [1], args: [y]}}
limits: {{memory: {memory}}}
"""


@pytest.mark.parametrize(("memory", "fits"), [(4016, True), (4015, False)])
def test_variables_and_buffers_together(tmp_path: Path, memory: int, fits: bool) -> None:  # noqa: FBT001 - of a table
    shop = Workshop(tmp_path)
    shop.write("kernels/k.cu", KERNEL)
    shop.write("configs/k.yaml", JOB.format(memory=memory))
    said = shop.call("run", "--device", "cpu")
    assert said.exit_code == (1 if fits else 2)
    if not fits:
        words = "k.yaml:1: source: its variables take 3016 bytes, the buffers 1000 bytes: more than the limit of 4015"
        assert words in said.stderr
        assert not (shop.root / "runs/latest").exists()
