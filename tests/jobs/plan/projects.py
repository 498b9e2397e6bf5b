"""Small projects to plan in."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.store.project import Project, find

SOURCE = """__device__ int d_status[2];
__constant__ float d_filter[17];
template <typename T>
__global__ void block_sum(T* sum, const T* x, int n)
{
    if (threadIdx.x == 0) sum[blockIdx.x] = x[0] * d_filter[0] + n;
}
"""
JOB = """source: ../kernels/reduce.cu
parameters:
  n: [1000, 65536]
  tile: [128, 256]
buffers:
  x:   {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}
  sum: {dtype: float32, shape: [ceil(n / tile)]}
launches:
  - kernel: block_sum<float>
    grid: [ceil(n / tile)]
    block: [tile]
    shared: 4 * tile
    args: [sum, x, {int32: n}]
"""
FULL = (
    JOB
    + """
compile:
  options: [-lineinfo]
  include: [../kernels/include]
  defines: {TILE: tile, HALF: n / 2, REAL: {text: float}, ON: }
seed: 42
where: [tile <= n, not (n > 1000 and tile == 256)]
compare: {sum: {rtol: 1.0e-5}}
checks: {sum: [finite, {nonzero: 8}, {range: [-1.0e3, .inf]}, {sum: {value: n, rtol: 1e-3}}]}
status: d_status
reference: {sum: "../configs/reference.py:block_sums"}
verify: {sum: "reference.py:totals_agree"}
repeat: 3
limits: {timeout: 2min, memory: 4GiB}
tags: [quick, 1.10]
expect: {fault: out-of-bounds}
timing: {warmup: 1, samples: 5, limit: 1.1}
resources: {registers: 64, spills: 0}
"""
)
REFERENCE = (
    "def block_sums(inputs, case):\n    return None\n\n\ndef totals_agree(expected, actual, case):\n    return True\n"
)


def project(root: Path, **jobs: str) -> Project:
    """A project in `root` with these jobs (file name without .yaml → text)."""
    (root / "configs").mkdir(parents=True)
    (root / "kernels" / "include").mkdir(parents=True)
    (root / "kernels" / "reduce.cu").write_text(SOURCE)
    (root / "configs" / "reference.py").write_text(REFERENCE)
    (root / "configs" / "eight.bin").write_bytes(bytes(8))
    for name, text in jobs.items():
        (root / "configs" / f"{name}.yaml").write_text(text)
    return find(root)


def only(of: Project, *selectors: str) -> Case:
    """Return the one case that the selectors choose."""
    (case,) = plan.make(of, selectors).cases
    return case
