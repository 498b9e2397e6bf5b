"""Valid configurations, and functions of them as expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.jobs.spec import expressions
from gpuregress.lab.kernel_tuner import search_space
from gpuregress.lab.kernel_tuner.search_space import SearchSpace


def test_values_are_pythons_own() -> None:
    space = SearchSpace({"x": 2 ** np.arange(3), "fast": np.array([True])}, ["x <= 2"])
    assert [list(map(type, one.values())) for one in space.valid] == [[int, bool], [int, bool]]
    assert space.where == ["x <= 2"]


def test_what_no_expression_says_is_left_out_one_by_one() -> None:
    pair = (lambda x: x != 2, ["x"])
    for given in (pair, [pair], lambda p: p["x"] != 2):
        space = SearchSpace({"x": [1, 2, 3]}, given)
        assert [one["x"] for one in space.valid] == [1, 3]
        assert space.where == ["not (x == 2)"]


def test_a_function_is_a_number_a_parameter_a_text_or_a_table() -> None:
    space = SearchSpace({"x": [1, 2, 3], "kind": ["a", "b"]}, None)
    assert space.expression("n", lambda _one: 7) == 7
    assert space.expression("n", lambda one: one["x"]) == "x"
    assert space.expression("n", lambda one: 2 * one["x"], "x * 2") == "x * 2"
    table = space.expression("n", lambda one: one["x"] ** 2 if one["kind"] == "a" else 0, "x * x")
    assert [expressions.evaluate(table, one) for one in space.valid] == [1, 0, 4, 0, 9, 0]


def test_configurations_are_counted_behind_the_restrictions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_space, "MAX_CASES", 50)
    space = SearchSpace({"a": range(100), "b": range(100)}, ["a == b", "b % 2 == 0"])
    assert len(space.valid) == 50
    assert space.where == ["a == b", "b % 2 == 0"]
    with pytest.raises(UsageError, match="more than 50 configurations that meet the restrictions"):
        SearchSpace({"a": range(100), "b": range(100)}, "a == b")


def test_an_expression_that_only_python_evaluates_leaves_out_one_by_one() -> None:
    for text in ("a in (1, 2)", "6 % a == 0 if a else False", "a and 6 // a > 2"):
        space = SearchSpace({"a": range(5)}, ["a < 4", text])
        assert [one["a"] for one in space.valid] == [a for a in range(4) if eval(text, {}, {"a": a})]
        assert space.where[0] == "a < 4"


@pytest.mark.parametrize(
    ("parameters", "restrictions", "words"),
    [
        ({"x": 32}, None, "tune_params: x is 32: pass a list of its values"),
        ({"x": "32"}, None, "tune_params: x is '32': pass a list"),
        ({"x": []}, None, "a parameter has no value"),
        ({"x": [object()]}, None, "is neither a number, a boolean nor text"),
        ({"a": range(1000), "b": range(1000)}, None, "make 1,000,000 configurations"),
        ({"a": range(3000), "b": range(3000)}, "a == b", "make 9,000,000 configurations: at most 5,000,000 are tried"),
        ({"x": [1]}, "x > 1", "restrictions leave no configuration"),
        ({"x": [1]}, [3], "3 is neither an expression nor a function"),
        ({"x": [1]}, ["blok > 1"], "unknown parameter 'blok'"),
        ({"x": range(3000)}, lambda p: p["x"] == 0, "2,999 configurations are left out by a function"),
    ],
)
def test_what_is_no_space_is_refused(parameters: Any, restrictions: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SearchSpace(parameters, restrictions)
