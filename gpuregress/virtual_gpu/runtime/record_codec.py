"""Records as compact JSON without type checks, for data that only this program writes and reads.

A record becomes `{class: [field, …]}`, a mapping `{"": [[key, value], …]}`; msgspec's own conversion checks every type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


def encode(value: Any) -> Any:
    """Return a record, or anything made of records, as JSON."""
    if isinstance(value, Struct):
        return {type(value).__name__: [encode(getattr(value, name)) for name in value.__struct_fields__]}
    if isinstance(value, Mapping):
        return {"": [[key, encode(item)] for key, item in value.items()]}
    return [encode(item) for item in value] if isinstance(value, tuple) else value


def decode(data: Any, classes: Mapping[str, type]) -> Any:
    """Return the value that `encode` made `data` of.

    Args:
        data: JSON.
        classes: name of each class of records -> the class.

    Raises:
        KeyError: there is no such class.
        TypeError: a record has other fields.
        ValueError: it is no JSON of `encode`.
    """
    if isinstance(data, list):
        return tuple(decode(item, classes) for item in data)
    if not isinstance(data, dict):
        return data
    ((name, fields),) = data.items()
    if name:
        return classes[name](*(decode(item, classes) for item in fields))
    return {key: decode(item, classes) for key, item in fields}
