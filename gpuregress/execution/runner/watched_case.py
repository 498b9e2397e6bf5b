"""Read set of a user function: the facts of its case that it looked at.

A result of the function holds for every case in which these facts are the same. The case that the function is given
notes each field that is read, and each parameter apart. What reads all parameters (a loop, a copy, their number) is
noted as that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from gpuregress.foundation.records import Case, to_json
from gpuregress.gpu.records import replace

_PARAMETERS = "parameters"


def watched(case: Case, note: Callable[[str], None]) -> Case:
    """A stand-in for a case that notes what is read of it: the name of a field, or `parameters.NAME`.

    Args:
        case: the case.
        note: is told each fact, as often as it is read.
    """
    return cast("Case", _WatchedCase(case, note))


def facts(case: Case, names: Iterable[str]) -> str:
    """Digest of the values that a case has for these facts."""
    values = [[name, _value(case, name)] for name in sorted(names)]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _value(case: Case, name: str) -> Any:
    field, _, parameter = name.partition(".")
    if not parameter:
        return to_json(getattr(case, field))
    return [case.parameters[parameter]] if parameter in case.parameters else []


class _WatchedCase:
    """A stand-in for a case that notes which of its fields are read.

    It is no `Case` itself, because msgspec copies a structure without asking its attributes.
    """

    __slots__ = ("_case", "_note", "_parameters")

    def __init__(self, case: Case, note: Callable[[str], None]) -> None:
        self._case = case
        self._note = note
        self._parameters = _WatchedParameters(case.parameters, note)

    @property  # type: ignore[misc] # an instance of Case for `isinstance`
    def __class__(self) -> type[Case]:  # type: ignore[override]
        return Case

    def __getattr__(self, name: str) -> Any:
        if name == _PARAMETERS:
            return self._parameters
        if name in Case.__struct_fields__:
            self._note(name)
            return getattr(self._case, name)
        attribute = getattr(Case, name)
        if isinstance(attribute, property):
            return attribute.__get__(self)
        return getattr(self._whole(), name)

    def _whole(self) -> Case:
        """The case, all of whose fields may be read."""
        for name in Case.__struct_fields__:
            self._note(name)
        return self._case

    def __eq__(self, other: object) -> bool:
        return self._whole() == other

    def __hash__(self) -> int:
        return hash(self._whole())

    def __repr__(self) -> str:
        return repr(self._whole())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return replace, (self._whole(),)


class _WatchedParameters(dict[str, Any]):  # noqa: PLW1641 - a dict has no hash
    """Parameters that note which of them are read."""

    def __init__(self, values: Any = (), note: Callable[[str], None] = lambda _name: None) -> None:
        super().__init__(values)
        self._note = note

    def _all(self) -> dict[str, Any]:
        self._note(_PARAMETERS)
        return {name: dict.__getitem__(self, name) for name in dict.__iter__(self)}

    def __getitem__(self, name: str) -> Any:
        self._note(f"{_PARAMETERS}.{name}")
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._note(f"{_PARAMETERS}.{name}")
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self._note(f"{_PARAMETERS}.{name}")
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return bool(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == other

    def __ne__(self, other: object) -> bool:
        return self._all() != other

    def __repr__(self) -> str:
        return repr(self._all())

    def __or__(self, other: Any) -> Any:
        return self._all() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._all()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self._all(),)

    def keys(self) -> Any:
        return self._all().keys()

    def values(self) -> Any:
        return self._all().values()

    def items(self) -> Any:
        return self._all().items()

    def copy(self) -> dict[str, Any]:
        return self._all()

    def pop(self, *arguments: Any) -> Any:
        self._note(_PARAMETERS)
        return super().pop(*arguments)

    def popitem(self) -> tuple[str, Any]:
        self._note(_PARAMETERS)
        return super().popitem()

    def setdefault(self, name: str, default: Any = None) -> Any:
        self._note(_PARAMETERS)
        return super().setdefault(name, default)


# What a function does with them is told by these names.
_WatchedCase.__name__ = Case.__name__
_WatchedParameters.__name__ = dict.__name__
