"""Models of documents, with a field for each key, and the walk that reads them.

The annotation of a field is the form of its key: a model, a list, a mapping, a `Literal`, or a value that a function
reads (`Reads`). `msgspec.Meta` describes it and bounds its size. msgspec's own decoder stops at the first error and
knows no keys of the file, so a walk of ours reads the values.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, Union

import msgspec
from msgspec import Meta

from gpuregress.foundation.document.keys import Key, show
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record

_WRONG = object()
"""What is read of a value with an error."""


def doc(text: str, **schema: Any) -> Meta:
    """Describe a key, for the reference and the JSON Schema; further words of its schema may be given."""
    return Meta(description=text, extra_json_schema=schema or None)


class Reads(msgspec.Struct, frozen=True, eq=False):
    """A form that a function reads, which raises ValueError, with its JSON Schema."""

    function: Callable[[Any], Any]
    schema: Mapping[str, Any]


class FormError(Record):
    """An error of a document.

    Attributes:
        key: of the value as models take it; see `key_in_file`.
        message: what is wrong.
        kind: whether a key is missing or unknown, or its value is wrong.
    """

    key: Key
    message: str
    kind: Literal["value", "missing", "unknown"] = "value"

    def key_in_file(self, data: Any) -> Key:
        """Return the key in the file, without the steps of short forms: `repeat: 5` has no key `runs`.

        Args:
            data: the file's.
        """
        key: list[str | int] = []
        node = data
        for position, part in enumerate(self.key):
            is_item = isinstance(node, list) and isinstance(part, int) and part < len(node)
            if is_item or (isinstance(node, dict) and part in node):
                node = node[part]
                key.append(part)
            elif self.kind == "missing" and position == len(self.key) - 1:
                key.append(part)
        return tuple(key)


class FormErrors(ValueError):
    """All errors of a value."""

    def __init__(self, errors: Sequence[FormError]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, error.key))}: {error.message}" for error in errors))
        self.errors = tuple(errors)


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping whose keys are all known, and hold something: `fill:` with nothing after it is a forgotten value.

    Attributes:
        written: the keys that the file has.
    """

    written: frozenset[str] = frozenset()

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """JSON Schemas of what may stand in place of the mapping."""
    schema_extra: ClassVar[Mapping[str, Any]] = {}
    """Further words of the mapping's JSON Schema."""
    may_be_empty: ClassVar[frozenset[str]] = frozenset()
    """The keys that may have nothing after them, as if they were not there."""
    is_named: ClassVar[bool] = True
    """Whether it is a section of the reference; else its JSON Schema stands where it is used."""

    @classmethod
    def key_names(cls) -> tuple[str, ...]:
        """Return the keys of the mapping."""
        return tuple(forms(cls))

    @classmethod
    def of(cls, value: Any) -> Self:
        """Read a model.

        Raises:
            FormErrors: all that is wrong.
        """
        model: Self = read(cls, value)
        return model

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Return the mapping that a short form stands for; ValueError if it is none."""
        return value

    @classmethod
    def adapted_schema(cls, mapping: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema of all forms.

        Args:
            mapping: that of the mapping.
        """
        mapping = {**mapping, **cls.schema_extra}
        if not cls.short_forms:
            return mapping
        return {"anyOf": [*cls.short_forms, mapping], "description": mapping["description"]}

    def present(self) -> dict[str, Any]:
        """Return the keys that have a value, with it."""
        values = {name: getattr(self, name) for name in self.key_names()}
        return {name: value for name, value in values.items() if value is not None}

    def check(self) -> None:
        """Raise ValueError if keys that are right do not fit together."""


