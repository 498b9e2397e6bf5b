from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.foundation.records import (
    Buffer,
    Check,
    ElementCount,
    Fill,
    KnownRows,
    NoOptions,
    Outliers,
    Rule,
    Sigmas,
    StatisticLimits,
)
from gpuregress.jobs.spec.models.rules import CheckSpec, RuleSpec
from gpuregress.jobs.spec.resolve import rules
from gpuregress.jobs.spec.resolve.scope import Scope

BUFFERS = {
    "a": Buffer("a", "float32", (8,)),
    "b": Buffer("b", "float32", (8,), Fill("ones", NoOptions(), 0)),
    "c": Buffer("c", "int32", (8,), Fill("ones", NoOptions(), 0)),
}


@pytest.fixture
def scope() -> Scope:
    return Scope({"n": 8}, Problems(Document(Path("job.yaml"), {}, {})))


def rule(scope: Scope, given: dict[str, Any], dtype: str = "float32") -> Rule:
    return rules.rule(scope, RuleSpec.of(given), dtypes.parse(dtype), ("compare", "a"))


def checks(scope: Scope, *given: Any) -> tuple[Check, ...]:
    items = [CheckSpec.of(item) for item in given]
    return rules.checks(scope, items, BUFFERS["a"], BUFFERS, ("checks", "a"))


def test_a_rule_gets_its_numbers(scope: Scope) -> None:
    assert rule(scope, {"rtol": "1 / n"}) == Rule(rtol=0.125, atol=0.0)
    outliers = {"fraction": 0.5, "atol": "n"}
    assert rule(scope, {"ulp": 2, "outliers": outliers}) == Rule(ulp=2, outliers=Outliers(0.5, 0.0, 8.0))
    assert rule(scope, {"key": ["id"]}, "{id:int32,score:float32}").key == ("id",)
    assert rule(scope, {"statistics": {"mean": {"sigmas": 5}}}).statistics == StatisticLimits(mean=Sigmas(5.0))
    assert not scope.problems.errors


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rtol": -1}, "it must be at least 0"),
        ({"outliers": {"fraction": 0.1}}, "needs the second bound"),
        ({"outliers": {"fraction": 1, "atol": 1}}, "it must be below 1"),
        ({"metric": {}}, "expected one of rms, max, mean, l2, got none"),
        ({"statistics": {}}, "expected one of mean, variance, ks, got none"),
        ({"key": ["id"]}, "unknown column 'id'; float32 has no columns"),
    ],
)
def test_what_is_no_rule(scope: Scope, given: dict[str, Any], text: str) -> None:
    rule(scope, given)
    assert text in scope.problems.errors[0].message


def test_checks_get_their_numbers(scope: Scope) -> None:
    actual = checks(scope, "finite", {"nonzero": "n"}, {"range": [0, "n"]}, {"all_equal": 0.5}, {"equals": "b"})
    assert actual == (
        Check("finite"),
        Check("nonzero", 8),
        Check("range", (0, 8)),
        Check("all_equal", 0.5),
        Check("equals", "b"),
    )
    assert not scope.problems.errors


def test_counts_and_rows_get_their_numbers(scope: Scope) -> None:
    given = {"nonzero": {"exactly": "n - 1"}}, {"rows": {"0": 0.0, "-1": "n", "n - 2": [0.5]}}
    assert checks(scope, *given) == (
        Check("nonzero", ElementCount(exactly=7)),
        Check("rows", KnownRows({"0": (0.0,), "7": (8,), "6": (0.5,)})),
    )
    assert not scope.problems.errors


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"nonzero": {"exactly": 9}}, "is 9: elements must be at most 8"),
        ({"nonzero": {"at_least": 5, "at_most": 3}}, "at_least 5 is over at_most 3"),
        ({"nonzero": {"at_most": 8}}, "is 8: a has no more elements, so it can never fail"),
        ({"rows": {"8": 0}}, "a row's number must be at most 7"),
        ({"rows": {"0": 0, "-8": 1}}, "row 0 is given twice"),
        ({"rows": {"0": [1, 2]}}, "has 2 values; a row of a has 1"),
        ({"rows": {"0": 1e40}}, "too large for float32"),
        ({"equals": "none"}, "unknown buffer 'none'"),
        ({"equals": "a"}, "a has no fill"),
        ({"permutation": "c"}, "c and a differ in dtype or size"),
        ({"range": [2, 1]}, "is empty: low comes first"),
    ],
)
def test_what_is_no_check(scope: Scope, given: dict[str, Any], text: str) -> None:
    checks(scope, given)
    assert text in scope.problems.errors[0].message


def device_checks(scope: Scope, **given: list[str]) -> tuple[str, ...]:
    specs = {name: [CheckSpec.of(item) for item in items] for name, items in given.items()}
    return rules.device_checks(scope, specs, {"a": None})


def test_the_checks_of_the_device_stand_beside_those_of_buffers(scope: Scope) -> None:
    assert device_checks(scope, device=["leaks", "races"], a=["finite"]) == ("races", "leaks")
    assert not len(scope.problems)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"device": ["finite"]}, "is not a check of the device: use races"),
        ({"a": ["races"]}, "is a check of the device, not of a buffer: write device: [races]"),
    ],
)
def test_what_is_no_check_of_the_device(scope: Scope, given: dict[str, list[str]], text: str) -> None:
    device_checks(scope, **given)
    assert text in scope.problems.errors[0].message
