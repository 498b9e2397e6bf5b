"""The arguments of `verify`: the two sides by position, all else by name, and only those that are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuregress.jobs.plan import comparison_rules
from gpuregress.jobs.plan.comparison_rules import chosen_parameters, parameters_of, signature_problem


def case_first(expected: Any, actual: Any, case: Any, tolerance: Any) -> None: ...
def tolerance_first(expected: Any, actual: Any, *, tolerance: Any, case: Any = None) -> None: ...
def unused(e: Any, a: Any, _case: Any) -> None: ...
def everything(*sides: Any, **named: Any) -> None: ...
def two(left: Any, right: Any, /) -> None: ...
def optional(expected: Any, actual: Any, rtol: float = 1e-5) -> None: ...
def misspelt(expected: Any, actual: Any, tolerence: Any) -> None: ...
def far_off(expected: Any, actual: Any, *, colour: Any) -> None: ...
def one(expected: Any) -> None: ...
def swapped(actual: Any, expected: Any) -> None: ...
def case_before(case: Any, actual: Any) -> None: ...
def by_position_only(expected: Any, actual: Any, case: Any, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (case_first, {"case": "case", "tolerance": "tolerance"}),
        (tolerance_first, {"tolerance": "tolerance", "case": "case"}),
        (unused, {"_case": "case"}),
        (everything, {name: name for name in comparison_rules.NAMES}),
        (two, {}),
        (optional, {}),
        (divmod, {}),
        (dict.fromkeys, {}),
    ],
)
def test_only_declared_parameters_are_passed(function: Callable[..., Any], names: dict[str, str]) -> None:
    parameters = parameters_of(function)
    assert signature_problem("f", parameters) is None
    assert chosen_parameters(parameters) == names


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (misspelt, "unknown parameter 'tolerence' (did you mean 'tolerance'?); after (expected, actual) verify passes"),
        (
            far_off,
            "unknown parameter 'colour'; after (expected, actual) verify passes by name: case, tolerance, buffer",
        ),
        (one, "f(expected: 'Any') does not take (expected, actual), which verify passes first"),
        (swapped, "has 'actual' in the wrong place; verify passes (expected, actual) first, in this order"),
        (case_before, "has 'case' in the wrong place"),
        (by_position_only, "unknown parameter 'case'"),
    ],
)
def test_a_function_that_cannot_be_called_is_explained(function: Callable[..., Any], text: str) -> None:
    assert text in str(signature_problem("f", parameters_of(function)))
