"""Unit tests of device functions: results by value, reference, pointer and struct, on the CPU device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import workshop
from tests.workshop import Workshop

SOURCE = """\
#define HD __host__ __device__
namespace g {
typedef double real;
struct P { float lo; int n; };
template <typename T> HD constexpr T clampz(T x, T lo, T hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}
HD P make(float lo, int n) { P p; p.lo = lo; p.n = n; return p; }
HD void split(P p, float &a, int& b) { a += p.lo; b = p.n; }
__device__ int two(int x) { return 2 * x; }
__device__ float two(float x) { return 2 * x + 0.5f; }
__device__ float at(const float* data, int i)
{
    return data[i];
}
__device__ float block_sum(float v, float* scratch)
{
    scratch[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
        __syncthreads();
    }
    return scratch[0];
}
__device__ void block_reverse(const float* in, float* out)
{
    extern __shared__ float kept[];
    kept[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}
HD real half_of(real x) { return x / 2; }
}
"""
REFERENCE = """\
import numpy as np
def clamp(i, case): return np.clip(i["x"], i["lo"], i["hi"])
def made(i, case):
    made = np.zeros(10, [("lo", "f4"), ("n", "i4")])
    made["lo"], made["n"] = i["lo"], case.parameters["n"]
    return made
def lo(i, case): return i["p"]["lo"] + 10
def n(i, case): return i["p"]["n"]
def two(i, case): return 2 * i["x"] + (0.5 if i["x"].dtype.kind == "f" else 0)
def at(i, case): return i["data"][i["i"]]
def sums(i, case): return i["v"].reshape(-1, 64).sum(axis=1)
def back(i, case): return i["in"][::-1]
"""
JOBS = {
    "clamp": (
        "function: clampz<float>",
        (
            "  x: {dtype: float32, shape: [1000], fill: {normal: {std: 2.0}}}\n"
            "  lo: {dtype: float32, shape: [1000], fill: {value: -1}}\n"
            "  hi: {dtype: float32, shape: [1000], fill: {value: 1}}\n"
            "  result: {dtype: float32, shape: [1000]}\n"
        ),
        "{result: ref.py:clamp}",
    ),
    "make": (
        "parameters: {n: [3, 4]}\nfunction: g::make",
        "  lo: {dtype: float32, shape: [10], fill: arange}\n  result: {dtype: {lo: float32, n: int32}, shape: [10]}\n",
        "{result: ref.py:made}",
    ),
    "split": (
        "function: split",
        (
            "  p: {dtype: {lo: float32, n: int32}, shape: [10], fill: ones}\n"
            "  a: {dtype: float32, shape: [10], fill: {value: 10}}\n"
            "  b: {dtype: int32, shape: [10]}\n"
        ),
        "{a: ref.py:lo, b: ref.py:n}",
    ),
    "ints": (
        "function: two",
        "  x: {dtype: int32, shape: [5], fill: arange}\n  result: {dtype: int32, shape: [5]}\n",
        "{result: ref.py:two}",
    ),
    "floats": (
        "function: two(float)",
        "  x: {dtype: float32, shape: [5], fill: arange}\n  result: {dtype: float32, shape: [5]}\n",
        "{result: ref.py:two}",
    ),
    "at": (
        "function: at",
        (
            "  data: {dtype: float32, shape: [7], fill: arange}\n"
            "  i: {dtype: int32, shape: [300], fill: {integers: {low: 0, high: 7}}}\n"
            "  result: {dtype: float32, shape: [300]}\n"
        ),
        "{result: ref.py:at}",
    ),
    "sum": (
        "function: {name: block_sum, scope: block, block: [64], shared_arrays: {scratch: 64}}",
        "  v: {dtype: float32, shape: [4, 64], fill: arange}\n  result: {dtype: float32, shape: [4]}\n",
        "{result: ref.py:sums}",
    ),
    "reverse": (
        "function: {name: block_reverse, blocks: 1, shared: 4 * 32}\nscope: block\nblock: [32]",
        "  in: {dtype: float32, shape: [32], fill: arange}\n  out: {dtype: float32, shape: [32]}\n",
        "{out: ref.py:back}",
    ),
}


def make(root: Path, jobs: dict[str, tuple[str, str, str]]) -> Workshop:
    shop = Workshop(root)
    shop.write("kernels/g.cuh", SOURCE)
    shop.write("configs/ref.py", REFERENCE)
    for name, (head, buffers, reference) in jobs.items():
        text = f"source: ../kernels/g.cuh\n{head}\nbuffers:\n{buffers}"
        shop.write(f"configs/{name}.yaml", text + (f"reference: {reference}\n" if reference else ""))
    return shop


def test_each_way_of_giving_and_taking_values(tmp_path: Path) -> None:
    shop = make(tmp_path, JOBS)
    result = shop.call(*workshop.RUN)
    assert result.exit_code == 0, result.output
    cases: list[dict[str, Any]] = json.loads((tmp_path / "runs/latest/results.json").read_text())["cases"]
    assert {case["case"]: case["verdict"] for case in cases} == dict.fromkeys(
        ["clamp", "make/n=3", "make/n=4", "split", "ints", "floats", "at", "sum", "reverse"], "pass"
    )
    assert (
        "g::clampz<float><<<(4,1,1),(256,1,1),0>>>(result=<4000>, x=<4000>"
        in (tmp_path / "runs/latest/launch.log").read_text()
    ), result.output


def test_a_wrong_function_differs_and_a_fault_names_its_own_line(tmp_path: Path) -> None:
    shop = make(tmp_path, {name: JOBS[name] for name in ("clamp", "at")})
    shop.write("kernels/g.cuh", SOURCE.replace("x > hi ? hi", "x > hi ? lo"))
    shop.write("configs/at.yaml", (tmp_path / "configs/at.yaml").read_text().replace("high: 7", "high: 9"))
    result = shop.call(*workshop.RUN)
    assert result.exit_code == 3, result.output
    assert "differ   clamp" in result.output
    assert "fault    at" in result.output
    line = SOURCE.splitlines().index("    return data[i];") + 1
    assert f"g.cuh:{line} " in result.output


@pytest.mark.parametrize(
    ("job", "before", "after", "said"),
    [
        (
            "clamp",
            "lo: {dtype: float32",
            "lo: {dtype: float64",
            "lo is float64, and parameter 'lo' of g::clampz<float>",
        ),
        ("half", "", "", "x is float32 of 4 bytes, and parameter 'x' of g::half_of(real) is real: float64"),
        ("split", "n: int32}", "n: float32}", "P of 8 bytes (float lo at 0, int n at 4): P has int n at 4, where the"),
        (
            "make",
            "lo: float32, n: int32",
            "n: int32, lo: float32",
            "returns P of 8 bytes (float lo at 0, int n at 4): P",
        ),
        ("clamp", "clampz<float>", "clampz<Q>", 'g::clampz<Q> cannot be called: identifier "Q" is undefined'),
    ],
)
def test_a_wrong_job_stops_before_anything_runs(tmp_path: Path, job: str, before: str, after: str, said: str) -> None:
    buffers = "  x: {dtype: float32, shape: [5], fill: arange}\n  result: {dtype: float64, shape: [5]}\n"
    shop = make(tmp_path, {**JOBS, "half": ("function: half_of", buffers, "")})
    path = tmp_path / f"configs/{job}.yaml"
    path.write_text(path.read_text().replace(before, after))
    assert said in shop.fails(2, "run", "--device", "cpu", job)
    assert not (tmp_path / "runs").exists()
