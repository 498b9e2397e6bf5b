"""Records to plain JSON values and back; what does not fit its record is refused.

The text is written and read by the standard library: msgspec's own form of numbers is another one (`1e16`, and `null`
for NaN), and digests are those of the text.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import msgspec

T = TypeVar("T")

if TYPE_CHECKING:
    OneOf = Annotated[T, "records told apart by their keys"]
else:

    class OneOf:
        """`OneOf[A | B]`, the type of a field: the first that fits. msgspec itself tells records apart by tags only."""

        def __class_getitem__(cls, union: Any) -> type:
            return _Union("OneOf", (), {"members": get_args(union)})


class _Union(type):
    """The class of the types that `OneOf` makes; msgspec leaves them to the hook."""

    members: tuple[Any, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return True


def to_json(record: Any) -> Any:
    """Convert a record, or a mapping or sequence of records, to plain JSON values: tuples become lists."""
    return json.loads(json.dumps(to_plain(record)))


def to_plain(record: Any) -> Any:
    """Convert a record to values that `json.dumps` takes, as `to_json` does; tuples stay tuples, which is faster."""
    return msgspec.to_builtins(record, str_keys=True, enc_hook=_plain)


def from_json(kind: type[T], data: Any) -> T:
    """Rebuild the record that `to_json` converted.

    Args:
        kind: a class of records.
        data: what `json.loads` gave.

    Raises:
        msgspec.ValidationError: a field is missing or not known, or its value is not of the field's type; the message
            has its place, as ``Expected `int`, got `str` - at `$.launches[0].shared` ``. It is a ValueError.
    """
    return msgspec.convert(data, kind, dec_hook=_first_that_fits)


def prepare(kind: type) -> None:
    """Resolve the types of all fields of a class of records and of those inside of it, before threads read it."""
    msgspec.json.Decoder(kind)


def _plain(value: Any) -> Any:
    """The JSON value of an object that msgspec does not know: a NumPy float64, a read-only mapping."""
    if isinstance(value, Mapping):
        return dict(value)
    for base in (str, float, int):
        if isinstance(value, base):
            return base(value)
    raise NotImplementedError


def _first_that_fits(kind: Any, data: Any) -> Any:
    """Read a value of a type that `OneOf` made."""
    for member in kind.members:
        with contextlib.suppress(msgspec.ValidationError):
            return from_json(member, data)
    names = ", ".join(getattr(member, "__name__", str(member)) for member in kind.members)
    raise ValueError(f"Expected one of {names}, got {type(data).__name__}")  # msgspec adds the place
