"""Accuracy in words."""

from __future__ import annotations

from gpuregress.foundation.records import Accuracy, AccuracyReport, BufferVerdict, Comparison, Verdict
from gpuregress.report import case_lines
from tests import fakes

ACTUAL = Accuracy(0.612, 0.25)
REPORT = AccuracyReport("float32", ACTUAL, Accuracy(3.0, 1.0, 2), "1.4", "more accurate")


def test_the_accepted_one_is_named_where_there_is_one() -> None:
    alone = "at most 0.612 ulp of float32 from its reference, 0.25 rms"
    assert case_lines.describe(AccuracyReport("float32", ACTUAL)) == alone
    assert case_lines.describe(REPORT) == (
        f"{alone}; more accurate than the accepted revision 1.4 (at most 3 ulp, 1 rms, 2 NaN or infinite on one side)"
    )
    same = AccuracyReport("float32", ACTUAL, ACTUAL, "1.4", "as accurate")
    assert "; as accurate as the accepted revision 1.4 (" in case_lines.describe(same)
    mixed = AccuracyReport("float32", ACTUAL, ACTUAL, "1.4", "mixed")
    assert "; neither more nor less accurate than the accepted" in case_lines.describe(mixed)


def test_remarks_are_for_buffers_that_agree_and_whose_job_asks() -> None:
    agrees = Comparison("out", "reference", "", same=True, identical=False, of=1, accuracy=REPORT)
    differs = Comparison("out", "reference", "", same=False, identical=False, of=1, accuracy=REPORT)
    for comparison, improves, count in ((agrees, ("out",), 1), (agrees, (), 0), (differs, ("out",), 0)):
        verdict = Verdict(
            "fake", "fake/double", "pass", buffers=(BufferVerdict("out", "pass", comparisons=(comparison,)),)
        )
        assert len(list(case_lines.remarks(fakes.case("double", improves=improves), verdict))) == count
