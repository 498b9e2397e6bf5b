from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from gpuregress.foundation.errors import HarnessError, InfeasibleSource
from gpuregress.foundation.records import Argument, Case
from gpuregress.gpu.records import replace
from gpuregress.session import checking
from gpuregress.session.compilation import Built
from tests import fakes
from tests.session.bench import Bench, words
from tests.session.crews import case_of


def names(cases: Sequence[Case], infeasible: Collection[str] = ()) -> list[str]:
    error = InfeasibleSource("k.cu:1: error: static assertion failed")

    def compile_cases(wanted: Sequence[Case]) -> dict[str, Built]:
        return {case.name: error if case.name in infeasible else HarnessError("no compiler") for case in wanted}

    return [case.name for case in checking.compiled_samples(cases, compile_cases)[0]]


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


@pytest.mark.parametrize(("kind", "code"), [("run", 2), ("nightly", 4)])
def test_a_variant_that_contradicts_its_kernel_is_an_error_alone(bench: Bench, kind: str, code: int) -> None:
    right, case = fakes.case("double"), fakes.case("double", name="fake/variant")
    launch = replace(case.launches[0], args=(*case.launches[0].args, Argument("null")))
    where = bench.project.configs / "fake.yaml"
    summary = bench.run(replace(right, path=str(where)), replace(case, path=str(where), launches=(launch,)), kind=kind)
    assert words(summary) == {"fake/double": "new", "fake/variant": "error"}
    assert summary.verdicts[1].reason.startswith("configs/fake.yaml: launches[0].args: double takes 2 arguments, not 3")
    assert (summary.exit_code, summary.verdicts[1].exit_code) == (code, code)
