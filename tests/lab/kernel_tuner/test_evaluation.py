"""Values of numbers, expressions and functions in a configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.lab.kernel_tuner import search_space

NAMES = {"x": 6, "real": "float", "fast": True}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3),
        ("x // 4", 1),
        ("ceil(x / 4)", 2),
        ("x in (6, 7)", True),
        ("fast == True", True),
        ("int(np.log2(x))", 2),
        ('real == "float" and x > 5', True),
        (lambda names: names["x"] + 1, 7),
    ],
)
def test_a_value_is_that_of_python(given: Any, expected: object) -> None:
    assert search_space.value("problem_size", given, NAMES) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "y * 2",
            r"problem_size: cannot evaluate 'y \* 2': unknown parameter 'y'.*\(where x=6, real=float, fast=True\)",
        ),
        ("x <", "problem_size: cannot evaluate 'x <': SyntaxError"),
        ("y in (1, 2)", "NameError: name 'y' is not defined"),
        ("x / 0", "cannot evaluate 'x / 0': division by zero"),
        ("", "SyntaxError"),
    ],
)
def test_an_expression_without_a_value_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        search_space.value("problem_size", text, NAMES)


def test_a_whole_number_is_cut_from_an_expression_and_otherwise_demanded() -> None:
    assert search_space.whole("n", "x / 4", NAMES) == 1
    assert search_space.whole("n", np.int64(5), NAMES) == 5
    for given in (2.5, None, "real", float("nan")):
        with pytest.raises(UsageError, match=r"n: .* is not a whole number"):
            search_space.whole("n", given, NAMES)


def test_restrictions_are_expressions_functions_and_pairs() -> None:
    assert search_space.holds("x == 6", NAMES)
    assert not search_space.holds(lambda p: p["x"] > 6, NAMES)
    assert search_space.holds(lambda x, real, fast: x == 6 and real == "float" and fast, NAMES)
    assert not search_space.holds((lambda x: x > 6, ["x"]), NAMES)
