"""Exact counts, known rows, named status codes, constant memory and seeds in the log, statistics over seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import RUN, Workshop

KERNEL = """\
// $Revision: 1.1 $
__constant__ float table[256];
extern "C" __global__ void heat(float *rows, int *hits, int *errors, const float *noise, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rows[2 * i] = i ? 100.0f : 0.0f;
    rows[2 * i + 1] = i + table[0];
    hits[i] = i % 3 == 0;
    if (i == 7 && noise[0] < -9.0f) errors[2] = 3;
}
extern "C" __global__ void spread(float *out, const float *noise, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * noise[i] SHIFT;
}
"""
HEAT = """\
source: ../kernels/heat.cu
compile: {defines: {SHIFT: {text: "+ 1.0f"}}}
seed: 5
buffers:
  noise: {dtype: float32, shape: [64], fill: {uniform: {low: LOW, high: 1}}}
  rows: {dtype: float32, shape: [64, 2]}
  hits: {dtype: int32, shape: [64]}
  errors: {dtype: int32, shape: [4]}
launches:
  - {kernel: heat, grid: [1], block: [64], args: [rows, hits, errors, noise, {int32: 64}]}
checks:
  hits: [{nonzero: {exactly: 22}}]
  rows: [{rows: {0: 0.0, 1: [100.0, 1], -1: [100.0, 63.0]}}]
status: {buffer: errors, codes: {0: ok, 3: table full}}
"""
SPREAD = """\
source: ../kernels/heat.cu
compile: {defines: {SHIFT: {text: "SHIFTED"}}}
seed: 100
buffers:
  noise: {dtype: float32, shape: [2000], fill: {normal: {std: 1.0}}}
  out: {dtype: float32, shape: [2000]}
launches:
  - {kernel: spread, grid: [16], block: [128], args: [out, noise, {int32: 2000}]}
compare: {out: {statistics: {mean: {sigmas: 4}, variance: {sigmas: 4}, ks: 0.001}}}
repeat: {seeds: 12}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.write("kernels/heat.cu", KERNEL)
    return made


def case(shop: Workshop) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"][0]
    return found


def test_counts_rows_and_the_log(shop: Workshop) -> None:
    shop.write("configs/heat.yaml", HEAT.replace("LOW", "0"))
    assert shop.call(*RUN).exit_code == 1
    assert case(shop)["verdict"] == "new", case(shop)["reason"]
    log = shop.call("log").stdout
    assert "constant=<1024> seed=5" in log
    assert "# seed of heat: 5" in log
    assert "# seed of heat.noise: " in log
    assert json.loads(shop.call("log", "--json").stdout)["events"][0]["constant"] == 1024
    assert "check     hits: nonzero exactly 22" in shop.call("show", "heat").stdout


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("exactly: 22", "exactly: 21", "hits: check: nonzero: 22 of 64 are not 0, exactly 21 must be"),
        ("exactly: 22", "at_most: 21", "hits: check: nonzero: 22 of 64 are not 0, at most 21 must be"),
        ("1: [100.0, 1]", "1: [100.0, 2]", "rows: check: rows: row 1 is [100.0, 1.0], not [100.0, 2]; 1 of 128 are"),
    ],
)
def test_a_wrong_count_or_row_differs(shop: Workshop, before: str, after: str, said: str) -> None:
    assert before in HEAT
    shop.write("configs/heat.yaml", HEAT.replace("LOW", "0").replace(before, after))
    assert shop.call(*RUN).exit_code == 1
    assert (case(shop)["verdict"], case(shop)["reason"].startswith(said)) == ("differ", True), case(shop)["reason"]


def test_a_status_code_is_named(shop: Workshop) -> None:
    shop.write("configs/heat.yaml", HEAT.replace("LOW", "-1000").replace("seed: 5", "seed: 6"))
    assert shop.call(*RUN).exit_code == 3
    assert "status: errors[2] = 3 (0x3): table full" in case(shop)["reason"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "exactly: 22",
            "exactly: 65",
            "heat.yaml:12: checks.hits[0].nonzero.exactly: is 65: elements must be at most 64",
        ),
        ("-1: [", "64: [", "heat.yaml:13: checks.rows[0].rows.64: is 64: a row's number must be at most 63"),
        ("3: table", "x: table", "status.codes.x: expected a whole number as the code"),
        (
            "buffer: errors",
            "buffer: error",
            "status.buffer: unknown buffer or __device__ variable 'error'; did you mean",
        ),
    ],
)
def test_mistakes_have_their_line(shop: Workshop, before: str, after: str, said: str) -> None:
    assert before in HEAT
    shop.write("configs/heat.yaml", HEAT.replace("LOW", "0").replace(before, after))
    assert said in shop.fails(2, "check")


def test_statistics_over_seeds_pass_and_another_distribution_fails(shop: Workshop) -> None:
    shop.write("configs/spread.yaml", SPREAD.replace("SHIFTED", "+ 1.0f"))
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept", "spread").exit_code == 0
    done = shop.call(*RUN)
    assert done.exit_code == 0, done.output
    (buffer,) = case(shop)["buffers"]
    (seeds,) = [one for one in buffer["comparisons"] if one["against"] == "seeds"]
    assert seeds["rule"] == "12 seeds, 12 different results, limits corrected for the number of tests"
    assert "seed=111" in shop.call("log").stdout
    shop.write("configs/spread.yaml", SPREAD.replace("SHIFTED", "+ 1.6f"))
    assert shop.call(*RUN).exit_code == 1
    (buffer,) = case(shop)["buffers"]
    (seeds,) = [one for one in buffer["comparisons"] if one["against"] == "seeds"]
    assert seeds["message"].startswith("11 of 11 other seeds fail; seed 101: mean ")


def test_cases_of_other_seeds_have_lines_in_the_head(shop: Workshop) -> None:
    text = HEAT.replace("LOW", "0").replace("seed: 5", "parameters: {k: [1, 2]}\nseed: k")
    shop.write("configs/heat.yaml", text)
    shop.call(*RUN)
    log = shop.call("log").stdout
    assert "# seed of heat/k=1: 1" in log
    assert "# seed of heat/k=2: 2" in log
