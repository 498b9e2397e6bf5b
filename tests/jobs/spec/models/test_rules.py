from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.rules import CheckSpec


@pytest.mark.parametrize(
    ("given", "kind", "setting"),
    [
        ("finite", "finite", True),
        ({"rows": {"0": 0.0, "n - 1": [1, "n"]}}, "rows", {"0": 0.0, "n - 1": [1, "n"]}),
        ("sorted", "sorted", "ascending"),
        ({"range": [0, "n"]}, "range", [0, "n"]),
        ({"all_equal": 0}, "all_equal", 0),
    ],
)
def test_a_check_is_a_word_or_a_mapping(given: Any, kind: str, setting: Any) -> None:
    check = CheckSpec.of(given)
    assert (check.kind, getattr(check, kind)) == (kind, setting)


def test_a_sum_may_be_a_number() -> None:
    check = CheckSpec.of({"sum": 100})
    assert check.sum is not None
    assert (check.sum.value, check.sum.rtol) == (100, 0.0)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ("nonzero", (None, 1, None)),
        ({"nonzero": 8}, (None, 8, None)),
        ({"nonzero": {"exactly": 273}}, (273, None, None)),
        ({"nonzero": {"at_least": 1, "at_most": "n"}}, (None, 1, "n")),
    ],
)
def test_a_count_is_a_smallest_number_or_a_mapping(given: Any, bounds: tuple[Any, ...]) -> None:
    count = CheckSpec.of(given).nonzero
    assert count is not None
    assert (count.exactly, count.at_least, count.at_most) == bounds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nonzero": {}}, "expected a number or a mapping such as {exactly: 273}"),
        ({"nonzero": {"exactly": 1, "at_most": 2}}, "exactly stands alone"),
        ({"rows": {}}, "at least 1"),
        ({"rows": [0.0]}, "expected a mapping, got a list"),
        ("finit", "unknown check 'finit'; did you mean 'finite'?"),
        ("range", "'range' needs its setting"),
        ({"finite": True, "unique": True}, "expected one check"),
        ({"sorted": "up"}, "expected one of"),
    ],
)
def test_what_is_no_check(given: Any, message: str) -> None:
    with pytest.raises(FormErrors) as caught:
        CheckSpec.of(given)
    assert message in str(caught.value)
