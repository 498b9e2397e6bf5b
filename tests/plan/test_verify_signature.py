"""A `verify` function that cannot be called is an error of the job, with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress import plan
from gpuregress.errors import JobErrors
from gpuregress.records import Rule, VerifyTolerance
from tests.plan.projects import JOB, project

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
