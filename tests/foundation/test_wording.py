"""Wording of messages: counts, lists that are cut, texts without the empty ones."""

from __future__ import annotations

from gpuregress.foundation.wording import first_names, free_name, joined, plural, value_text


def test_a_count_has_its_noun() -> None:
    assert [plural(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


def test_a_long_list_is_cut_and_counted() -> None:
    names = ["a", "b", "c", "d"]
    assert first_names(names, 4) == "a, b, c, d"
    assert first_names(names) == "a, b, c and 1 more"
    assert first_names(names, 2, "job") == "a, b and 2 more jobs"
    assert first_names(names, 3, "job") == "a, b, c and 1 more job"
    assert not first_names([])


def test_empty_texts_leave_no_separator() -> None:
    assert joined("; ", "", "a", "", "b") == "a; b"
    assert not joined("; ", "", "")


def test_values_are_written_as_in_a_job() -> None:
    assert [value_text(value) for value in (True, 4, 0.5, "float")] == ["true", "4", "0.5", "float"]


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("x", {"y"}) == "x"
    assert free_name("x", {"x", "x_2"}) == "x_3"
    assert free_name("k", {"k"}, "-") == "k-2"
