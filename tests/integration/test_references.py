"""Gold standards from end to end on the CPU device: a trusted kernel at every point of the parameter space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.foundation.records import Comparison
from gpuregress.judge import diagnosis
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.store import launch_log
from tests import workshop
from tests.slow_cases import some_slow
from tests.workshop import Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")
KERNELS = """\
// $Revision: 1.4 $
__device__ float d_bias;
__global__ void doubled(float *out, float *more, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - SHORT) { out[i] = x[i] + x[i] + d_bias; more[i] = 3.0f * x[i]; }
}
"""
NAIVE = """\
__global__ void naive(float *out, float *more, const float *x, int n, float factor)
{
    for (int i = 0; i < n; ++i) { out[i] = factor * x[i]; more[i] = x[i] * 3.0f; }
}
__global__ void wild(float *out) { out[1 << 20] = 1.0f; }
"""
JOB = """\
source: ../kernels/doubled.cu
compile: {defines: {SHORT: short}}
parameters:
  n: [100, 64]
  short: [0]
buffers:
  x: {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}
  bias: {dtype: float32, shape: [1], fill: zeros, symbol: d_bias}
  out: {dtype: float32, shape: [n]}
  more: {dtype: float32, shape: [n]}
launches:
  - {kernel: doubled, grid: [ceil(n / 32)], block: [32], args: [out, more, x, {int32: n}]}
reference:
  out: &gold
    source: ../kernels/naive.cu
    launches: [{kernel: naive, grid: [1], block: [1], args: [out, more, x, {int32: n}, {float32: 2.0}]}]
  more: *gold
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = workshop.make(tmp_path)
    (tmp_path / "configs" / "scale.yaml").unlink()
    made.write("kernels/doubled.cu", KERNELS)
    made.write("kernels/naive.cu", NAIVE)
    made.write("configs/doubled.yaml", JOB)
    return made


def change(shop: Workshop, before: str, after: str) -> None:
    assert before in JOB
    shop.write("configs/doubled.yaml", JOB.replace(before, after))


def cases(shop: Workshop) -> list[dict[str, object]]:
    actual: list[dict[str, object]] = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    return actual


def test_a_trusted_kernel_is_a_gold_standard_and_the_report_says_which_of_the_two_was_passed(shop: Workshop) -> None:
    first = shop.call(*RUN)
    assert first.exit_code == 0, first.output
    assert "as its reference, without a baseline" in first.stdout
    assert [case["against"] for case in cases(shop)] == [["reference"]] * 2
    assert shop.call("accept", "doubled").exit_code == 0
    assert "as its baseline and its reference" in shop.call(*RUN).stdout
    log = launch_log.read(shop.root / "runs/latest/launch.log")
    # One launch of the kernel and one of the reference, which both buffers share; numbers that no two cases use.
    assert len({event.number for event in log.events}) == 4
    assert not log.unfinished


def test_a_kernel_that_is_not_as_its_reference_differs_in_every_case_it_is_wrong_in(shop: Workshop) -> None:
    change(shop, "short: [0]", "short: [0, 1]")
    result = shop.call(*RUN)
    assert result.exit_code == 1
    assert [case["verdict"] for case in cases(shop)] == ["pass", "differ"] * 2
    assert "out: reference: 1 of 100 differ" in result.stdout


