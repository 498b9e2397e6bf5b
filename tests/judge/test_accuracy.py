"""Accuracy of a result, and of the accepted one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Accuracy, Baseline, MadeOf, ReferenceKernel
from gpuregress.gpu.records import replace
from gpuregress.judge import accuracy
from tests import fakes
from tests.judge.dumps import dump

STEP = 2.0**-23
BEST, WORSE = Accuracy(0.5, 0.25), Accuracy(1.0, 0.25)


@pytest.mark.parametrize(
    ("before", "after", "trend"),
    [
        (BEST, BEST, "as accurate"),
        (WORSE, BEST, "more accurate"),
        (BEST, WORSE, "less accurate"),
        (WORSE, Accuracy(0.5, 0.5), "mixed"),
        (BEST, Accuracy(0.25, 0.25, 1), "mixed"),
        (Accuracy(0.5, 0.25, 2), BEST, "more accurate"),
    ],
)
def test_trend(before: Accuracy, after: Accuracy, trend: str) -> None:
    assert accuracy.trend(before, after) == trend


def test_both_are_measured_against_the_unrounded_reference(tmp_path: Path) -> None:
    case = fakes.case("double", improves=("out",))
    reference = dump(tmp_path / "r", "out.1", [1.0, 1.0], "float64")
    actual = dump(tmp_path / "a", "out.2", [1.0, 1.0 + STEP])
    before = dump(tmp_path / "b", "out.1", [1.0 + 3 * STEP, 1.0])
    accepted = Baseline("fake/double", "", "1.4", MadeOf(""), {"out": before}, ())
    report = accuracy.report(case, reference, actual, accepted)
    assert report is not None
    assert (report.actual.max_ulp, report.trend, report.revision) == (1.0, "more accurate", "1.4")
    assert report.baseline is not None
    assert report.baseline.max_ulp == 3.0
    alone = accuracy.report(case, reference, actual, None)
    assert alone is not None
    assert (alone.actual, alone.baseline, alone.trend) == (report.actual, None, "")
    other = replace(accepted, dumps={"out": dump(tmp_path / "c", "out.1", [1.0], "float32")})
    assert accuracy.report(case, reference, actual, other) == alone


def test_a_reference_that_is_no_such_buffer_is_not_measured(tmp_path: Path) -> None:
    case, actual = fakes.case("double", improves=("out",)), dump(tmp_path / "a", "out.2", [1.0, 2.0])
    assert accuracy.report(case, dump(tmp_path / "r", "out.1", [3.0], "float64"), actual, None) is None
    assert accuracy.report(case, dump(tmp_path / "s", "out.1", [1, 2], "int64"), actual, None) is None


def test_a_twin_is_reported_without_being_asked_for() -> None:
    case = fakes.case("double")
    kernel = ReferenceKernel(case.source, case.launches)
    assert not accuracy.is_reported(replace(case, reference_kernels={"out": kernel}), "out")
    assert accuracy.is_reported(replace(case, reference_kernels={"out": replace(kernel, buffer="x")}), "out")
    assert accuracy.is_reported(replace(case, improves=("out",)), "out")
