"""A case built with other compiler settings: which buffers change, by how much, in which source lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.workshop import RUN, Workshop

KERNEL = """\
// $Revision: 1.1 $
extern "C" __global__ void curve(float *out, const float *x, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float y = x[i] * x[i] + 0.1f;
    out[i] = __fdividef(1.0f, 1.0f) * y
        + expf(x[i]);
    count[i] = i;
}
"""
JOB = """\
source: ../kernels/curve.cu
buffers:
  x: {dtype: float32, shape: [500], fill: {uniform: {low: -3, high: 3}}}
  out: {dtype: float32, shape: [500]}
  count: {dtype: int32, shape: [500]}
launches:
  - {kernel: curve, grid: [4], block: [128], args: [out, x, count, {int32: 500}]}
variants: {fmad: [on, off], fast_math: [off, on], arch: [sm_80, sm_90]}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("variants"))
    made.write("kernels/curve.cu", KERNEL)
    made.write("configs/curve.yaml", JOB)
    return made


def run(shop: Workshop, *more: str) -> tuple[int, str, dict[str, Any]]:
    done = shop.call(*RUN, *more)
    case: dict[str, Any] = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"][0]
    return done.exit_code, done.output, case


def test_the_report_names_buffers_ulp_and_lines(shop: Workshop) -> None:
    code, output, case = run(shop, "--html", str(shop.root / "page.html"))
    assert code == 1
    assert case["verdict"] == "new"
    variants = {one["variant"]: one for one in case["variants"]}
    assert len(variants) == 7
    assert variants["arch=sm_90"]["same_as"] == "fmad=on,fast_math=off,arch=sm_80"
    assert variants["fmad=off,arch=sm_90"]["same_as"] == "fmad=off"
    fmad, fast = variants["fmad=off"], variants["fast_math=on"]
    assert [one["name"] for one in fmad["buffers"]] == ["out"]
    assert fmad["buffers"][0]["max_ulp"] >= 1
    assert any("fma.rn.f32" in " ".join(one["before"]) for one in fmad["instructions"] if one["line"] == 6)
    assert any(".ftz" in " ".join(one["after"]) for one in fast["instructions"] if one["line"] == 8)
    assert "note: curve: variants, compared with fmad=on,fast_math=off,arch=sm_80:" in output
    report = (shop.root / "runs/latest/report.txt").read_text()
    assert "curve.cu:6: " in report
    page = (shop.root / "page.html").read_text()
    assert "compared with fmad=on,fast_math=off,arch=sm_80" in page
    assert "curve.cu:6" in page
    assert shop.call("accept", "curve").exit_code == 0
    assert run(shop)[0] == 0


def test_differences_fail_where_the_job_demands_agreement(shop: Workshop) -> None:
    shop.call(*RUN)
    shop.call("accept", "curve")
    path = shop.root / "configs/curve.yaml"
    strict = JOB.replace("arch: [sm_80, sm_90]}", "arch: [sm_80], differences: fail}")
    path.write_text(strict)
    code, output, case = run(shop)
    assert (code, case["verdict"]) == (1, "differ")
    assert "out: variant: fast_math=on: " in output
    path.write_text(strict + "compare: {out: {rtol: 1.0e-3, atol: 1.0e-3}}\n")
    assert run(shop)[0] == 0
    path.write_text(JOB)


def test_a_variant_that_faults_fails_the_case(shop: Workshop) -> None:
    fused = KERNEL.replace(
        "    count[i] = i;", "    if (__fmaf_rn(x[i], x[i], 0.1f) != y) __trap();\n    count[i] = i;"
    )
    shop.write("kernels/curve.cu", fused.replace("1.1", "1.2"))
    code, _, case = run(shop)
    shop.write("kernels/curve.cu", KERNEL)
    assert code == 1
    assert "variant: fmad=off: trap: " in case["reason"]
    assert [one["message"][:5] for one in case["variants"] if one["variant"] == "fmad=off"] == ["trap:"]


def test_show_and_check_tell_of_them(shop: Workshop) -> None:
    assert "variants  arch=sm_90; fast_math=on" in shop.call("show", "curve").output
    assert shop.call("check", "curve").exit_code == 0


TWO_SOURCES = """\
source: ../kernels/one.cu
buffers:
  y: {dtype: float32, shape: [64], fill: {uniform: {low: 1, high: 2}}}
  first: {dtype: float32, shape: [1], fill: {value: 0.1}, symbol: "one.cu:term"}
  second: {dtype: float32, shape: [1], fill: {value: 0.3}, symbol: "two.cu:term"}
launches:
  - {kernel: one, grid: [1], block: [64], args: [y]}
  - {kernel: two, source: ../kernels/two.cu, grid: [1], block: [64], args: [y]}
dump: [y]
variants: {fmad: [on, off], arch: [sm_80, sm_90]}
"""


def test_every_source_of_several_is_built_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    shop = Workshop(tmp_path_factory.mktemp("sources"))
    for name in ("one", "two"):
        kernel = f'extern "C" __global__ void {name}(float *y)\n{{\n    float x = y[threadIdx.x];\n'
        shop.write(
            f"kernels/{name}.cu", f"__constant__ float term[1];\n{kernel}    y[threadIdx.x] = x * x + term[0];\n}}\n"
        )
    shop.write("configs/two.yaml", TWO_SOURCES)
    result = shop.call(*RUN)
    assert result.exit_code == 1, result.output
    (case,) = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    builds = {one["variant"]: one for one in case["variants"]}
    changed = [(line["file"], line["line"]) for line in builds["fmad=off"]["instructions"]]
    assert changed == [("one.cu", 5), ("two.cu", 5)]
    assert builds["fmad=off"]["buffers"][0]["changed"] > 0
    assert builds["arch=sm_90"]["same_as"] == "fmad=on,arch=sm_80"
    log = (shop.root / "runs/latest/launch.log").read_text()
    assert [line.split(" in ")[1].split()[0] for line in log.splitlines() if line.endswith("variant=fmad=off")] == [
        "one.cu",
        "two.cu",
    ]