def test_a_reference_has_a_rule_of_its_own(shop: Workshop) -> None:
    change(shop, "{float32: 2.0}]}]", "{float32: 2.000001}]}]\n    compare: {ulp: 9}")
    assert shop.call(*RUN).exit_code == 0
    change(shop, "{float32: 2.0}]}]", "{float32: 2.000001}]}]")
    assert shop.call(*RUN).exit_code == 1


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        ("", ("baseline",)),
        ("\n    compare: {atol: 1.5}", ("baseline", "reference")),
        ("\n    compare: {order: any}", ("baseline", "reference")),
    ],
)
def test_a_reference_equal_to_the_baseline_is_compared_once_under_the_same_rule(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, rule: str, asks: tuple[str, ...]
) -> None:
    asked: list[str] = []
    compare = diagnosis.compare

    def told(pair: BufferPair, *rest: Any) -> Comparison:
        asked.append(pair.against)
        return compare(pair, *rest)

    monkeypatch.setattr(diagnosis, "compare", told)
    change(shop, "{float32: 2.0}]}]", "{float32: 2.0}]}]" + rule)
    assert shop.call(*RUN).exit_code == 0
    assert shop.call("accept", "doubled", "-m", "right").exit_code == 0
    shop.write("kernels/doubled.cu", KERNELS.replace("+ d_bias", "+ 1.0f + d_bias"))
    shop.call(*RUN)
    buffers = [
        buffer
        for case in json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
        for buffer in case["buffers"]
        if buffer["name"] == "out"
    ]
    for buffer in buffers:
        baseline, reference = buffer["comparisons"]
        assert (baseline["against"], reference["against"]) == ("baseline", "reference")
        assert ({**baseline, "against": ""} == {**reference, "against": ""}) == (not rule)
        assert reference["same"] == ("atol" in rule)
    assert asked == [*asks, *asks]


def test_a_reference_that_faults_is_its_own_fault(shop: Workshop) -> None:
    change(shop, "[{kernel: naive", "[{kernel: wild, grid: [1], block: [1], args: [out]}, {kernel: naive")
    result = shop.call(*RUN)
    assert result.exit_code == 1
    assert "the reference's own kernel failed with out-of-bounds" in result.stdout


def test_arguments_of_a_reference_that_contradict_its_signature_stop_the_run(shop: Workshop) -> None:
    change(shop, ", {float32: 2.0}]", "]")
    printed = shop.fails(2, *RUN)
    assert "reference.out.launches[0].args: naive takes 5 arguments, not 4" in printed
    assert not (shop.root / "runs").exists()


def test_a_reference_that_does_not_compile_stops_its_cases(shop: Workshop) -> None:
    shop.write("kernels/naive.cu", NAIVE.replace("int i = 0;", "int i = 0"))
    result = shop.call(*RUN)
    assert result.exit_code == 3
    assert "naive.cu:3" in result.stdout


COPY = """\
source: ../kernels/copy.cu
compile: {{defines: {{ELEMENT: {{text: "{c}"}}}}}}
buffers:
  x: {{dtype: {dtype}, shape: [4], fill: {fill}}}
  out: {{dtype: {dtype}, shape: [4]}}
launches: [{{kernel: copy, grid: [1], block: [4], args: [out, x]}}]
compare: {{out: {rule}}}
reference: {{out: gold.py:f}}
"""
COPY_KERNEL = """\
// $Revision: 1.1 $
extern "C" __global__ void copy(ELEMENT *out, const ELEMENT *x) { out[threadIdx.x] = x[threadIdx.x]; }
"""


