"""Accuracy of kernels whose errors are known, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import BufferAccuracy, ResultAccuracy
from gpuregress.lab.accuracy import accuracy
from gpuregress.store import project
from tests.workshop import Workshop, make

X = np.random.default_rng(7).uniform(100.0, 101.0, 600).astype(np.float32)
EXACT = [Fraction(float(one)) for one in X]
KERNEL = """\
extern "C" __global__ void known(const float *x, float *out, double *wide, float *kahan, float2 *pair, int n)
{
    float s = 0.0f, q = 0.0f, k = 0.0f, c = 0.0f;
    double d = 0.0, t;
    for (int i = 0; i < n; i++) {
        s += x[i];
        q += x[i] * x[i];
        d += x[i] / 3.0;
        float y = x[i] - c, z = k + y;
        c = (z - k) - y;
        k = z;
    }
    kahan[0] = k;
    out[0] = s;
    out[1] = q / n - (s / n) * (s / n);
    out[2] = (1.0e9f + x[1]) - 1.0e9f;
    wide[0] = d;
    t = x[0] * 1.0e6;
    t = sqrt(t * t - 4.0) - t;
    wide[1] = t / 2.0;
    pair[1] = make_float2(x[0], x[0] / 3.0f);
}
"""
JOB = """\
source: ../kernels/known.cu
parameters:
  n: [600]
buffers:
  x: {dtype: float32, shape: [n], fill: {file: x.npy}}
  out: {dtype: float32, shape: [3]}
  wide: {dtype: float64, shape: [2]}
  kahan: {dtype: float32, shape: [1]}
  pair: {dtype: float2, shape: [2]}
dump: [x, out, wide, kahan, pair]
launches:
  - kernel: known
    grid: [1]
    block: [1]
    args: [x, out, wide, kahan, pair, {int32: n}]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = make(tmp_path_factory.mktemp("shop"))
    made.write("kernels/known.cu", KERNEL)
    made.write("configs/known.yaml", JOB)
    np.save(made.root / "configs/x.npy", X)
    return made


@pytest.fixture(scope="module")
def found(place: Workshop) -> ResultAccuracy:
    (one,) = accuracy(project.find(place.root), ["known"]).cases
    return one.accuracy


def buffer(found: ResultAccuracy, name: str) -> BufferAccuracy:
    return next(one for one in found.buffers if one.buffer == name)


def elements(found: ResultAccuracy, name: str) -> dict[int, tuple[float, Fraction, float]]:
    """Index → value, exact value, error in ulp."""
    kind = np.float64 if name == "wide" else np.float32
    worst = buffer(found, name).worst
    return {one.index[0]: (float(kind(one.value)), Fraction(one.exact), one.ulp) for one in worst}


def line_of(text: str) -> int:
    return next(at for at, line in enumerate(KERNEL.splitlines(), 1) if text in line)


def near(value: Fraction, exact: Fraction, digits: int) -> bool:
    return abs(value - exact) <= abs(exact) * Fraction(1, 10**digits)


def test_float_results_are_compared_with_exact_ones(found: ResultAccuracy) -> None:
    mean = sum(EXACT, Fraction(0)) / len(EXACT)
    squares = sum((one * one for one in EXACT), Fraction(0))
    exact = (mean * len(EXACT), squares / len(EXACT) - mean * mean, EXACT[1])
    out = elements(found, "out")
    for at, (wanted, digits) in enumerate(zip(exact, (12, 9, 7), strict=True)):
        assert near(out[at][1], wanted, digits), at
    value, _, ulp = out[0]
    assert ulp == pytest.approx(abs(Fraction(value) - exact[0]) / Fraction(2) ** -8, rel=1e-6)
    assert buffer(found, "kahan").largest < 1.0 < ulp


def test_double_results_are_compared_with_exact_ones(found: ResultAccuracy) -> None:
    wide = elements(found, "wide")
    assert near(wide[0][1], sum(EXACT, Fraction(0)) / 3, 20)
    root, b = wide[1][1], EXACT[0] * 10**6
    assert near(root * root + b * root, Fraction(-1), 14)
    assert wide[1][2] > 1e6


def test_parts_of_vectors_are_compared(found: ResultAccuracy) -> None:
    pair = buffer(found, "pair")
    (worst,) = pair.worst
    assert (pair.elements, pair.tracked, worst.index, worst.part) == (4, 2, (1,), "y")
    assert near(Fraction(worst.exact), EXACT[0] / 3, 11)


def test_inputs_have_no_error(found: ResultAccuracy) -> None:
    assert buffer(found, "x").tracked == 0


def test_lines_by_their_share(found: ResultAccuracy) -> None:
    lines = {one.line: one.ulp for one in found.lines}
    sums, variance = line_of("s += x[i];"), line_of("out[1] =")
    naive = elements(found, "out")[0][2]
    assert lines[sums] >= naive > 0
    assert sum(one.share for one in found.lines) == pytest.approx(1.0)
    assert found.lines[0].line in (line_of("sqrt(t * t"), line_of("t = x[0]"))
    assert {sums, variance, line_of("q += x[i]"), line_of("1.0e9f")} <= set(lines)
    assert all(one.path.endswith("known.cu") for one in found.lines)


def test_catastrophic_cancellation_by_line(found: ResultAccuracy) -> None:
    lines = {one.line: one.bits for one in found.cancellations}
    assert lines[line_of("1.0e9f")] > 20
    assert lines[line_of("sqrt(t * t")] > 40
    assert line_of("out[1] =") in lines
    assert line_of("s += x[i]") not in lines
    assert found.restarts == ()
    assert found.lost == 0


def test_a_case_without_floats_has_no_accuracy(place: Workshop) -> None:
    text = JOB.replace("float32", "int32").replace("float64", "int64").replace("{file: x.npy}", "zeros")
    pointers = ", ".join(f"{{pointer: {name}}}" for name in ("x", "out", "wide", "kahan", "pair"))
    text = text.replace("float2", "int2").replace("args: [x, out, wide, kahan, pair,", f"args: [{pointers},")
    place.write("configs/whole.yaml", text)
    with pytest.raises(UsageError, match=r"whole.* has no result of a floating-point type"):
        accuracy(project.find(place.root), ["whole"])


def test_a_case_that_fails_has_no_accuracy(place: Workshop) -> None:
    place.write("configs/wrong.yaml", JOB.replace("kernel: known", "kernel: missing"))
    with pytest.raises(UsageError, match=r"wrong.* has no results to compare: error"):
        accuracy(project.find(place.root), ["wrong"])
