from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import Meta

from gpuregress.foundation.document.forms import FormErrors, OneOfSpec, Reads, Spec, doc


def even(value: Any) -> int:
    if value % 2:
        raise ValueError(f"is odd: {value}")
    return int(value)


class Amount(Spec, frozen=True):
    """An amount."""

    value: Annotated[int, Reads(even, {"type": "integer"}), doc("even")]
    unit: Literal["kg", "lb"] = "kg"
    name: Annotated[str, Meta(min_length=1, max_length=4)] | None = None

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take a plain number."""
        return value if isinstance(value, dict) else {"value": value}


class Shelf(Spec, frozen=True):
    """A shelf."""

    amounts: Annotated[list[Amount], Meta(min_length=1, max_length=2)] = []  # noqa: RUF012 - msgspec copies it
    by_name: dict[Annotated[str, Reads(str.lower, {"pattern": ".*"})], Amount] = {}  # noqa: RUF012 - as above
    spare: Amount | None = None
    flag: Literal[True] | None = None

    def check(self) -> None:
        """Refuse a flag beside a spare."""
        if self.flag and self.spare:
            raise ValueError("both")


class Either(OneOfSpec, frozen=True):
    """One of two."""

    words: ClassVar[Mapping[str, Any]] = {"left": 1}
    only_words = ("left",)

    left: int | None = None
    right: int | None = None


def test_a_model_holds_what_is_written_and_defaults() -> None:
    shelf = Shelf.of({"amounts": [2, {"value": 4, "unit": "lb"}], "by_name": {"A": 6}})
    assert [(amount.value, amount.unit) for amount in shelf.amounts] == [(2, "kg"), (4, "lb")]
    assert shelf.by_name["a"].written == {"value"}
    assert shelf.written == {"amounts", "by_name"}
    assert shelf.spare is None


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        ({"amuonts": [2]}, ("amuonts",), "unknown key; did you mean 'amounts'?"),
        ({"unit": "kg"}, ("unit",), "unknown key here; it is a key of spare"),
        ({"zzz": 1}, ("zzz",), "unknown key; the keys are: amounts, by_name, spare, flag"),
        ({"amounts": None}, ("amounts",), "is empty: give it a value, or remove the key"),
        ({"amounts": "a"}, ("amounts",), "expected a list such as [a], got 'a'"),
        ({"amounts": True}, ("amounts",), "expected a list, got true"),
        ({"amounts": []}, ("amounts",), "expected at least 1, got none"),
        ({"amounts": [2, 2, 3]}, ("amounts",), "expected at most 2, got 3"),
        ({"amounts": [2, 3]}, ("amounts", 1), "is odd: 3"),
        ({"amounts": [{"value": 3}]}, ("amounts", 0, "value"), "is odd: 3"),
        ({"amounts": [{}]}, ("amounts", 0, "value"), "missing key"),
        (
            {"spare": {"value": 2, "unit": "KG"}},
            ("spare", "unit"),
            "expected one of kg, lb; got 'KG'; did you mean 'kg'?",
        ),
        ({"spare": {"value": 2, "name": 5}}, ("spare", "name"), "expected text, got 5"),
        ({"spare": {"value": 2, "name": ""}}, ("spare", "name"), "expected text, got ''"),
        ({"spare": {"value": 2, "name": "abcde"}}, ("spare", "name"), "is too long for a name"),
        ({"by_name": [2]}, ("by_name",), "expected a mapping, got a list"),
        ({"by_name": {"x": {}}}, ("by_name", "x", "value"), "missing key"),
        ({"flag": 1}, ("flag",), "expected no setting, got 1"),
        ({"flag": True, "spare": 2}, (), "both"),
        (5, (), "expected a mapping with the keys amounts, by_name, spare, flag, got 5"),
    ],
)
def test_an_error_has_the_key_of_the_file_and_a_message(given: Any, key: tuple[Any, ...], message: str) -> None:
    with pytest.raises(FormErrors) as caught:
        Shelf.of(given)
    (error,) = caught.value.errors
    assert (error.key_in_file(given), error.message) == (key, message)


def test_all_errors_come_at_once() -> None:
    with pytest.raises(FormErrors) as caught:
        Shelf.of({"amounts": [1, 3], "flag": False, "other": 1})
    assert [error.key[0] for error in caught.value.errors] == ["amounts", "amounts", "flag", "other"]


def test_a_word_stands_for_a_mapping() -> None:
    assert Either.of_word("left", "side") == {"left": 1}
    with pytest.raises(ValueError, match="'right' needs its setting"):
        Either.of_word("right", "side")
    with pytest.raises(ValueError, match="unknown side 'rihgt'; did you mean"):
        Either.of_word("rihgt", "side")


def test_one_of_several_keys_names_its_kind() -> None:
    assert Either.of({"right": 0}).kind == "right"
