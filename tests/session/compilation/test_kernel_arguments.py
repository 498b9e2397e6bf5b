from __future__ import annotations

from collections.abc import Collection, Sequence

from gpuregress.foundation.errors import HarnessError, InfeasibleSource
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.session.compilation import kernel_arguments
from gpuregress.session.compilation.builder import Built
from tests.session.compilation.crews import case_of


def names(cases: Sequence[Case], infeasible: Collection[str] = ()) -> list[str]:
    error = InfeasibleSource("k.cu:1: error: static assertion failed")

    def compile_cases(wanted: Sequence[Case]) -> dict[str, Built]:
        return {case.name: error if case.name in infeasible else HarnessError("no compiler") for case in wanted}

    return [case.name for case in kernel_arguments.compiled_samples(cases, compile_cases)[0]]


def test_a_job_is_held_against_its_kernels_by_one_case() -> None:
    cases = [case_of("a", "/one.cu"), case_of("b", "/one.cu"), case_of("c", "/two.cu")]
    assert names(cases) == ["a", "c"]
    other = replace(cases[1], path="another job")
    assert names([cases[0], other]) == ["a", "b"]


def test_a_feasible_case_stands_in_for_one_that_is_skipped() -> None:
    cases = [case_of(name, "/one.cu") for name in "abc"]
    skipping = [replace(case, settings=replace(case.settings, infeasible="skip")) for case in cases]
    assert names(skipping, {"a", "b"}) == ["c"]
    assert names(skipping, {"a", "b", "c"}) == []
    assert names(cases, {"a", "b"}) == ["a"]
