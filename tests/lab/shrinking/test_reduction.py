"""Reduction against a runner that knows when a job fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.records import Buffer, Case, Fill, NoOptions
from gpuregress.lab.shrinking.reduction import Reduction, elements
from gpuregress.lab.shrinking.simpler_jobs import Job
from gpuregress.lab.shrinking.trials import Failure, Trial
from tests import fakes

KIND = Failure("differ", sides=(("out", "reference"),))


def case_of(job: Job) -> Case:
    numbers = {name: values[0] for name, values in job["parameters"].items()}
    fill = Fill(job["buffers"]["x"]["fill"], NoOptions(), 0)
    shape = (max(1, abs(int(numbers["n"]))),)
    buffers = {"x": Buffer("x", "float32", shape, fill), "out": Buffer("out", "float32", shape)}
    return fakes.case("double", parameters=numbers, buffers=buffers)


@dataclass
class Oracle:
    """A runner whose jobs fail where a function of their numbers and their fill says so."""

    fails: Callable[[dict[str, Any], str], bool]
    most: int = 1_000_000
    batches: list[int] = field(default_factory=list)

    def run(self, jobs: Sequence[Job]) -> list[Trial]:
        if len(self.batches) >= self.most:
            raise Interrupted("interrupted")
        self.batches.append(len(jobs))
        return [self.trial(job) for job in jobs]

    def trial(self, job: Job) -> Trial:
        case = case_of(job)
        fails = self.fails(dict(case.parameters), job["buffers"]["x"]["fill"])
        return Trial(job, case, KIND if fails else None)


def reduced(oracle: Oracle, seconds: float = 60.0, **numbers: float) -> tuple[dict[str, Any], Reduction]:
    job: Job = {"job": "j", "parameters": {name: [value] for name, value in numbers.items()}}
    job["buffers"] = {"x": {"dtype": "float32", "shape": ["n"], "fill": "normal"}}
    search = Reduction(oracle, Trial(job, case_of(job), KIND), KIND, time.monotonic() + seconds, lambda _line: None)
    search.run()
    return dict(search.case.parameters), search


@given(st.integers(1, 5000), st.integers(0, 100_000))
def test_the_exact_border_of_a_monotone_failure(border: int, more: int) -> None:
    oracle = Oracle(lambda numbers, _fill: numbers["n"] >= border)
    assert reduced(oracle, n=border + more)[0] == {"n": border}
    assert max(oracle.batches) <= 8
    assert sum(oracle.batches) < 250


def test_numbers_that_depend_on_each_other() -> None:
    oracle = Oracle(lambda numbers, _fill: numbers["n"] > 2 * numbers["tile"] > 16 and numbers["tile"] % 2 == 0)
    found, search = reduced(oracle, n=4096, tile=256)
    assert found == {"n": 21, "tile": 10}
    assert search.changes["n"][0] == "4096"
    assert search.changes["n"][1] == "21"


def test_a_plain_input_where_it_fails_as_well() -> None:
    _, search = reduced(Oracle(lambda _numbers, fill: fill != "zeros"), n=1)
    assert (search.job["buffers"]["x"]["fill"], search.changes["x"]) == ("ones", ("normal", "ones"))


def test_inputs_stay_where_a_check_judges() -> None:
    oracle, search = Oracle(lambda _numbers, _fill: True), reduced(Oracle(lambda _numbers, _fill: True), n=1)[1]
    checked = Failure("differ", sides=(("out", "check"),))
    again = Reduction(oracle, Trial(search.job, search.case, checked), checked, search.deadline, search.listen)
    again.best.job["buffers"]["x"]["fill"] = "normal"
    again.run()
    assert again.job["buffers"]["x"]["fill"] == "normal"


def test_a_failure_of_another_kind_is_no_hit() -> None:
    class Other(Oracle):
        def trial(self, job: Job) -> Trial:
            found = super().trial(job)
            return found if found.failure else Trial(job, found.case, Failure("differ", sides=(("out", "check"),)))

    assert reduced(Other(lambda numbers, _fill: numbers["n"] > 99), n=1000)[0] == {"n": 100}


def test_a_smaller_number_must_not_lengthen_the_inputs() -> None:
    class Grows(Oracle):
        def trial(self, job: Job) -> Trial:
            found = super().trial(job)
            assert found.case is not None
            x = Buffer("x", "float32", (100 // max(1, int(found.case.parameters["n"])),), Fill("ones", NoOptions(), 0))
            return Trial(job, fakes.case("double", parameters=found.case.parameters, buffers={"x": x}), found.failure)

    assert reduced(Grows(lambda _numbers, _fill: True), n=4)[0] == {"n": 4}


@pytest.mark.parametrize(("oracle", "seconds", "why"), [(1_000_000, 0.0, "the time is over"), (1, 60.0, "interrupted")])
def test_the_best_so_far_is_kept(oracle: int, seconds: float, why: str) -> None:
    found, search = reduced(Oracle(lambda _numbers, _fill: True, most=oracle), seconds, n=1000)
    assert search.stopped == why
    assert found["n"] <= 1000


def test_elements_of_the_inputs() -> None:
    assert elements(fakes.case("double", count=8)) == 8


@pytest.mark.parametrize(("status", "keys"), [("differ", set[str]()), ("timeout", {"limits"})])
def test_the_limit_that_ends_a_hang_stays(status: str, keys: set[str]) -> None:
    kind = Failure(status)
    job: Job = {"job": "j", "parameters": {"n": [1]}, "buffers": {"x": {"fill": "zeros"}}}
    first = Trial({**job, "limits": {"timeout": 1}, "retries": 3}, case_of(job), kind)

    class Failing(Oracle):
        def trial(self, job: Job) -> Trial:
            return Trial(job, case_of(job), kind)

    search = Reduction(Failing(lambda _numbers, _fill: True), first, kind, time.monotonic() + 60, lambda _line: None)
    search.run()
    assert set(search.job) - set(job) == keys
