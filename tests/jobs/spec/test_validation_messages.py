from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.jobs.spec import validation_messages
from gpuregress.jobs.spec.models.job import JobSpec

JOB: dict[str, Any] = {
    "source": "k.cu",
    "buffers": {"x": {"dtype": "int32", "shape": [4]}},
    "launches": [{"kernel": "k", "grid": [1], "block": [4], "args": ["x"]}],
}


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"sorce": "k.cu"}, ("sorce",), "unknown key; did you mean 'source'?"),
        ({"timeout": 2}, ("timeout",), "unknown key here; it is a key of limits"),
        ({"tags": "quick"}, ("tags",), "expected a list such as [quick], got 'quick'"),
        ({"limits": 5}, ("limits",), "expected a mapping with the keys timeout, memory, timeouts, heap, got 5"),
        ({"buffers": {"x": {"dtype": "int8"}}}, ("buffers", "x", "shape"), "missing key"),
        (
            {"launches": [{"kernel": "k", "grid": {"blocks": [1]}, "block": [1]}]},
            ("launches", 0, "grid"),
            "the problem",
        ),
        ({"devices": ["gpu"]}, ("devices", 0), "expected one of cpu, cuda; got 'gpu'; did you mean 'cpu'?"),
        (
            {"reference": {"x": {"file": "x.npy", "improves": "yes"}}},
            ("reference", "x", "improves"),
            "expected one of true, false; got 'yes'",
        ),
        ({"devices": []}, ("devices",), "expected at least 1, got none"),
        ({"checks": {"x": [{"finite": False}]}}, ("checks", "x", 0, "finite"), "expected no setting, got false"),
    ],
)
def test_an_error_has_the_key_of_the_file_and_a_message(changes: dict[str, Any], key: Any, message: str) -> None:
    data = {**JOB, **changes}
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(data)
    (error,) = caught.value.errors(include_url=False)
    assert validation_messages.key_of(data, error) == key
    assert message in validation_messages.message_of(error)


def test_keys_of_a_mapping() -> None:
    assert validation_messages.known_keys(("limits",)) == ("timeout", "memory", "timeouts", "heap")
    assert "dtype" in validation_messages.known_keys(("buffers", "x"))
    assert validation_messages.known_keys(("buffers",)) == ()
    assert validation_messages.known_keys(("nothing",)) == ()
