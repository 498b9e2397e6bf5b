"""Valid configurations, and functions of them as expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.api.kernel_tuner.search_space import SearchSpace
from gpuregress.errors import UsageError
from gpuregress.spec import expressions


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


@pytest.mark.parametrize(
    ("parameters", "restrictions", "words"),
    [
        ({"x": 32}, None, "tune_params: x is 32: pass a list of its values"),
        ({"x": "32"}, None, "tune_params: x is '32': pass a list"),
        ({"x": []}, None, "a parameter has no value"),
        ({"x": [object()]}, None, "is neither a number, a boolean nor text"),
        ({"a": range(1000), "b": range(1000)}, None, "make 1,000,000 configurations"),
        ({"x": [1]}, "x > 1", "restrictions leave no configuration"),
        ({"x": [1]}, [3], "3 is neither an expression nor a function"),
        ({"x": [1]}, ["blok > 1"], "unknown parameter 'blok'"),
        ({"x": range(3000)}, lambda p: p["x"] == 0, "2,999 configurations are left out by a function"),
    ],
)
def test_what_is_no_space_is_refused(parameters: Any, restrictions: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SearchSpace(parameters, restrictions)
