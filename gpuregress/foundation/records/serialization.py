"""Serialization of records to plain JSON and back; anything that does not fit its record is refused."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, TypeVar, Union, cast

from gpuregress.foundation import frozen


class Sparse:
    """Base of records whose JSON form omits the fields that have their default values."""

    __slots__ = ()


R = TypeVar("R")
Reader = Callable[[Any], Any]


def to_json(record: Any) -> Any:
    """Convert a record to plain JSON values: dataclasses become objects, tuples become lists.

    An object has every field of its record; of a `Sparse` one only those that do not have their default values.
    """
    kind = type(record)
    if kind in _PLAIN:
        return record
    if (keys := _keys(cast("Hashable", kind))) is not None:
        omitted = _defaults(cast("Hashable", kind)) if isinstance(record, Sparse) else {}
        values = ((key, name, getattr(record, name)) for key, name in keys.items())
        return {key: to_json(value) for key, name, value in values if name not in omitted or value != omitted[name]}
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(item) for item in record]
    return record


_PLAIN = frozenset((str, int, float, bool, type(None)))


@cache
def _keys(kind: Hashable) -> dict[str, str] | None:
    """Key → field of a record class: its name, or what `field(metadata={"key": …})` says; None for other classes."""
    if not dataclasses.is_dataclass(kind):
        return None
    return {field.metadata.get("key", field.name): field.name for field in dataclasses.fields(kind)}


@cache
def _defaults(kind: Hashable) -> dict[str, Any]:
    """Field → default value, of the fields that have one."""
    missing = dataclasses.MISSING
    fields = dataclasses.fields(cast("type[Any]", kind))
    plain = {one.name: one.default for one in fields if one.default is not missing}
    return plain | {one.name: one.default_factory() for one in fields if one.default_factory is not missing}


def from_json(kind: type[R], data: Any) -> R:
    """Rebuild the record that `to_json` converted.

    Args:
        kind: a record class.
        data: what `json.loads` gave.

    Raises:
        TypeError: a field is missing or not known, or its value is not of the field's type.
    """
    if not isinstance(data, dict):
        raise _mismatch(kind.__name__, data)
    readers = _field_readers(cast("Hashable", kind))
    unknown = data.keys() - readers.keys()
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    keys = _keys(cast("Hashable", kind)) or {}
    return kind(**{keys[key]: readers[key](value) for key, value in data.items()})


@cache
def prepare(kind: Hashable) -> None:
    """Build all that `from_json` needs for a record class and for those of its fields, where there is time to.

    A process does it once for a class, in however many runs it takes part.
    """
    pending, seen = [kind], {kind}
    while pending:
        one = pending.pop()
        frozen.complete(one)
        _field_readers(one)
        inner = {part for hint in typing.get_type_hints(one).values() for part in _parts(hint)}
        new = [part for part in inner - seen if isinstance(part, type) and dataclasses.is_dataclass(part)]
        pending += new
        seen.update(new)


def _parts(hint: Any) -> list[Any]:
    """A type hint and those inside of it."""
    return [hint, *(part for argument in typing.get_args(hint) for part in _parts(argument))]


@cache
def _field_readers(kind: Hashable) -> dict[str, Reader]:
    """Key → the function that reads its value from JSON."""
    hints = typing.get_type_hints(cast("type[Any]", kind))
    return {key: _reader(hints[name]) for key, name in (_keys(kind) or {}).items()}


@cache
def _reader(hint: Any) -> Reader:
    """Return the function that reads a value of this type from JSON; it raises TypeError."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value: value
    if origin is typing.Literal:
        return _checked(lambda value: isinstance(value, str | int) and value in arguments, str(hint))
    if origin in (types.UnionType, Union):
        return _union(tuple(_reader(argument) for argument in arguments), str(hint))
    if origin is tuple:
        return _tuple(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_reader(arguments[1]))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value: from_json(hint, value)
    if hint is float:
        return _checked(lambda value: isinstance(value, int | float) and not isinstance(value, bool), "float")
    if hint is int:
        return _checked(lambda value: isinstance(value, int) and not isinstance(value, bool), "int")
    return _checked(lambda value: isinstance(value, hint), getattr(hint, "__name__", str(hint)))


def _checked(fits: Callable[[Any], bool], expected: str) -> Reader:
    def read(value: Any) -> Any:
        if not fits(value):
            raise _mismatch(expected, value)
        return value

    return read


def _union(readers: tuple[Reader, ...], expected: str) -> Reader:
    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except TypeError:
                continue
        raise _mismatch(expected, value)

    return read


def _tuple(arguments: tuple[Any, ...]) -> Reader:
    if len(arguments) == 2 and arguments[1] is ...:
        each = _reader(arguments[0])
        return lambda value: tuple(each(item) for item in _list(value))
    readers = tuple(_reader(argument) for argument in arguments)

    def read(value: Any) -> Any:
        if len(_list(value)) != len(readers):
            raise _mismatch(f"{len(readers)} items", value)
        return tuple(reader(item) for reader, item in zip(readers, value, strict=True))

    return read


def _list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise _mismatch("list", value)
    return value


def _mapping(each: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _mismatch("object", value)
        return {key: each(item) for key, item in value.items()}

    return read


def _mismatch(expected: str, value: Any) -> TypeError:
    return TypeError(f"expected {expected}, got {type(value).__name__}")
