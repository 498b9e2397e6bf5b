from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import FaultLocation
from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    ErrorFigures,
    Extent,
    Fault,
    Finding,
    Outcome,
    TimingComparison,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge.nights import cause_of, extent_of
from gpuregress.judge.nights.causes import without_numbers
from tests import fakes
from tests.judge.nights.nights import case


def faulty(message: str, position: int | None = 0) -> Outcome:
    return Outcome("fake/fault", "fault", Fault("out-of-bounds", message, ("scale.cu:5 in scale",), 3, position))


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


def test_an_error_is_named_by_its_message_without_numbers_and_names_of_runs() -> None:
    known = "passes, but is known_failing until 2026-12-24 (new card): remove the key"
    assert without_numbers(known) == "passes, but is known_failing until N (new card): remove the key"
    text = "process 4711 was killed in 20261122T020000Z-3f2a after 30 s at /tmp/x/y"
    assert cause_of(case("scale", "error", reason=text)) == "error: process N was killed in N after N s at N"


def test_a_difference_without_a_pattern_is_named_by_what_was_compared() -> None:
    compared = Comparison("out", "check", "", same=False, identical=False, of=8, message="3 of 8 are not finite")
    one = case("scale", "differ", reason="", buffers=(BufferVerdict("out", "differ", comparisons=(compared,)),))
    assert cause_of(one) == "differ: out (check): N of N are not finite"
    found = replace(compared, findings=(Finding("nan", "3 are NaN"),))
    two = case("scale", "differ", reason="", buffers=(BufferVerdict("out", "differ", comparisons=(found,)),))
    assert cause_of(two) == "differ: nan"


@pytest.mark.parametrize("places", [(), ("thread",), ("column", "stride"), ("tail",)])
def test_a_cause_does_not_depend_on_the_shape(places: tuple[str, ...]) -> None:
    findings = tuple(Finding(place, f"{place}: 3 of 8") for place in places)
    figures = ErrorFigures(max_abs=0.5, max_rel=1.0, misplaced_nan_or_inf=0, worst={})
    plain = Comparison(
        "b", "baseline", "", same=False, identical=False, of=8, differing=3, message="3 of 8 differ", findings=findings,
        figures=figures,
    )  # fmt: skip
    one = case("scale", "differ", buffers=(BufferVerdict("b", "differ", comparisons=(plain,)),))
    assert cause_of(one) == "differ: b (baseline)"
    kinds = {"thread": "periodic", "column": "periodic", "tail": "contiguous"}
    assert extent_of(one) == Extent(3, 8, 0.5, kinds[places[0]] if places else "")
    valued = replace(plain, findings=(*findings, Finding("zeros", "3 are 0")))
    two = case("scale", "differ", buffers=(BufferVerdict("b", "differ", comparisons=(valued,)),))
    assert cause_of(two) == "differ: zeros"
    assert extent_of(case("scale")) is None


def test_a_fault_has_the_line_of_its_location_before_one_of_its_text() -> None:
    fault = Fault("race", "race at scale.cu:9", location=FaultLocation(file="dot.cuh", line=4))
    assert cause_of(case("a", "fault", outcome=Outcome("a", "fault", fault))) == "race at dot.cuh:4"


@given(st.text(), st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbers_do_not_change_a_cause(text: str, one: int, other: int) -> None:
    assert without_numbers(f"{text} {one} of 9") == without_numbers(f"{text} {other} of 7")
    assert "\n" not in without_numbers(text)


def test_a_case_that_is_too_slow_has_one_cause_however_slow_it_is() -> None:
    timing = TimingComparison("slower", "time", "1.42 times slower than accepted", fails=True)
    verdict = Verdict("a", "a", "differ", "1.42 times slower than accepted; SM clock 1980 MHz", timing=timing)
    assert cause_of(verdict) == "slower than accepted"
