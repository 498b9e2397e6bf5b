"""Base classes of the models of a job file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, field_validator

from gpuregress.foundation.document.problems import suggestion


class Spec(BaseModel):
    """A mapping whose keys are all known, and hold something: `fill:` with nothing behind it is a forgotten value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _holds_something(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is empty: give it a value, or take the key out")
        return value


class OneOfSpec(Spec):
    """A mapping with exactly one key, which says what kind of thing it is."""

    words: ClassVar[Mapping[str, Any]] = {}
    """The keys that may stand alone, as text → the setting that they then have."""
    only_words: ClassVar[tuple[str, ...]] = ()
    """Those that take no setting."""

    @classmethod
    def of_word(cls, word: str, noun: str) -> dict[str, Any]:
        """Return the mapping that a word stands for.

        Args:
            word: as the job has it.
            noun: `fill`, for messages.

        Raises:
            ValueError: the word needs a setting, or is unknown.
        """
        if word in cls.words:
            return {word: cls.words[word]}
        if word in cls.model_fields:
            raise ValueError(f"{word!r} needs its setting: {{{word}: …}}")
        raise ValueError(f"unknown {noun} {word!r}{suggestion(word, cls.model_fields)}")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """Either a word, or a mapping with one key."""
        mapping = dict(handler.resolve_ref_schema(handler(core)))
        mapping["properties"] = {
            name: item for name, item in mapping["properties"].items() if name not in cls.only_words
        }
        mapping |= {"minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"enum": list(cls.words)}, mapping], "description": cls.__doc__}

    @property
    def kind(self) -> str:
        """The one that is given."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)
