"""Frozen dataclasses whose methods are compiled at their first use.

The standard library compiles six methods for each class, 0.5 ms, when its module is imported. A run imports some two
hundred such classes, in the parent and in each worker, and uses the methods of a few. Here a class gets its fields and
slots at once. Its first instance, comparison or hash compiles the methods, by the standard library itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

_LATE = ("__repr__", "__eq__", "__hash__")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported: type checkers know this one
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """`dataclasses.dataclass`; only `frozen=True, slots=True` without dataclasses among its bases is other."""

        def decorate(cls: type) -> type:
            is_plain = options == {"frozen": True, "slots": True}
            if not is_plain or any(map(dataclasses.is_dataclass, cls.__bases__)) or set(_OWN) & vars(cls).keys():
                return dataclasses.dataclass(cls, **options)
            return _light(cls)

        return decorate if cls is None else decorate(cls)


def complete(cls: Any) -> None:
    """Compile the constructor of a class now, where there is time to."""
    if getattr(cls.__init__, "is_first_call", False):
        _compile(cls, ("__init__",))


def _light(cls: type) -> Any:
    """A class with fields and slots whose methods replace themselves when they are called first."""
    light: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    light.__dataclass_params__.frozen = True
    for name, method in _FROZEN.items():
        setattr(light, name, method)
    for names in (("__init__",), _LATE):
        for name in names:
            setattr(light, name, _first_call(light, name, names))
    return light


def _first_call(cls: Any, name: str, names: tuple[str, ...]) -> Callable[..., Any]:
    """A method that compiles those of `names`, and calls the one of its own name."""

    def method(*arguments: Any, **named: Any) -> Any:
        _compile(cls, names)
        return getattr(cls, name)(*arguments, **named)

    method.is_first_call = True  # type: ignore[attr-defined] # a function takes any attribute
    return method


def _compile(cls: Any, names: tuple[str, ...]) -> None:
    """Give a class the methods that the standard library compiles for a twin with the same fields."""
    own = dataclasses.fields(cls)
    namespace: dict[str, Any] = {one.name: _copy(one) for one in own}
    namespace |= {"__annotations__": {one.name: one.type for one in own}, "__module__": cls.__module__, "__doc__": " "}
    if hasattr(cls, "__post_init__"):
        namespace["__post_init__"] = cls.__post_init__
    begins, rest = "__init__" in names, "__init__" not in names
    twin: Any = dataclasses.dataclass(init=begins, repr=rest, eq=rest, frozen=True)(type(cls.__name__, (), namespace))
    for name in names:
        method = getattr(twin, name)
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


def _copy(one: dataclasses.Field[Any]) -> Any:
    """A field like another, to be bound to another class."""
    options: dict[str, Any] = {"init": one.init, "repr": one.repr, "hash": one.hash, "compare": one.compare}
    if one.default is not dataclasses.MISSING:
        options["default"] = one.default
    if one.default_factory is not dataclasses.MISSING:
        options["default_factory"] = one.default_factory
    return dataclasses.field(metadata=one.metadata, kw_only=one.kw_only, **options)


def _refuse_assignment(_record: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_record: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


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
_OWN = ("__init__", *_LATE, *_FROZEN)
"""Methods that a class of this kind does not define itself; one that does is left to the standard library."""
