from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.errors import FaultLocation
from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    CostComparison,
    ErrorFigures,
    Extent,
    Fault,
    Figures,
    Finding,
    Observations,
    Outcome,
    ResourceLimits,
    SourceLocation,
    TimingComparison,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge.nights import cause_of, extent_of
from tests import fakes
from tests.judge.nights.nights import case


def faulty(message: str, position: int | None = 0) -> Outcome:
    location = FaultLocation(file="scale.cu", line=5)
    fault = Fault("out-of-bounds", message, ("dot.cuh:9 in scale",), 3, position, location)
    return Outcome("fake/fault", "fault", fault)


def test_a_difference_is_named_by_its_strongest_pattern() -> None:
    one = case("scale/n=100", "differ")
    other = case("conv/n=7", "differ", reason="c: 3 of 7 differ")
    assert cause_of(one) == cause_of(other) == "differ: factor"


def test_a_fault_is_named_by_its_kind_kernel_and_line_and_not_by_its_numbers() -> None:
    planned = fakes.case("fault")
    causes = {
        cause_of(case("fake/fault", "fault", outcome=faulty(f"read of 4 bytes at x[{index}]")), planned)
        for index in (9, 700)
    }
    assert causes == {"out-of-bounds in fault at scale.cu:5"}
    assert cause_of(case("fake/fault", "fault", outcome=faulty("read", None)), planned) == "out-of-bounds at scale.cu:5"


@pytest.mark.parametrize(("status", "cause"), [("pass", ""), ("skip", ""), ("new", "no baseline")])
def test_what_is_no_failure_has_no_cause(status: str, cause: str) -> None:
    assert cause_of(case("scale", status)) == cause


def test_an_error_is_named_by_its_class_and_line_and_not_by_its_message() -> None:
    location = SourceLocation("/p/kernels/scale.cu", 12)
    failed = [case("scale", "error", reason=text, error="CompileError", location=location) for text in ("a", "b 7")]
    assert {cause_of(verdict) for verdict in failed} == {"error: CompileError at scale.cu:12"}
    lost = Outcome("scale", "error", message="process 4711 was killed", observations=Observations(error="DeviceError"))
    assert cause_of(case("scale", "error", reason="process 4711 was killed", outcome=lost)) == "error: DeviceError"
    assert cause_of(case("scale", "error", reason="no more is known")) == "error"


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ({"message": "3 of 8 are not finite", "against": "check", "rule": "finite"}, "out (check): finite"),
        ({"message": "the norm is 7 over", "against": "verify"}, "out (verify)"),
        ({"message": "timed out after 3 s", "against": "verify", "unanswered": True}, "out (verify): no answer"),
        ({"message": "the shapes are [8] and [9]", "differing": 8}, "out (baseline): not compared"),
        ({"against": "twin", "figures": Figures(nothing_written=True)}, "out (twin): nothing written"),
        ({"findings": (Finding("nan", "3 are NaN"),)}, "nan"),
    ],
)
def test_a_difference_is_named_by_the_facts_of_its_comparison(facts: dict[str, Any], cause: str) -> None:
    fields = {"against": "baseline", "rule": "", "same": False, "identical": False, "of": 8, **facts}
    compared = Comparison("out", **fields)
    failed = case("scale", "differ", buffers=(BufferVerdict("out", "differ", comparisons=(compared,)),))
    assert cause_of(failed) == f"differ: {cause}"


def test_a_difference_without_a_comparison_is_named_by_what_the_job_says() -> None:
    planned = fakes.case("add")
    done = Outcome(planned.name, "done", resources={"add": {"registers": 64}})
    failed = case(planned.name, "differ", buffers=(), outcome=done)
    assert cause_of(failed, planned) == "differ"
    settings = replace(planned.settings, resources=ResourceLimits(registers=32))
    assert cause_of(failed, replace(planned, settings=settings)) == "differ: over its limits of resources"
    assert cause_of(failed, replace(planned, expect_fault="race")) == "differ: expected race"
    costly = replace(failed, costs=(CostComparison("instructions", "9 more", fails=True),))
    assert cause_of(costly, planned) == "differ: costs more than accepted (instructions)"


@pytest.mark.parametrize("places", [(), ("thread",), ("column", "stride"), ("tail",)])
def test_a_cause_does_not_depend_on_the_shape(places: tuple[str, ...]) -> None:
    kinds = {"thread": "periodic", "column": "periodic", "tail": "contiguous", "stride": "periodic"}
    findings = tuple(Finding(place, f"{place}: 3 of 8", place=kinds[place]) for place in places)
    figures = ErrorFigures(max_abs=0.5, max_rel=1.0, misplaced_nan_or_inf=0, worst={})
    plain = Comparison(
        "b", "baseline", "", same=False, identical=False, of=8, differing=3, message="3 of 8 differ", findings=findings,
        figures=figures,
    )  # fmt: skip
    one = case("scale", "differ", buffers=(BufferVerdict("b", "differ", comparisons=(plain,)),))
    assert cause_of(one) == "differ: b (baseline)"
    assert extent_of(one) == Extent(3, 8, 0.5, kinds[places[0]] if places else "")
    valued = replace(plain, findings=(*findings, Finding("zeros", "3 are 0")))
    two = case("scale", "differ", buffers=(BufferVerdict("b", "differ", comparisons=(valued,)),))
    assert cause_of(two) == "differ: zeros"
    assert extent_of(case("scale")) is None


def test_a_fault_has_the_line_of_its_location_before_one_of_its_text() -> None:
    fault = Fault("race", "race at scale.cu:9", location=FaultLocation(file="dot.cuh", line=4))
    assert cause_of(case("a", "fault", outcome=Outcome("a", "fault", fault))) == "race at dot.cuh:4"


def test_a_case_that_is_too_slow_has_one_cause_however_slow_it_is() -> None:
    timing = TimingComparison("slower", "time", "1.42 times slower than accepted", fails=True)
    verdict = Verdict("a", "a", "differ", "1.42 times slower than accepted; SM clock 1980 MHz", timing=timing)
    assert cause_of(verdict) == "slower than accepted"
