"""Frozen dataclasses that cost nothing before their first use.

The standard library compiles six methods for each class, 0.5 ms, when its module is imported. A run imports some two
hundred such classes, in the parent and in each worker, and makes instances of a few. Here a class gets its fields and
slots from the standard library, its constructor is compiled for its first instance, and the other methods are general.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported: type checkers know this one
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """`dataclasses.dataclass`; only `frozen=True, slots=True` without dataclasses among its bases is other."""

        def decorate(cls: type) -> type:
            is_plain = options == {"frozen": True, "slots": True}
            if not is_plain or any(map(dataclasses.is_dataclass, cls.__bases__)) or _OWN & vars(cls).keys():
                return dataclasses.dataclass(cls, **options)
            return _light(cls)

        return decorate if cls is None else decorate(cls)


def complete(cls: Any) -> None:
    """Compile the constructor of a class now, where there is time to."""
    if getattr(cls.__init__, "is_first_call", False):
        cls.__init__ = _constructor(cls)


def _light(cls: type) -> Any:
    """Return a class with fields and slots whose constructor is compiled when it is called first."""
    light: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    light.__dataclass_params__.frozen = True

    def first_call(*arguments: Any, **named: Any) -> None:
        complete(light)
        light.__init__(*arguments, **named)

    first_call.is_first_call = True  # type: ignore[attr-defined] # a function takes any attribute
    methods: dict[str, Any] = {"__init__": first_call, **_comparison(light), "__repr__": _text, **_FROZEN}
    for name, method in methods.items():
        setattr(light, name, method)
    return light


# --- the constructor --------------------------------------------------------------------------------------------------


class _Factory:
    """Stands for the argument whose default value a factory makes."""

    def __repr__(self) -> str:
        """As the standard library shows it in signatures."""
        return "<factory>"


_FACTORY = _Factory()


def _constructor(cls: Any) -> Callable[..., None]:
    """Compile `__init__`: a parameter for each field, in order, and at the end a call of `__post_init__`."""
    fields = dataclasses.fields(cls)
    own = "self" if all(one.name != "self" for one in fields) else "self_"
    known: dict[str, Any] = {"set_": object.__setattr__, "FACTORY_": _FACTORY}
    lines = []
    for number, one in enumerate(fields):
        value, known[f"d{number}_"] = _value(one, number)
        if value:
            lines.append(f" set_({own}, {one.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(f" {own}.__post_init__()")
    positional = [_parameter(one, number) for number, one in enumerate(fields) if one.init and not one.kw_only]
    named = [_parameter(one, number) for number, one in enumerate(fields) if one.init and one.kw_only]
    parameters = ", ".join((own, *positional, *(("*", *named) if named else ())))
    made: dict[str, Any] = {}
    exec(f"def __init__({parameters}):\n" + "\n".join(lines or [" pass"]), known, made)  # noqa: S102 - as dataclasses does
    method: Any = made["__init__"]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    method.__annotations__ = {one.name: one.type for one in fields if one.init} | {"return": None}
    return method  # type: ignore[no-any-return] # a function


def _value(one: Field[Any], number: int) -> tuple[str, Any]:
    """The expression of a field's value, "" where it stays unset; and its default value or factory."""
    if one.default_factory is not MISSING:
        made = f"d{number}_()"
        return f"{made} if {one.name} is FACTORY_ else {one.name}" if one.init else made, one.default_factory
    if one.init:
        return one.name, one.default
    return ("" if one.default is MISSING else f"d{number}_"), one.default


def _parameter(one: Field[Any], number: int) -> str:
    if one.default_factory is not MISSING:
        return f"{one.name}=FACTORY_"
    return one.name if one.default is MISSING else f"{one.name}=d{number}_"


# --- the other methods ------------------------------------------------------------------------------------------------


def _comparison(cls: Any) -> dict[str, Callable[..., Any]]:
    """The methods that compare and hash the fields that count."""
    fields = dataclasses.fields(cls)
    compared = _getter([one.name for one in fields if one.compare])
    hashed = _getter([one.name for one in fields if (one.compare if one.hash is None else one.hash)])

    def equal(one: object, other: object) -> Any:
        return compared(one) == compared(other) if other.__class__ is one.__class__ else NotImplemented

    def hash_of(one: object) -> int:
        return hash(hashed(one))

    return {"__eq__": equal, "__hash__": hash_of}


def _getter(names: list[str]) -> Callable[[object], Any]:
    """A function that returns the values of these fields, as a tuple."""
    if not names:
        return lambda _record: ()
    values = attrgetter(*names)
    return values if len(names) > 1 else lambda record: (values(record),)


@recursive_repr()
def _text(record: Any) -> str:
    shown = (f"{one.name}={getattr(record, one.name)!r}" for one in dataclasses.fields(record) if one.repr)
    return f"{record.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(_record: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_record: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(record: Any) -> list[Any]:
    """The values of the fields, for `pickle` and `copy`."""
    return [getattr(record, one.name) for one in dataclasses.fields(record)]


def _set_state(record: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(record), state, strict=True):
        object.__setattr__(record, one.name, value)


_FROZEN: dict[str, Callable[..., Any]] = {
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
_OWN = {"__init__", "__repr__", "__eq__", "__hash__", *_FROZEN}
"""Methods that a class of this kind does not define itself; one that does is left to the standard library."""
