from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.document.keys import show
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.wording import suggestion


def test_one_error_a_key_in_order_of_lines() -> None:
    problems = Problems(Document(Path("job.yaml"), {}, {("b",): 2, ("a",): 5}))
    problems.raise_if_any()
    problems.add(("a",), "first")
    problems.add(("a",), "second")
    problems.add(("b", 0), "third")
    assert [str(error) for error in problems.errors] == ["job.yaml:2: b[0]: third", "job.yaml:5: a: first"]
    assert (len(problems), problems.reported) == (2, 3)
    with pytest.raises(JobErrors):
        problems.raise_if_any()


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("shpae", ["shape", "fill"], "; did you mean 'shape'?"),
        ("FLOAT32", ["float32"], "; did you mean 'float32'?"),
        ("float23", ["float3", "float32"], "; did you mean 'float32'?"),
        ("zzz", ["a", "b"], "; there are: a, b"),
        ("zzz", [], ""),
    ],
)
def test_suggestion(word: str, known: list[str], hint: str) -> None:
    assert suggestion(word, known) == hint


def test_show_is_short() -> None:
    values: list[Any] = [None, True, {}, [], 5, "a"]
    assert [show(value) for value in values] == [
        "empty",
        "true",
        "a mapping",
        "a list",
        "5",
        "'a'",
    ]
    assert len(show("x" * 1000)) < 70
