from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.jobs.spec.resolve.scope import Scope, shown


@pytest.fixture
def scope() -> Scope:
    return Scope({"n": 1000, "x": 0.5}, Problems(Document(Path("job.yaml"), {}, {})), "n=1000,x=0.5")


def messages(scope: Scope) -> list[str]:
    return [error.message for error in scope.problems.errors]


def test_values(scope: Scope) -> None:
    assert scope.number("n * x", ("seed",)) == 500.0
    assert scope.whole("n / 4", ("seed",), low=1, what="") == 250
    assert scope.real("x", ("seed",), low=0, above=True) == 0.5
    assert scope.with_step(3).number("step + 1", ("seed",)) == 4
    assert not messages(scope)


def test_an_error_names_the_case_if_it_depends_on_it(scope: Scope) -> None:
    assert scope.whole("n", ("a",), low=1, high=10, what="blocks") is None
    assert scope.whole(0, ("b",), low=1, what="blocks") is None
    assert scope.real("x", ("c",), low=0, high=0.25) is None
    assert scope.number("m", ("d",)) is None
    assert messages(scope) == [
        "'n' is 1000: blocks must be at most 10 (in case n=1000,x=0.5)",
        "is 0: blocks must be at least 1",
        "'x' is 0.5: it must be at least 0 and at most 0.25 (in case n=1000,x=0.5)",
        "cannot evaluate 'm': unknown parameter 'm'; there are: n, x",
    ]


def test_a_plain_number_is_not_quoted() -> None:
    assert (shown("n", 5), shown("5", 5), shown(5, 5)) == ("'n' is 5", "is 5", "is 5")


def test_the_seed_and_the_step_are_names_and_no_parameters(scope: Scope) -> None:
    inner = scope.with_seed(7).with_step(3)
    assert inner.number("seed * step", ("a",)) == 21
    assert inner.with_seed(8).number("seed", ("a",)) == 8
    assert inner.parameters == scope.parameters == {"n": 1000, "x": 0.5}
    named = Scope({"seed": 3}, scope.problems)
    assert named.with_seed(7).parameters == {"seed": 3}, "a parameter of that name is meant"