@pytest.mark.parametrize(
    ("dtype", "fill", "gold", "rule", "printed"),
    [
        ("int32", "arange", "np.arange(4) + 2**32", "{}", "[0]: 4294967296 does not fit int32"),
        ("int32", "arange", "np.arange(4) + 0.7", "{atol: 2}", "0.7 is not a whole number"),
        ("int32", "arange", "np.arange(4) + 1j", "{}", "element 0 is 1j, a complex number"),
        ("uint8", "arange", "np.arange(4) + 256", "{}", "256 does not fit uint8"),
        ("int32", "arange", "np.arange(4).astype(str)", "{}", "not an array of numbers"),
        ("float32", "{value: inf}", "np.full(4, 1e43)", "{rtol: 0.5}", "1e+43 is too large for float32"),
        ("float32", "{value: inf}", "np.full(4, 1e43)", "{ulp: 4}", "1e+43 is too large for float32"),
        (
            "float32",
            "{value: 0.1}",
            "np.full(4, 0.1)",
            "{}",
            "[0] of the reference, 0.1, is not exact in float32: return",
        ),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{order: any}", "0.1, is not exact in float32"),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{atol: 1.0e-9}", "4 of 4 differ"),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{metric: {max: 1.0e-12}}", "max of the error"),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{rtol: 1.0e-7}", ""),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{ulp: 0}", ""),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{order: any, rtol: 1.0e-7}", ""),
        ("float32", "{value: 0.1}", "np.full(4, 0.1)", "{metric: {max: 1.0e-8}}", ""),
        ("float32", "{value: 0.1}", "np.full(4, np.float32(0.1))", "{}", ""),
        ("float32", "{value: 0}", "np.full(4, 1e-60)", "{atol: 1.0e-9}", ""),
        ("float32", "{value: 0}", "np.full(4, 1e-60)", "{}", "1e-60, is not exact in float32"),
        ("float32", "{value: 16777216}", "np.full(4, 2**24 + 1)", "{}", "is not exact in float32"),
        ("float32", "{value: 1.5}", "np.full(4, 1.5)", "{}", ""),
        ("int32", "arange", "np.arange(4.0)", "{}", ""),
        ("float32", "arange", "np.arange(4) + 0j", "{}", ""),
    ],
)
def test_a_gold_standard_passes_only_for_what_it_says(
    tmp_path: Path, dtype: str, fill: str, gold: str, rule: str, printed: str
) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/copy.cu", COPY_KERNEL)
    kind = {"float32": "float", "int32": "int", "uint8": "unsigned char"}[dtype]
    shop.write("configs/copy.yaml", COPY.format(c=kind, dtype=dtype, fill=fill, rule=rule))
    shop.write("configs/gold.py", f"import numpy as np\n\n\ndef f(inputs, case):\n    return {gold}\n")
    result = shop.call(*RUN)
    assert result.exit_code == (1 if printed else 0), result.output
    assert printed in result.stdout
    assert "Traceback" not in result.output


