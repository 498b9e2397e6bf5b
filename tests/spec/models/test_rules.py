from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.spec.models.rules import CheckSpec


@pytest.mark.parametrize(
    ("given", "kind", "setting"),
    [
        ("finite", "finite", True),
        ("nonzero", "nonzero", 1),
        ("sorted", "sorted", "ascending"),
        ({"range": [0, "n"]}, "range", [0, "n"]),
        ({"all_equal": 0}, "all_equal", 0),
    ],
)
def test_a_check_is_a_word_or_a_mapping(given: Any, kind: str, setting: Any) -> None:
    check = CheckSpec.model_validate(given)
    assert (check.kind, getattr(check, kind)) == (kind, setting)


def test_a_sum_may_be_a_number() -> None:
    check = CheckSpec.model_validate({"sum": 100})
    assert check.sum is not None
    assert (check.sum.value, check.sum.rtol) == (100, 0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("finit", "unknown check 'finit'; did you mean 'finite'?"),
        ("range", "'range' needs its setting"),
        ({"finite": True, "unique": True}, "expected one check"),
        ({"sorted": "up"}, "literal_error"),
    ],
)
def test_what_is_no_check(given: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CheckSpec.model_validate(given)
    assert message in str(caught.value)
