"""Parameter spaces from end to end on the CPU device: types, text, infeasible combinations, agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import workshop
from tests.workshop import RUN, Workshop

TYPED = """\
template <typename R>
__global__ void axpy(R *y, const R *x, R a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
TYPED_JOB = """\
source: ../kernels/{file}.cu
parameters:
  real: [float, unsigned long long]
  file: [axpy]
  block: [32, 64]
  fast: [true, false]
where: [real == "float" or not fast]
compile: {defines: [block, fast, {REAL: "{real}"}]}
buffers:
  x: {dtype: "{real}", shape: [100], fill: arange}
  y: {dtype: "{real}", shape: [100], fill: ones}
launches:
  - {kernel: "axpy<{real}>", grid: [ceil(100 / block)], block: [block], args: [y, x, {"{real}": 2}, {int32: 100}]}
reference: {y: "expected_{real}.py:of_{file}"}
dump: [y]
"""
EXPECTED = "def of_axpy(inputs, case):\n    return inputs['y'] + 2 * inputs['x']\n"
GUARDED = """\
static_assert(TILE <= 4, "TILE is too large");
__shared__ float static_tile[KIB * 256];
extern "C" __global__ void __launch_bounds__(BOUND) scale(float *out, const float *x, int n)
{
    static_tile[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i] + static_tile[threadIdx.x];
}
"""
GUARDED_JOB = """\
source: ../kernels/guarded.cu
parameters: {TILE: [8, 2], KIB: [32, 64], BOUND: [256], block: [64, 512, 2048]}
infeasible: skip
compile: {defines: all}
buffers:
  x: {dtype: float32, shape: [100], fill: arange}
  out: {dtype: float32, shape: [100]}
launches:
  - {kernel: scale, grid: [2], block: [block], args: [out, x, {int32: 100}]}
reference: {out: expected.py:doubled}
"""
DOUBLED = "def doubled(inputs, case):\n    return 2 * inputs['x']\n"
REGISTERS = """\
extern "C" __global__ void registers(float *out, const float *x, int n)
{
    float v[120], sum = 0;
#pragma unroll
    for (int k = 0; k < 120; ++k) v[k] = x[(threadIdx.x + k * 7) % n];
    __syncthreads();
#pragma unroll
    for (int k = 119; k >= 0; --k) sum = sum * v[k] + v[(k * 37) % 120];
    out[threadIdx.x] = sum;
}
"""
REGISTERS_JOB = """\
source: ../kernels/registers.cu
parameters: {block: [64, 1024]}
infeasible: skip
buffers:
  x: {dtype: float32, shape: [1000], fill: {value: 0.5}}
  out: {dtype: float32, shape: [block]}
launches:
  - {kernel: registers, grid: [1], block: [block], args: [out, x, {int32: 1000}]}
"""
SUMS = """\
// $Revision: 1.1 $
extern "C" __global__ void sums(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + (BUG == blockDim.x && i == 70 ? 1 : 0);
}
"""
SUMS_JOB = """\
source: ../kernels/sums.cu
parameters: {n: [100], block: [32, 64, 128]}
compile: {defines: {BUG: 64}}
agree: [block]
buffers:
  x: {dtype: float32, shape: [n], fill: {normal: {}}}
  out: {dtype: float32, shape: [n]}
launches:
  - {kernel: sums, grid: [ceil(n / block)], block: [block], args: [out, x, {int32: n}]}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = workshop.make(tmp_path)
    (tmp_path / "configs" / "scale.yaml").unlink()
    return made


def verdicts(shop: Workshop) -> dict[str, dict[str, Any]]:
    document: Any = workshop.results(shop)
    return {case["case"].partition("/")[2]: case for case in document["cases"]}


def test_other_values_of_the_command_line_are_compared_with_a_case_of_the_job(shop: Workshop) -> None:
    space = ("n: [100]", "n: [100]\n  block: [32, 64]\nagree: [block]")
    shop.job(space, ("block: [32]\n    args", "block: [block]\n    args"))
    shop.write("kernels/scale.cu", workshop.KERNEL.replace("a * x[i]", "a * x[i] + (blockDim.x == 96)"))
    run = shop.call(*RUN, "scale", "--set", "block=[96, 128]")
    assert run.exit_code == 1, run.output
    assert run.stdout.count("pass ") == 2
    assert "out: agree: 100 of 100 differ from block=32, a case of the job" in run.stdout
    assert "to run it again: gpuregress run scale/n=100,block=96 --set block=96\n" in run.stdout
    shop.write("kernels/scale.cu", workshop.KERNEL)
    again = shop.call(*RUN, "--rerun-failed")
    assert again.exit_code == 0, again.output
    assert {case["case"] for case in workshop.results(shop)["cases"]} == {  # type: ignore[attr-defined]
        f"scale/n=100,block={block}" for block in (32, 96, 128)
    }


def test_parameters_of_every_kind(shop: Workshop) -> None:
    shop.write("kernels/axpy.cu", TYPED)
    shop.write("configs/axpy.yaml", TYPED_JOB)
    for real in ("float", "unsigned long long"):
        shop.write(f"configs/expected_{real}.py", EXPECTED)
    result = shop.call(*RUN)
    assert result.exit_code == 0, result.output
    assert list(verdicts(shop)) == [
        "real=float,file=axpy,block=32,fast=true",
        "real=float,file=axpy,block=32,fast=false",
        "real=float,file=axpy,block=64,fast=true",
        "real=float,file=axpy,block=64,fast=false",
        "real=unsigned_long_long,file=axpy,block=32,fast=false",
        "real=unsigned_long_long,file=axpy,block=64,fast=false",
    ]
    assert (shop.root / "runs/latest/dumps/axpy/real=unsigned_long_long,file=axpy,block=32,fast=false").is_dir()
    one = shop.call(*RUN, "axpy/*real=unsigned_long_long*block=64*")
    assert one.exit_code == 0
    assert "1 case" in one.stdout


@pytest.fixture(
    params=["cpu", pytest.param("cuda:0", marks=[pytest.mark.gpu, pytest.mark.card("what its assembler refuses")])]
)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_infeasible_combinations_are_skipped_and_counted(shop: Workshop, device: str) -> None:
    shop.write("kernels/guarded.cu", GUARDED)
    shop.write("configs/guarded.yaml", GUARDED_JOB)
    shop.write("configs/expected.py", DOUBLED)
    result = shop.call("run", "--device", device, "--jobs", "1")
    assert result.exit_code == 0, result.output
    reasons = {name: (case["verdict"], case["reason"]) for name, case in verdicts(shop).items()}
    feasible = reasons.pop("TILE=2,KIB=32,BOUND=256,block=64")
    assert feasible == ("pass", "")
    assert {status for status, _ in reasons.values()} == {"skip"}
    assert "2048 has 2048 threads" in reasons["TILE=8,KIB=32,BOUND=256,block=2048"][1].replace(" x 1", "")
    assert 'static assertion failed with "TILE is too large"' in reasons["TILE=8,KIB=64,BOUND=256,block=64"][1]
    shared = {"cpu": "static shared memory", "cuda:0": "too much shared data"}[device]
    assert shared in reasons["TILE=2,KIB=64,BOUND=256,block=64"][1]
    assert "__launch_bounds__" in reasons["TILE=2,KIB=32,BOUND=256,block=512"][1]
    lines = [line for line in result.stdout.splitlines() if line.startswith("infeasible: ")]
    assert len(lines) == 1
    assert "11 of 12 cases were skipped" in lines[0]
    listed = shop.call("list").stdout
    assert listed.count("infeasible: launches[0].block: 2048 x 1 x 1 has 2048 threads") == 4
    assert "1 job, 12 cases, 8 of them infeasible: no errors" in shop.call("check").stdout
    assert "(4 more are infeasible)" in shop.call("build", "--ptx-only").stdout


def test_a_block_that_needs_too_many_registers_is_infeasible(shop: Workshop, device: str) -> None:
    shop.write("kernels/registers.cu", REGISTERS)
    shop.write("configs/registers.yaml", REGISTERS_JOB)
    shop.call("run", "--device", device, "--jobs", "1")
    judged = {name: (case["verdict"], case["reason"]) for name, case in verdicts(shop).items()}
    assert judged["block=64"] == ("new", "no baseline yet")
    assert judged["block=1024"][0] == "skip"
    assert "registers" in judged["block=1024"][1]


def test_without_the_key_they_are_errors(shop: Workshop) -> None:
    shop.write("kernels/guarded.cu", GUARDED)
    shop.write("configs/expected.py", DOUBLED)
    plain = GUARDED_JOB.replace("infeasible: skip\n", "")
    shop.write("configs/guarded.yaml", plain)
    assert "2048 x 1 x 1 has 2048 threads" in shop.fails(2, *RUN)
    shop.write("configs/guarded.yaml", plain.replace(", 2048]", "]"))
    result = shop.call(*RUN)
    assert result.exit_code == 4
    assert "7 error" in result.stdout


def test_a_run_of_infeasible_cases_alone_is_no_success(shop: Workshop) -> None:
    shop.write("kernels/guarded.cu", GUARDED)
    shop.write("configs/expected.py", DOUBLED)
    shop.write("configs/guarded.yaml", GUARDED_JOB.replace("TILE: [8, 2]", "TILE: [8]"))
    result = shop.call(*RUN)
    assert result.exit_code == 5
    assert "guarded: all of its 6 cases are infeasible: nothing of it was run" in result.stdout


def test_an_error_of_the_source_stays_one(shop: Workshop) -> None:
    shop.write("kernels/guarded.cu", GUARDED.replace("2 * x[i]", "twice(x[i])"))
    shop.write("configs/expected.py", DOUBLED)
    shop.write("configs/guarded.yaml", GUARDED_JOB.replace("TILE: [8, 2]", "TILE: [2]"))
    result = shop.call(*RUN)
    assert result.exit_code == 3
    assert "twice" in result.output


def test_a_case_with_a_baseline_is_not_skipped(shop: Workshop) -> None:
    shop.write("kernels/guarded.cu", GUARDED)
    shop.write("configs/expected.py", DOUBLED)
    job = GUARDED_JOB.replace("TILE: [8, 2], KIB: [32, 64]", "TILE: [2], KIB: [32]").replace("64, 512, 2048", "64")
    shop.write("configs/guarded.yaml", job)
    shop.call(*RUN)
    assert shop.call("accept").exit_code == 0
    shop.write("kernels/guarded.cu", GUARDED.replace("TILE <= 4", "TILE <= 1"))
    result = shop.call(*RUN)
    assert result.exit_code == 4
    assert "infeasible: kernels/guarded.cu:1" in result.stdout.replace(str(shop.root) + "/", "")
    assert "it ran when" in result.stdout


def test_the_odd_one_out_of_a_group_is_named(shop: Workshop) -> None:
    shop.write("kernels/sums.cu", SUMS)
    shop.write("configs/sums.yaml", SUMS_JOB)
    result = shop.call(*RUN)
    assert result.exit_code == 1
    judged = {name: (case["verdict"], case["reason"]) for name, case in verdicts(shop).items()}
    assert judged == {
        "n=100,block=32": ("pass", ""),
        "n=100,block=64": (
            "differ",
            "out: agree: 1 of 100 differ from block=32, whose result 2 of 3 cases have",
        ),
        "n=100,block=128": ("pass", ""),
    }
    assert "as its group, without a baseline" in result.stdout
    shop.write("kernels/sums.cu", SUMS.replace("? 1 : 0", "? 0 : 0"))
    again = shop.call(*RUN, "--rerun-failed")
    assert again.exit_code == 0, again.output  # with the cases that it was compared with
    assert "3 cases" in again.stdout
    alone = shop.call(*RUN, "sums/n=100,block=32")
    assert alone.exit_code == 1
    assert "nothing to agree with: it is alone in this run" in alone.stdout
