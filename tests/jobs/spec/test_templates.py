from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.expressions import ExpressionError, Value

NAMES: dict[str, Value] = {"real": "unsigned long long", "tile": 16, "fast": True, "scale": 0.5}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("axpy<{real}>", "axpy<unsigned long long>"),
        ("k<{2 * tile}, {tile > 8}, {fast}>", "k<32, true, true>"),
        ("f{scale}", "f0.5"),
        ("S{{tile}}", "S{16}"),
        ("plain", "plain"),
    ],
)
def test_expressions_in_braces_become_their_values(text: str, filled: str) -> None:
    assert templates.fill(text, NAMES, strict=True) == filled


@pytest.mark.parametrize("text", ["-DINIT={1,2}", "{}", "{x}", "{id:int32}", "{0}", "a{b;}c"])
def test_braces_of_cxx_stay(text: str) -> None:
    assert templates.fill(text, NAMES, strict=False) == text
    assert not templates.is_template("{id:int32}")


@pytest.mark.parametrize(
    ("text", "strict", "reason"),
    [
        ("k<{rael}>", False, "unknown parameter 'rael'; did you mean 'real'?"),
        ("k<{x}>", True, "unknown parameter 'x'"),
        ("k<{}>", True, "it is empty"),
        ("k<{real + 1}>", False, "is text"),
    ],
)
def test_what_is_refused(text: str, strict: bool, reason: str) -> None:  # noqa: FBT001 - a column
    with pytest.raises(ExpressionError, match=reason.replace("?", "[?]")):
        templates.fill(text, NAMES, strict=strict)


@given(st.text(alphabet="ab{}<>,: ", max_size=20))
def test_text_without_parameters_is_never_changed(text: str) -> None:
    assert templates.fill(text, {"tile": 1}, strict=False) == text


def test_the_parameters_of_a_template() -> None:
    assert templates.names_in("{real}_{2 * tile}_{real}.cu") == ("real", "tile")
    assert templates.is_template("{real}.cu")
