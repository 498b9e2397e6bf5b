"""A `__constant__` variable that a kernel reads and no buffer fills is told once for a job."""

from __future__ import annotations

from pathlib import Path

from tests.cli.workshop import Workshop

KERNEL = """// $Revision: 1.0 $
__constant__ float taps[4];
__constant__ float scale;
__constant__ float set = 2;
extern "C" __global__ void k(float *y) { y[threadIdx.x] = taps[threadIdx.x] + set * scale; }
extern "C" __global__ void plain(float *y) { y[threadIdx.x] = 1; }
"""
JOB = """source: ../kernels/k.cu
parameters: {n: [1, 2, 4]}
buffers:
  y: {dtype: float32, shape: [n]}
  taps: {dtype: float32, shape: [4], fill: ones, symbol: taps}
launches:
  - {kernel: k, grid: [1], block: [n], args: [y]}
  - {kernel: k, grid: [1], block: [n], args: [y]}
"""


def test_it_is_told_once_for_a_job(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/k.cu", KERNEL)
    shop.write("configs/k.yaml", JOB)
    shop.write("configs/plain.yaml", JOB.replace("kernel: k,", "kernel: plain,"))
    said = shop.call("run", "--device", "cpu")
    assert said.exit_code == 1  # there is no baseline
    notes = [line for line in said.stdout.splitlines() if "__constant__" in line]
    assert notes == ["note: k: no buffer fills the __constant__ variable scale, which k reads: it is zero"]
    shop.write(
        "configs/k.yaml",
        JOB.replace("launches:", "  s: {dtype: float32, shape: [1], fill: ones, symbol: scale}\nlaunches:"),
    )
    assert "__constant__" not in shop.call("run", "--device", "cpu").stdout