class OneOfSpec(Spec, frozen=True):
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
        if word in cls.key_names():
            raise ValueError(f"{word!r} needs its setting: {{{word}: …}}")
        raise ValueError(f"unknown {noun} {word!r}{suggestion(word, cls.key_names())}")

    @classmethod
    def adapted_schema(cls, mapping: dict[str, Any]) -> dict[str, Any]:
        """Either a word, or a mapping with one key."""
        properties = {name: item for name, item in mapping["properties"].items() if name not in cls.only_words}
        mapping = {**mapping, "properties": properties, "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"enum": list(cls.words)}, mapping], "description": mapping["description"]}

    @property
    def kind(self) -> str:
        """The one that is given."""
        return next(name for name in self.key_names() if getattr(self, name) is not None)


@functools.cache
def forms(model: type[Spec]) -> Mapping[str, msgspec.structs.FieldInfo]:
    """Return the keys of a model with their forms and defaults."""
    return {field.name: field for field in msgspec.structs.fields(model) if field.name != "written"}


def read(form: Any, value: Any) -> Any:
    """Read a plain value.

    Args:
        form: a model, or the annotation of a key.
        value: of the document.

    Raises:
        FormErrors: all that is wrong.
    """
    reading = _Reading()
    result = reading.value(form, value, ())
    if reading.errors:
        raise FormErrors(reading.errors)
    return result


def read_parts(model: type[Spec], value: Mapping[str, Any]) -> tuple[dict[str, Any], list[FormError]]:
    """Read the keys of a mapping, those that are right whatever the others are.

    Returns:
        Key → its value, of the keys that are there and right, and the errors of the others.
    """
    reading = _Reading()
    fields = reading.fields(model, value, ())
    return {name: item for name, item in fields.items() if item is not _WRONG}, reading.errors


def parts(form: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type of a form and its annotations, without `| None`, which stands for an absent key."""
    annotations: tuple[Any, ...] = ()
    while True:
        origin = typing.get_origin(form)
        if origin is Annotated:
            form, *inner = typing.get_args(form)
            annotations = (*inner, *annotations)
        elif origin in (types.UnionType, Union) and not any(isinstance(one, Reads) for one in annotations):
            form = next(option for option in typing.get_args(form) if option is not types.NoneType)
        else:
            return form, annotations


def choice(value: Any, options: Sequence[Any]) -> Any:
    """Return a value that is one of some options.

    Raises:
        ValueError: it is not.
    """
    if any(type(value) is type(option) and value == option for option in options):
        return value
    if list(options) == [True]:
        raise ValueError(f"expected no setting, got {show(value)}")
    names = [str(option).lower() if isinstance(option, bool) else str(option) for option in options]
    hint = suggestion(str(value), names)
    near = hint if "did you mean" in hint else ""
    raise ValueError(f"expected one of {', '.join(names)}; got {show(value)}{near}")


def one_of(options: Iterable[str]) -> Reads:
    """Return the form of one of some words, which are known when the program runs."""
    words = tuple(options)
    return Reads(lambda value: choice(value, words), {"enum": list(words)})


def plain_text(value: Any) -> str:
    """Return a value that is text.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {show(value)}")  # noqa: TRY004 - an error at the value's key
    return value


class _Reading:
    """The reading of one value: a walk along its forms."""

    def __init__(self) -> None:
        self.errors: list[FormError] = []

    def _wrong(self, key: Key, message: str, kind: Literal["value", "missing", "unknown"] = "value") -> Any:
        self.errors.append(FormError(key, message, kind))
        return _WRONG

    def value(self, form: Any, value: Any, key: Key) -> Any:
        """Read one value; `_WRONG` where something in it is."""
        form, annotations = parts(form)
        for annotation in annotations:
            if isinstance(annotation, Reads):
                return self._called(annotation.function, value, key)
        origin = typing.get_origin(form)
        if origin is Literal:
            return self._called(lambda given: choice(given, typing.get_args(form)), value, key)
        sizes = [
            one for one in annotations if isinstance(one, Meta) and (one.min_length, one.max_length) != (None, None)
        ]
        size = sizes[0] if sizes else Meta()
        if origin is list:
            return self._list(typing.get_args(form)[0], value, key, size)
        if origin is dict:
            name_form, item_form = typing.get_args(form)
            return self._dict(name_form, item_form, value, key, size)
        if isinstance(form, type) and issubclass(form, Spec):
            return self.model(form, value, key)
        if form is str:
            return self._text(value, key, size)
        return value

    def _called(self, function: Callable[[Any], Any], value: Any, key: Key) -> Any:
        try:
            return function(value)
        except ValueError as error:
            return self._wrong(key, str(error))

    def _text(self, value: Any, key: Key, size: Meta) -> Any:
        if not isinstance(value, str) or len(value) < (size.min_length or 0):
            return self._wrong(key, f"expected text, got {show(value)}")
        if size.max_length is not None and len(value) > size.max_length:
            return self._wrong(key, "is too long for a name")
        return value

    def _list(self, form: Any, value: Any, key: Key, size: Meta) -> Any:
        if not isinstance(value, list):
            is_plain = isinstance(value, int | float | str) and not isinstance(value, bool)
            example = f" such as [{value}]" if is_plain else ""
            return self._wrong(key, f"expected a list{example}, got {show(value)}")
        if size.max_length is not None and len(value) > size.max_length:
            return self._wrong(key, f"expected at most {size.max_length}, got {len(value)}")
        items = [self.value(form, item, (*key, position)) for position, item in enumerate(value)]
        return self._sized(items, items, key, size)

    def _dict(self, name_form: Any, form: Any, value: Any, key: Key, size: Meta) -> Any:
        if not isinstance(value, dict):
            return self._wrong(key, f"expected a mapping, got {show(value)}")
        entries = {}
        for name, item in value.items():
            entry_key = (*key, name)
            read_name = self.value(name_form, name, entry_key)
            read_item = self.value(form, item, entry_key)
            if read_name is not _WRONG and read_name in entries:
                read_name = self._wrong(entry_key, f"duplicate key: {show(read_name)} is given in another spelling")
            entries[name if read_name is _WRONG else read_name] = _WRONG if read_name is _WRONG else read_item
        return self._sized(entries, list(entries.values()), key, size)

    def _sized(self, whole: Any, items: list[Any], key: Key, size: Meta) -> Any:
        if any(item is _WRONG for item in items):
            return _WRONG
        if len(items) < (size.min_length or 0):
            got = len(items) or "none"
            return self._wrong(key, f"expected at least {size.min_length}, got {got}")
        return whole

    def model(self, model: type[Spec], value: Any, key: Key) -> Any:
        """Read a model; `_WRONG` where something in it is."""
        value = self._called(model.as_mapping, value, key)
        if value is _WRONG:
            return value
        if not isinstance(value, dict):
            names = ", ".join(forms(model))
            return self._wrong(key, f"expected a mapping with the keys {names}, got {show(value)}")
        before = len(self.errors)
        fields = self.fields(model, value, key)
        if len(self.errors) > before:
            return _WRONG
        result = model(**fields, written=frozenset(fields))
        try:
            result.check()
        except FormErrors as wrong:
            for error in wrong.errors:
                self._wrong((*key, *error.key), error.message)
            return _WRONG
        except ValueError as error:
            return self._wrong(key, str(error))
        return result

    def fields(self, model: type[Spec], value: Mapping[str, Any], key: Key) -> dict[str, Any]:
        """Read the keys of a mapping; what is wrong is `_WRONG`."""
        known = forms(model)
        fields: dict[str, Any] = {}
        for name, field in known.items():
            if name not in value or (value[name] is None and name in model.may_be_empty):
                if field.required:
                    self._wrong((*key, name), "missing key", "missing")
            elif value[name] is None:
                self._wrong((*key, name), "is empty: give it a value, or remove the key")
            else:
                fields[name] = self.value(field.type, value[name], (*key, name))
        for name in value:
            if name not in known:
                self._wrong((*key, name), _unknown(str(name), known), "unknown")
        return fields


def _unknown(name: str, known: Mapping[str, msgspec.structs.FieldInfo]) -> str:
    inside = []
    for key, field in known.items():
        form, _ = parts(field.type)
        if isinstance(form, type) and issubclass(form, Spec) and name in forms(form):
            inside.append(key)
    hint = suggestion(name, known, there_are="the keys are")
    if inside and not hint.startswith("; did you mean"):  # `buffer` is a key of status, and means `buffers`
        return f"unknown key here; it is a key of {' and of '.join(inside)}"
    return f"unknown key{hint}"
