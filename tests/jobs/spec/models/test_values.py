from __future__ import annotations

import math
from typing import Any

import pytest

from gpuregress.foundation.document import forms
from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models import values


def read(kind: Any, value: Any) -> Any:
    return forms.read(kind, value)


def test_values_are_kept_as_written() -> None:
    assert read(values.Expr, "n * 2") == "n * 2"
    assert read(values.Seconds, "2min") == 120.0
    assert read(values.Size, "4GiB") == 4 << 30
    assert read(values.Text, 1.5) == "1.5"
    assert read(values.LiteralValue, True) is True
    assert math.isnan(read(values.LiteralValue, "NaN"))
    assert read(values.LiteralValue, "-.inf") == -math.inf
    assert read(values.LiteralValues, [1, "n"]) == [1, "n"]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (values.Expr, True, "expected a number or an expression, got true"),
        (values.Expr, "n +", "invalid expression 'n \\+'"),
        (values.Expr, math.inf, "expected a finite number"),
        (values.Expr, 2**128, "at most 128 bits"),
        (values.LiteralValues, [], "got an empty list"),
        (values.Name, "a-b", "invalid name 'a-b'"),
        (values.ParameterName, "step", "reserved name 'step'"),
        (values.FunctionPath, "f", "expected path.py:function"),
        (values.Seconds, "30x", "invalid time '30x'"),
        (values.Size, 0, "invalid size 0"),
        (values.Text, " ", "expected text"),
        (values.Text, "a\0", "NUL"),
    ],
)
def test_what_is_refused(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(FormErrors, match=message):
        read(kind, value)
