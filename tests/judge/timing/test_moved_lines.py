"""Lines found again after an edit: in order, moved, renamed, changed."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import LineCost
from gpuregress.judge.timing.costs import pairs


def _lines(*texts: str, file: str = "a.cu") -> list[LineCost]:
    return [LineCost(file, number, text) for number, text in enumerate(texts, 1)]


def _found(before: list[LineCost], now: list[LineCost]) -> list[tuple[str, str]]:
    found = pairs(before, now)
    assert [new for _, new in found] == now
    return [(old.text, new.text) for old, new in found]


OLD = ("int i = threadIdx.x;", "float v = x[i];", "out[i] = v;")


def test_lines_that_stayed_are_paired_in_order() -> None:
    assert _found(_lines("a", "b", "a"), _lines("a", "new", "b", "a")) == [
        ("a", "a"),
        ("", "new"),
        ("b", "b"),
        ("a", "a"),
    ]


@pytest.mark.parametrize(
    "now", [("out[i] = v;", "int i = threadIdx.x;", "float v = x[i];"), ("float v = x[i];", *OLD[::2])]
)
def test_a_line_that_moved_is_found_by_its_text(now: tuple[str, ...]) -> None:
    assert _found(_lines(*OLD), _lines(*now)) == [(text, text) for text in now]


def test_lines_of_a_renamed_file_and_those_moved_to_a_header_are_found() -> None:
    before = _lines(*OLD)
    now = [*_lines(OLD[0], file="b.cu"), *_lines(*OLD[1:], file="b.cuh")]
    assert _found(before, now) == [(text, text) for text in OLD]


def test_an_edited_line_is_found_among_new_ones_also_in_a_renamed_file() -> None:
    for file in ("a.cu", "b.cu"):
        now = _lines("int q = 5 * 7;", "float w = y[q];", "float v = x[2 * i];", "out[i] = v + w;", file=file)
        found = {new: old for old, new in _found(_lines(*OLD), now)}
        assert found["float v = x[2 * i];"] == "float v = x[i];"
        assert found["out[i] = v + w;"] == "out[i] = v;"
        assert found["int q = 5 * 7;"] == ""


def test_a_line_that_was_written_anew_is_the_one_in_its_place() -> None:
    assert _found(_lines(*OLD), _lines(OLD[0], "load(buffer)", OLD[2]))[1] == (OLD[1], "load(buffer)")


def test_a_line_is_found_once() -> None:
    text, edited = "v = x[i];", ("v = x[i + 1];", "v = x[2];")
    assert _found(_lines(text), _lines(text, text)) == [(text, text), ("", text)]
    assert _found(_lines(text), _lines("w", *edited)) == [("", "w"), ("", edited[0]), (text, edited[1])]


def test_very_many_changed_lines_are_not_compared_with_each_other() -> None:
    before, now = (_lines(*(f"{name} = {at};" for at in range(200)), "end") for name in ("old", "new"))
    assert [old.line for old, _ in pairs(before, now)] == list(range(1, 202))
    assert all(not old.text for old, _ in pairs(before, now[:150]))
    moved = pairs(before, [before[100], *now[:150], before[7]])
    assert [old for old, _ in (moved[0], moved[-1])] == [before[100], before[7]]
