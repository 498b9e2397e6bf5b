"""Inputs that a kernel overwrites, on the CPU device: real kernels, whose PTX and signatures decide."""

from __future__ import annotations

import json

import pytest

from tests.workshop import Workshop

RUN = ("run", "--device", "cpu", "--jobs", "2")
KERNELS = """
__device__ float spread[64];
__constant__ float taps[64];
typedef float *plain;
extern "C" {
__global__ void castaway(float *out, const float *x) { out[threadIdx.x] = x[threadIdx.x]; ((float *)x)[5] = 7; }
__global__ void postfix(float *out, float const *__restrict__ x) { out[threadIdx.x] = 1; ((float *)x)[5] = 7; }
__global__ void constants(float *out, float *const x) { out[threadIdx.x] = x[threadIdx.x]; x[5] = 7; }
__global__ void scratch(float *out, float *x) { out[threadIdx.x] = x[threadIdx.x]; x[5] = 7; }
__global__ void copy(float *out, const float *x) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void smooth(float *out) { out[threadIdx.x] = spread[threadIdx.x]; spread[5] = 7; }
}
"""
JOB = """\
source: ../kernels/inputs.cu
buffers:
  x: {{dtype: float32, shape: [64], fill: arange{symbol}}}
  out: {{dtype: float32, shape: [64]{fill}}}
launches:
{launches}
{more}
"""


def job(shop: Workshop, name: str, *launches: str, more: str = "", symbol: str = "", fill: str = "") -> None:
    lines = "\n".join(f"  - {{{launch}, grid: [1], block: [64]}}" for launch in launches)
    shop.write(f"configs/{name}.yaml", JOB.format(launches=lines, more=more, symbol=symbol, fill=fill))


@pytest.fixture(scope="module")
def reasons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Job → its verdict and reason; all in one run."""
    shop = Workshop(tmp_path_factory.mktemp("inputs"))
    shop.write("kernels/inputs.cu", KERNELS)
    for kernel in ("castaway", "postfix", "constants", "scratch", "copy"):
        job(shop, kernel, f"kernel: {kernel}, args: [out, x]")
    job(shop, "asked", "kernel: scratch, args: [out, x]", more="inputs: unchanged")
    job(shop, "dumped", "kernel: scratch, args: [out, x]", more="inputs: unchanged\ndump: [out, x]")
    job(shop, "const_and_dumped", "kernel: castaway, args: [out, x]", more="dump: [out, x]")
    job(shop, "kept", "kernel: copy, args: [out, x]", more="inputs: unchanged")
    job(shop, "swapped", "kernel: castaway, args: [out, x], swap: [[x, out]]", fill=", fill: ones", more="dump: [out]")
    job(shop, "both", "kernel: copy, args: [out, x]", "kernel: scratch, args: [out, x]")
    job(shop, "aliased", "kernel: copy, args: [x, x]", "kernel: copy, args: [out, x]", more="dump: [out]")
    job(shop, "device_variable", "kernel: smooth, args: [out]", symbol=", symbol: spread")
    job(shop, "asked_variable", "kernel: smooth, args: [out]", symbol=", symbol: spread", more="inputs: unchanged")
    job(shop, "again", "kernel: castaway, args: [out, x]", more="repeat: 3")
    job(shop, "timed", "kernel: castaway, args: [out, x]", more="timing: {warmup: 1, samples: 2}")
    shop.call(*RUN)
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["job"]: f"{case['verdict']}: {case['reason']}" for case in document["cases"]}


@pytest.mark.parametrize("name", ["castaway", "postfix", "const_and_dumped", "again", "timed"])
def test_a_write_through_a_pointer_to_const_differs(reasons: dict[str, str], name: str) -> None:
    assert reasons[name].startswith("differ: x: inputs: 1 of 64 elements of this input were overwritten")
    assert "the first [5]: 7.0, was 5.0; its parameter is a pointer to const" in reasons[name]


def test_the_launch_is_named(reasons: dict[str, str]) -> None:
    assert "(launch 1: castaway)" in reasons["castaway"]


def test_memory_is_followed_not_its_name(reasons: dict[str, str]) -> None:
    assert "x: inputs: 1 of 64" in reasons["swapped"]


@pytest.mark.parametrize("name", ["asked", "asked_variable"])
def test_a_job_can_ask_for_all_inputs(reasons: dict[str, str], name: str) -> None:
    assert "x: inputs: 1 of 64" in reasons[name]
    assert "the job says `inputs: unchanged`" in reasons[name]


@pytest.mark.parametrize("name", ["constants", "scratch", "copy", "dumped", "kept", "both", "device_variable"])
def test_what_a_kernel_may_write_is_no_difference(reasons: dict[str, str], name: str) -> None:
    assert reasons[name].startswith("new: ")


def test_a_pointer_to_const_beside_another_to_the_same_is_not_judged(reasons: dict[str, str]) -> None:
    assert reasons["aliased"].startswith("new: ")


def test_inputs_takes_one_word(shop: Workshop) -> None:
    job(shop, "wrong", "kernel: scale, args: [out, x]", more="inputs: same")
    assert "inputs" in shop.fails(2, "check", "wrong")
