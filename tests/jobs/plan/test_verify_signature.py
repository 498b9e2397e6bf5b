"""A `verify` function that cannot be called is an error of the job, with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Rule, VerifyTolerance
from gpuregress.jobs import plan
from tests.jobs.plan.projects import JOB, project

FUNCTIONS = """\
import functools


def odd(expected, actual, tol):
    return True


def good(expected, actual, /, *, tolerance, case=None, **rest):
    return True


@functools.cache
def decorated(expected, actual, tol):
    return True


replaced = odd


def replaced(expected, actual):
    return True


def variable(expected, actual, tol):
    return True


variable = functools.partial(variable, tol=1)
"""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("verify.sum", "verify: {sum: mine.py:odd}"),
        ("compare.sum.verify", "compare: {sum: {verify: mine.py:odd}}"),
        (
            "reference.sum.compare.verify",
            "reference: {sum: {python: reference.py:block_sums, compare: {verify: mine.py:odd}}}",
        ),
    ],
)
def test_an_unknown_parameter_is_an_error_of_the_job(tmp_path: Path, key: str, text: str) -> None:
    place = project(tmp_path, reduce=f"{JOB}{text}\n")
    (tmp_path / "configs" / "mine.py").write_text(FUNCTIONS)
    with pytest.raises(JobErrors) as caught:
        plan.make(place, [])
    (error,) = caught.value.errors
    assert error.key == key
    assert f"{tmp_path}/configs/mine.py:4: odd(expected, actual, tol) has the unknown parameter 'tol'" in error.message
    assert "case, tolerance, buffer, dtype" in error.message


@pytest.mark.parametrize("name", ["good", "decorated", "replaced", "variable"])
def test_what_can_be_called_or_is_not_plain_to_see_is_planned(tmp_path: Path, name: str) -> None:
    place = project(tmp_path, reduce=f"{JOB}verify: {{sum: mine.py:{name}}}\n")
    (tmp_path / "configs" / "mine.py").write_text(FUNCTIONS)
    case = plan.make(place, []).cases[0]
    assert case.compare["sum"] == Rule(verify=f"{tmp_path}/configs/mine.py:{name}")


def test_a_rule_beside_verify_supplies_the_tolerance(tmp_path: Path) -> None:
    text = f"{JOB}compare: {{sum: {{rtol: 1.0e-5, ulp: 4}}}}\nverify: {{sum: reference.py:totals_agree}}\n"
    text += "reference: {sum: {python: reference.py:block_sums, compare: {atol: 0.5}}}\n"
    case = plan.make(project(tmp_path, reduce=text), []).cases[0]
    function = f"{tmp_path}/configs/reference.py:totals_agree"
    assert case.compare["sum"].verify == case.reference_rules["sum"].verify == function
    assert case.compare["sum"].tolerance == VerifyTolerance(1e-5, 0.0, 4)
    assert case.reference_rules["sum"].tolerance == VerifyTolerance(0.0, 0.5, 0)


BY_POSITION = """\
def exchanged(case, inputs): return 0
def one(inputs): return 0
def three(inputs, case, more): return 0
def named(inputs, *, case): return 0
def any_names(a, _case, more=1): return 0
def star(*both): return 0
"""


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (
            "reference.sum",
            "reference: {sum: mine.py:exchanged}",
            "has 'case' in the wrong place; it is called with",
        ),
        ("reference.sum", "reference: {sum: mine.py:one}", "one(inputs) does not take (inputs, case)"),
        (
            "reference.sum.python",
            "reference: {sum: {python: mine.py:three}}",
            "more) does not take (inputs, case)",
        ),
        ("reference.sum", "reference: {sum: mine.py:named}", "does not take (inputs, case)"),
        (
            "checks.sum",
            "checks: {sum: [{python: mine.py:exchanged}]}",
            "it is called with (array, case), in",
        ),
    ],
)
def test_arguments_in_another_order_or_number_are_an_error_of_the_job(
    tmp_path: Path, key: str, text: str, message: str
) -> None:
    place = project(tmp_path, reduce=f"{JOB}{text}\n")
    (tmp_path / "configs" / "mine.py").write_text(BY_POSITION)
    with pytest.raises(JobErrors) as caught:
        plan.make(place, [])
    (error,) = caught.value.errors
    assert error.key == key
    assert message in error.message
    assert f"{tmp_path}/configs/mine.py:" in error.message


@pytest.mark.parametrize("name", ["any_names", "star"])
def test_names_of_arguments_by_position_are_free(tmp_path: Path, name: str) -> None:
    place = project(tmp_path, reduce=f"{JOB}reference: {{sum: mine.py:{name}}}\n")
    (tmp_path / "configs" / "mine.py").write_text(BY_POSITION)
    assert plan.make(place, []).cases[0].reference == {"sum": f"{tmp_path}/configs/mine.py:{name}"}
