"""Any record as plain JSON and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, Union, cast

R = TypeVar("R")


def to_json(record: Any) -> Any:
    """A record as plain JSON values: dataclasses become objects with every field, tuples become lists."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {f.name: to_json(getattr(record, f.name)) for f in dataclasses.fields(record)}
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(item) for item in record]
    return record


def from_json(kind: type[R], data: Any) -> R:
    """The record that `to_json` made `data` of.

    Args:
        kind: a record class.
        data: what `json.loads` gave.

    Raises:
        TypeError: a field is missing or not known.
    """
    hints = _hints(cast("Hashable", kind))
    values = {name: _value(hints[name], value) for name, value in data.items() if name in hints}
    unknown = set(data) - set(hints)
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    return kind(**values)


@lru_cache(maxsize=64)
def _hints(kind: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(cast("type[Any]", kind))


def _value(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, Union):
        if value is None:
            return None
        inner = [argument for argument in arguments if argument is not type(None)]
        return _value(inner[0], value) if len(inner) == 1 else value
    if origin is tuple:
        items = arguments[:1] * len(value) if len(arguments) == 2 and arguments[1] is ... else arguments
        return tuple(_value(item, entry) for item, entry in zip(items, value, strict=True))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(arguments[1], entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value)
    return value
