from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import ExpressionError, evaluate, evaluate_whole

NAMES: dict[str, expressions.Value] = {"n": 1000, "tile": 128, "x": 0.5, "big": 2**60}
KEYWORDS: dict[str, expressions.Value] = {"lambda": 3, "if": 4, "True": 1, "p_n": 4}
"""Names that mean something else to Python, or look like the parser's own."""


def python(text: str) -> Any:
    """Python's own answer, the oracle."""
    functions = {"ceil": math.ceil, "floor": math.floor, "min": min, "max": max, "log2": math.log2}
    return eval(text, {"__builtins__": {}}, {**NAMES, **functions})


ATOMS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e6, allow_nan=False).map(repr),
    st.sampled_from(sorted(NAMES)),
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or"])
    return st.one_of(
        st.tuples(inner, binary, inner).map(" ".join),
        st.tuples(inner, st.sampled_from(["0", "1", "2", "3"])).map(lambda pair: f"({pair[0]}) ** {pair[1]}"),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
        inner.map(lambda text: f"(not {text})"),
        inner.map(lambda text: f"floor({text})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda items: f"max({', '.join(items)})"),
        st.tuples(inner, inner, inner).map(lambda items: f"{items[0]} < {items[1]} <= {items[2]}"),
    )


@given(st.recursive(ATOMS, compound, max_leaves=8))
def test_means_what_python_means(text: str) -> None:
    try:
        expected = python(text)
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(ExpressionError):
            evaluate(text, NAMES)
        return
    try:
        result = evaluate(text, NAMES)
    except ExpressionError as error:
        # Only what is larger than the limit may be refused where Python answers.
        assert any(reason in str(error) for reason in ("exceeds 2**128", "exceeds the range of float64"))  # noqa: PT017 - or a value
        return
    if isinstance(result, int) and isinstance(expected, float):  # a quotient, exact
        assert (float(result), abs(result) > 2**53) == (expected, True)
        return
    assert result == expected
    assert isinstance(result, float) == isinstance(expected, float)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        assert isinstance(evaluate(text, NAMES), int | float)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("2 ** -1", 0.5),
        ("7 // -2", -4),
        ("-7 % 3", 2),
        ("ceil(n / tile)", 8),
        ("ceil((big * 8 + 1) / 8)", 2**60 + 1),
        ("floor((big + 1) / 1)", 2**60 + 1),
        ("ceil(log2(big + 1))", 61),
        ("floor(log2(big - 1))", 59),
        ("log2(1024)", 10),
        ("sizeof(float4) * 2", 32),
        ("min(3, n, x)", 0.5),
        ("1_000", 1000),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("n == 1000 and tile != 3", True),
        ("0 or tile", 128),
        ("n == 0 and 1 / 0 > 0", False),
        ("not n", False),
        ("lambda * if + True", 13),
        ("007", 7),
        ("(2**62 + 1) / 1", 2**62 + 1),
        ("-(2**64 + 2) / 2", -(2**63) - 1),
        ("4 / 2", 2.0),
        ("2026 - 01 - 01", 2024),
        ("4096-64", 4032),
        ("p_n", 4),
    ],
)
def test_values(text: str, value: float) -> None:
    result = evaluate(text, NAMES | KEYWORDS)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("n +", "unexpected end"),
        ("(n", "')' is missing at the end"),
        ("ceil(n m)", "unexpected 'm' at column 8"),
        ("n)", "unexpected ')' at column 2"),
        ("2 * / 3", "unexpected '/' at column 5"),
        ("1 + not 2", "unexpected 'not' at column 5"),
        ("n, 2", "a comma separates a function's arguments only"),
        ("min(1, 2,)", "unexpected ')' at column 10"),
        ("min(*n)", "unexpected '*' at column 5"),
        ("max(**n)", "unexpected '**' at column 5"),
        ("ceil()", "unexpected ')' at column 6"),
        ("(n)(2)", "unexpected '(' at column 4"),
        ("2(3)", "unexpected '(' at column 2"),
        ("n := 2", "unexpected ':' at column 3"),
        ("lambda: n", "unexpected ':' at column 7"),
        ("f'{n}'", "unexpected \"'{n}'\" at column 2"),
        ("n == 'a", 'unexpected "\'" at column 6'),
        ("n << 2", "unexpected '<' at column 4"),
        ("1j", "invalid number '1j'"),
        ("__import__('os')", "unknown function '__import__'"),
        ("n m", "unexpected 'm' at column 3"),
        ("n.real", "unexpected '.' at column 2"),
        ("'a'", "it is the text 'a'; expected a number"),
        ("[1]", "unexpected '[' at column 1"),
        ("n if n else 2", "unexpected 'if' at column 3"),
        ("open(n)", "unknown function 'open'"),
        ("ciel(n)", "unknown function 'ciel'; did you mean 'ceil'?"),
        ("ceil", "'ceil' is a function: write ceil(…)"),
        ("ceil(1, 2)", "ceil takes one number"),
        ("min(1)", "min takes two or more numbers"),
        ("sizeof(flot)", "sizeof takes a dtype, and 'flot' is not one"),
        ("sizeof(n)", "sizeof takes a dtype or a C++ type, and n is 1000"),
        ("sizeof()", "sizeof takes a dtype, and '' is not one"),
        ("1x", "invalid number '1x'"),
        ("n / 0", "division by zero"),
        ("n // 0", "division by zero"),
        ("n % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("9 ** 9 ** 9 ** 9", "exceeds 2**128"),
        ("2 ** 64 * 2 ** 64 * 2", "exceeds 2**128"),
        ("10.0 ** 400", "exceeds the range of float64"),
        ("1e999", "exceeds the range of float64"),
        ("(-8) ** 0.5", "root of a negative number"),
        ("2026-01-01", "it is a date; a difference has spaces around its signs"),
        ("2026-05", "it is a date"),
        ("log2(0)", "logarithm of a number that is not positive"),
        ("tlie", "unknown parameter 'tlie'; did you mean 'tile'?"),
        ("(" * 200 + "1" + ")" * 200, "nested deeper than 60 levels"),
        ("-" * 900 + "1", "nested deeper than 60 levels"),
        ("1**" * 300 + "1", "nested deeper than 60 levels"),
        ("1+" * 600 + "1", "longer than 1000 characters"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert reason in str(caught.value)


TEXTS: dict[str, expressions.Value] = {"real": "float", "wide": "unsigned long long", "fast": True, "n": 1000}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("real", "float"),
        ("fast", True),
        ("true", True),
        ("real == 'float'", True),
        ('real != "double" and n > 3', True),
        ("'float' == real", True),
        ("n == 'auto'", False),
        ("real == 3", False),
        ("fast == true", True),
        ("fast == 1", True),
        ("not fast or 3 < n == 1000", True),
        ("sizeof(real) * n", 4000),
        ("sizeof(wide)", 8),
        ("sizeof(double)", 8),
    ],
)
def test_values_of_every_kind(text: str, value: expressions.Value) -> None:
    result = expressions.evaluate_any(text, TEXTS)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("real == float", "unknown parameter 'float'; text is written in quotes: \"float\""),
        ("real + 1", "real is 'float', which is text: text can only be compared, by == and !="),
        ("real < 'g'", "real is 'float', which is text"),
        ("3 < real", "real is 'float', which is text"),
        ("not real", "real is 'float', which is text"),
        ("ceil(real)", "real is 'float', which is text"),
        ("n and 'x'", "'x' is text"),
        ("fast == 'true'", "'true' is text, and it is compared with true or false: leave out the quotes"),
        ("real 'float'", "unexpected \"'float'\" at column 6"),
        ("'a' 'b'", "unexpected"),
    ],
)
def test_what_text_cannot_do(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        expressions.evaluate_any(text, TEXTS)
    assert reason in str(caught.value)


def test_the_parameters_of_an_expression() -> None:
    assert expressions.parse("sizeof(real) * n == 'tile' and sizeof(float4)").names == ("real", "n")


def test_a_long_sum_is_no_deep_nesting() -> None:
    assert evaluate("1+" * 400 + "1", {}) == 401


def test_a_stack_that_is_nearly_full_is_no_traceback() -> None:
    text = "1+" * 499 + "1"
    expressions.parse(text)

    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
        else:
            evaluate(text, {})

    with pytest.raises(ExpressionError, match="too many operations"):
        deeper(sys.getrecursionlimit() - 400)


def test_an_operand_is_evaluated_once() -> None:
    class Counted(dict[str, float]):
        lookups = 0

        def __getitem__(self, name: str) -> float:
            Counted.lookups += 1
            return super().__getitem__(name)

    deep = "ceil(x / " * 20 + "x" + ")" * 20
    assert evaluate(deep, Counted(x=0.5)) == 1
    assert Counted.lookups == 21
    assert evaluate("floor(log2(x * 3))", Counted(x=0.5)) == 0
    assert Counted.lookups == 22


def test_whole_numbers() -> None:
    assert evaluate_whole("n / 4", NAMES) == 250
    assert type(evaluate_whole("n / 4", NAMES)) is int
    assert evaluate_whole(2.0, {}) == 2
    with pytest.raises(ExpressionError, match=r"'n / 3' is 333.3+\d*: expected a whole number"):
        evaluate_whole("n / 3", NAMES)


def test_label_is_a_plain_name() -> None:
    assert [expressions.label(value) for value in ("n", " n ", "n+1", 5, "4")] == ["n", "n", "", "", ""]
