"""Notes on the first run of kernels that update their results by atomic operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Case, Program
from gpuregress.jobs import plan
from gpuregress.judge import atomic_updates
from gpuregress.store import project
from gpuregress.toolchain import programs
from tests import workshop
from tests.workshop import RUN, Workshop

KERNELS = """
#include <cuda_fp16.h>
struct Where { float *out; int n; };
extern "C" {
__global__ void sums(float *out, const float *x, int n) { atomicAdd(&out[threadIdx.x % 4], x[threadIdx.x]); }
__global__ void halves(__half2 *out, const float *x, int n) { atomicAdd(&out[0], __float2half2_rn(x[threadIdx.x])); }
__global__ void counts(int *out, const float *x, int n) { atomicAdd(&out[x[threadIdx.x] > 1], 1); }
__global__ void largest(int *out, const float *x, int n) { atomicMax(&out[0], int(x[threadIdx.x])); }
__global__ void last(float *out, const float *x, int n) { atomicExch(&out[threadIdx.x % 4], x[threadIdx.x]); }
__global__ void clear(float *out, const float *x, int n) { out[threadIdx.x % 4] = 0; }
__global__ void copies(float *out, const float *x, int n)
{ out[threadIdx.x % 4] = 0; __syncthreads(); atomicAdd(&out[0], x[threadIdx.x]); }
__global__ void in_shared(float *out, const float *x, int n)
{
    __shared__ float sum;
    sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x % 4] = sum;
}
__global__ void packed(Where w, const float *x, int n) { atomicAdd(w.out, x[0]); }
}
"""
JOB = """\
source: ../kernels/atomics.cu
buffers:
  x: {dtype: float32, shape: [32], fill: arange}
  out: {dtype: DTYPE, shape: [4]FILL}
launches:
LAUNCHES
dump: [out]
MORE
"""


def planned(root: Path, *kernels: str, dtype: str = "float32", fill: str = "", more: str = "") -> Case:
    shop = Workshop(root)
    shop.write("kernels/atomics.cu", KERNELS)
    lines = []
    for kernel in kernels:
        out = "{struct: [out, {int32: 4}]}" if kernel == "packed" else "out"
        lines.append(f"  - {{kernel: {kernel}, grid: [1], block: [32], args: [{out}, x, {{int32: 32}}]}}")
    text = JOB.replace("DTYPE", dtype).replace("FILL", fill).replace("MORE", more)
    shop.write("configs/atomics.yaml", text.replace("LAUNCHES", "\n".join(lines)))
    (case,) = plan.make(project.find(root), ["atomics"]).cases
    return case


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """All kernels in one program, so that they are compiled once."""
    names = ("sums", "halves", "counts", "largest", "last", "clear", "copies", "in_shared", "packed")
    return programs.compile(planned(tmp_path_factory.mktemp("atomics"), *names).source)


FILLED = ", fill: zeros"
FLOATS = "adds floats to it by atomic operations, in no fixed order on a GPU"
UNFILLED = "write `fill: zeros` for out, and `dump: [out]` if no other key names it"


@pytest.mark.parametrize(
    ("kernels", "dtype", "expected"),
    [
        (("sums",), "float32", [UNFILLED, FLOATS]),
        (("halves",), "half2", [UNFILLED, FLOATS]),
        (("counts",), "int32", [UNFILLED]),
        (("largest",), "int32", [UNFILLED]),
        (("clear", "sums"), "float32", [FLOATS]),
        (("sums", "clear"), "float32", [UNFILLED, FLOATS]),
        (("copies",), "float32", [FLOATS]),
        (("last",), "float32", []),
        (("in_shared",), "float32", []),
        (("packed",), "float32", []),
    ],
)
def test_what_is_said_depends_on_what_the_kernels_do(
    tmp_path: Path, program: Program, kernels: tuple[str, ...], dtype: str, expected: list[str]
) -> None:
    remarks = atomic_updates.remarks(planned(tmp_path, *kernels, dtype=dtype), [program])
    assert len(remarks) == len(expected)
    for remark, part in zip(remarks, expected, strict=True):
        assert part in remark
    filled = atomic_updates.remarks(planned(tmp_path, *kernels, dtype=dtype, fill=FILLED), [program])
    assert filled == tuple(remark for remark in remarks if FLOATS in remark)


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("compare: {out: {rtol: 1e-5}}", 0),
        ("compare: {out: {order: any}}", 0),
        ("compare: {out: {nan: never}}", 1),
        ("schedules: 4", 0),
        ("expect: {fault: trap}", 0),
    ],
)
def test_a_job_that_knows_of_the_order_is_not_told(tmp_path: Path, program: Program, more: str, count: int) -> None:
    assert len(atomic_updates.remarks(planned(tmp_path, "sums", fill=FILLED, more=more), [program])) == count


def test_the_first_run_tells_once_and_later_ones_do_not(shop: Workshop) -> None:
    shop.write("kernels/scale.cu", workshop.KERNEL.replace("out[i] = a * x[i]", "atomicAdd(&out[0], a * x[i])"))
    shop.job(("shape: [n]}\nlaunches", "shape: [n], fill: zeros}\ndump: [out]\nlaunches"), ("n: [100]", "n: [100, 50]"))
    assert shop.call(*RUN).stdout.count(f"note: scale: out: scale {FLOATS}") == 1
    assert shop.call("accept").exit_code == 0
    assert FLOATS not in shop.call(*RUN).stdout
    shop.job(("shape: [n]}\nlaunches", "shape: [n]}\ndump: [out]\nlaunches"))
    unwritten = shop.call(*RUN, "--check", "uninitialized")
    assert "fault    scale/n=100" in unwritten.stdout
    assert UNFILLED in unwritten.stdout
