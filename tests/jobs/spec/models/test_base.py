from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from gpuregress.jobs.spec.models.base import OneOfSpec, Spec


class Amount(Spec):
    value: int = 0


class Either(OneOfSpec):
    words: ClassVar[Mapping[str, Any]] = {"left": 1}
    only_words = ("left",)

    left: int | None = None
    right: int | None = None


def test_unknown_and_empty_keys_are_refused() -> None:
    assert Amount.model_validate({"value": 3}).value == 3
    with pytest.raises(ValidationError, match="extra_forbidden"):
        Amount.model_validate({"vlaue": 3})
    with pytest.raises(ValidationError, match="is empty: give it a value"):
        Amount.model_validate({"value": None})


def test_a_word_stands_for_a_mapping() -> None:
    assert Either.of_word("left", "side") == {"left": 1}
    with pytest.raises(ValueError, match="'right' needs its setting"):
        Either.of_word("right", "side")
    with pytest.raises(ValueError, match="unknown side 'rihgt'; did you mean"):
        Either.of_word("rihgt", "side")


def test_one_of_several_keys_names_its_kind() -> None:
    assert Either.model_validate({"right": 0}).kind == "right"


def test_a_key_that_is_only_a_word_is_no_key_of_the_schema() -> None:
    word, mapping = Either.model_json_schema()["anyOf"]
    assert word == {"enum": ["left"]}
    assert list(mapping["properties"]) == ["right"]
    assert (mapping["minProperties"], mapping["maxProperties"]) == (1, 1)