def test_verify_is_given_the_gold_standard_unrounded_and_the_result_as_it_is(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/copy.cu", COPY_KERNEL)
    text = COPY.format(c="float", dtype="float32", fill="{value: 0.1}", rule="{verify: gold.py:v}")
    shop.write("configs/copy.yaml", text)
    shop.write(
        "configs/gold.py",
        "import numpy as np\n\n\ndef f(inputs, case):\n    return np.full(4, 0.1)\n\n\n"
        "def v(expected, actual, case):\n"
        "    return (expected == 0.1).all() and (expected.dtype, actual.dtype) == (np.float64, np.float32)\n",
    )
    result = shop.call(*RUN)
    assert result.exit_code == 0, result.output


@pytest.fixture(params=["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def run_on(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The command that runs all cases on a device."""
    return ("run", "--device", str(request.param), "--jobs", "1")


TWIN_KERNEL = """\
// $Revision: 1.4 $
template <typename T>
__global__ void poly(T *y, const T *x, T a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] * a + T(1)) * x[i] ERROR;
}
"""
TWIN_JOB = """\
source: ../kernels/poly.cu
buffers:
  x: {dtype: float32, shape: [64], fill: {uniform: {low: 1, high: 2}}}
  x64: {dtype: float64, shape: [64], fill: {same: x}}
  y: {dtype: float32, shape: [64]}
  y64: {dtype: float64, shape: [64]}
compile: {defines: {ERROR: {text: "* T(1)"}}}
launches: [{kernel: poly<float>, grid: [2], block: [32], args: [y, x, {float32: 0.5}, {int32: 64}]}]
compare: {y: {ulp: 8}}
reference:
  y:
    buffer: y64
    launches: [{kernel: poly<double>, grid: [2], block: [32], args: [y64, x64, {float64: 0.5}, {int32: 64}]}]
    improves: true
"""


def reference_of(shop: Workshop, buffer: str = "y") -> dict[str, Any]:
    (case,) = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    (comparisons,) = (one["comparisons"] for one in case["buffers"] if one["name"] == buffer)
    (found,) = (one for one in comparisons if one["against"] == "reference")
    return {**found, "verdict": case["verdict"]}


def test_a_float64_twin_says_how_accurate_a_revision_is(tmp_path: Path, run_on: tuple[str, ...]) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/poly.cu", TWIN_KERNEL)
    shop.write("configs/poly.yaml", TWIN_JOB)
    first = shop.call(*run_on)
    assert first.exit_code == 0, first.output
    assert "as its reference, without a baseline" in first.stdout
    good = reference_of(shop)["accuracy"]
    assert good["dtype"] == "float32"
    assert 0 < good["actual"]["rms_ulp"] < good["actual"]["max_ulp"] < 2
    assert "ulp of float32 from its reference" in first.stdout
    assert shop.call("accept", "poly").exit_code == 0
    assert "; as accurate as the accepted revision 1.4" in shop.call(*run_on).stdout
    # One float32 step up: within the rule of 8 ulp, and less accurate.
    shop.write("kernels/poly.cu", TWIN_KERNEL.replace("1.4", "1.5"))
    shop.write(
        "configs/poly.yaml", TWIN_JOB.replace('text: "* T(1)"', 'text: "* (sizeof(T) == 4 ? T(1.0000002f) : T(1))"')
    )
    worse = shop.call(*run_on)
    assert worse.exit_code == 0, worse.output
    assert "; less accurate than the accepted revision 1.4" in worse.stdout
    report = reference_of(shop)["accuracy"]
    assert (report["trend"], report["baseline"]) == ("less accurate", good["actual"])
    assert report["actual"]["max_ulp"] > good["actual"]["max_ulp"]
    # Beyond the rule: the reference fails, and the report of the case has the figures.
    shop.write(
        "configs/poly.yaml", TWIN_JOB.replace('text: "* T(1)"', 'text: "* (sizeof(T) == 4 ? T(1.00001f) : T(1))"')
    )
    wrong = shop.call(*run_on)
    assert wrong.exit_code == 1
    assert "  accuracy: at most " in wrong.stdout
    assert reference_of(shop)["same"] is False


TOTAL_JOB = """\
source: ../kernels/partial.cu
buffers:
  x: {dtype: float32, shape: [64], fill: {uniform: {}}}
  s: {dtype: float32, shape: [8]}
launches: [{kernel: partial, grid: [1], block: [8], args: [s, x, {int32: 64}]}]
compare: {s: {rtol: 1.0e-5}}
verify: {s: mine.py:agree}
reference: {s: REFERENCE}
"""
TOTAL = """\
import numpy as np


def total(inputs, case):
    return inputs["x"].sum(dtype=np.float64) FACTOR


def agree(expected, actual, *, tolerance, case):
    sums = [side.sum(dtype=np.float64) for side in (expected, actual)]
    assert actual.shape == (8,) and expected.shape in ((), (1,), (8,)), case.name
    return bool(np.isclose(*sums, rtol=tolerance.rtol, atol=0)), f"{sums[0]:.6} against {sums[1]:.6}"
"""
PARTIAL = """\
extern "C" __global__ void partial(float *s, const float *x, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    s[threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize(
    "reference", some_slow(["mine.py:total", "total.npy", "total.txt", "total.npz:t"], ["total.txt", "total.npz:t"])
)
def test_verify_compares_eight_partial_sums_with_one_total(
    tmp_path: Path, reference: str, run_on: tuple[str, ...]
) -> None:
    shop = Workshop(tmp_path)
    shop.write("kernels/partial.cu", PARTIAL)
    shop.write("configs/mine.py", TOTAL.replace("FACTOR", ""))
    shop.write("configs/partial.yaml", TOTAL_JOB.replace("REFERENCE", "mine.py:total"))
    assert shop.call(*run_on).exit_code == 0
    (dumped,) = (shop.root / "runs/latest/references").rglob("s.*")
    right = float(dumped.read_text().splitlines()[1])
    assert dumped.read_text().startswith("# gpuregress 1 float64 []")
    for total, code in ((right, 0), (right * 1.001, 1)):
        np.save(tmp_path / "configs/total.npy", np.array([total]))
        np.savez(tmp_path / "configs/total.npz", t=np.array([total]), other=np.zeros(3))
        shop.write("configs/total.txt", f"{total!r}\n")
        shop.write("configs/mine.py", TOTAL.replace("FACTOR", f"* {total / right!r}"))
        shop.write("configs/partial.yaml", TOTAL_JOB.replace("REFERENCE", reference))
        result = shop.call(*run_on)
        assert result.exit_code == code, result.output
        assert ("against" in result.stdout) == bool(code)
    assert shop.call("show", "partial").exit_code == 0
