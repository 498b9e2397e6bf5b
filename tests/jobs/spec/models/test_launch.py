from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.launch import ArgumentSpec, GridSpec, dtype_hint


@pytest.mark.parametrize(
    ("given", "kind"), [("x", "buffer"), (None, "null"), ({"int32": "n"}, "scalar"), ({"struct": ["x"]}, "struct")]
)
def test_forms_of_an_argument(given: Any, kind: str) -> None:
    assert ArgumentSpec.of(given).kind == kind


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "write {int32: 5}"),
        (0.5, "write {float32: 0.5}"),
        (True, "write {bool: true}"),
        ({"float": 1}, "unknown dtype 'float'; C's float is 'float32'"),
        ({"float4": [1, 2]}, "float4 takes a list of 4 values, not 2"),
        ({"struct": []}, "struct takes its members by name"),
    ],
)
def test_what_is_no_argument(given: Any, message: str) -> None:
    with pytest.raises(FormErrors) as caught:
        ArgumentSpec.of(given)
    assert message in str(caught.value)


def test_forms_of_a_grid() -> None:
    assert GridSpec.of([1, "n"]).blocks == [1, "n"]
    assert GridSpec.of({"problem": ["n"], "divide": [[16]]}).divide == [[16]]
    for given, message in (
        (8, "expected a list of 1 to 3 numbers"),
        ({"problem": [1], "divide": [[1], [2]]}, "2 axes"),
    ):
        with pytest.raises(FormErrors, match=message):
            GridSpec.of(given)


def test_a_near_dtype_is_suggested() -> None:
    assert dtype_hint("double") == "; C's double is 'float64'"
    assert dtype_hint("flot32") == "; did you mean 'float32'?"
