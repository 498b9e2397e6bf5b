"""Messages for pydantic's validation errors, at the keys of the file."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from gpuregress.foundation.document.problems import show, suggestion
from gpuregress.foundation.document.reader import Key
from gpuregress.jobs.spec.models.job import JobSpec

_KINDS = {"dict": "a mapping", "list": "a list", "str": "text"}


def key_of(data: Any, error: ErrorDetails) -> Key:
    """Return the key of an error in the file, without the steps that models insert."""
    key: list[str | int] = []
    node: Any = data
    parts = [part for part in error["loc"] if part != "[key]"]
    for position, part in enumerate(parts):
        if _follows(node, part):
            node = node[part]
            key.append(part)
        elif position == len(parts) - 1 and error["type"] == "missing":
            key.append(part)
    return tuple(key)


def _follows(node: Any, part: int | str) -> bool:
    if isinstance(node, list):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, dict) and part in node


def message_of(error: ErrorDetails) -> str:
    """Return the message of an error."""
    wording = _WORDINGS.get(error["type"])
    return wording(error) if wording else f"is {show(error['input'])}: {error['msg']}"


def known_keys(loc: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the keys of the mapping at this location of a job; () if any name is valid."""
    annotation: Any = JobSpec
    for part in loc:
        annotation = _unwrapped(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            if field is None:
                return ()
            annotation = field.annotation
        else:
            annotation = (typing.get_args(annotation) or (None,))[-1]
    annotation = _unwrapped(annotation)
    return tuple(annotation.model_fields) if isinstance(annotation, type) and issubclass(annotation, BaseModel) else ()


def _unwrapped(annotation: Any) -> Any:
    """Strip Annotated and `| None` from an annotation."""
    while True:
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif origin in (types.UnionType, typing.Union):
            annotation = next(option for option in typing.get_args(annotation) if option is not types.NoneType)
        else:
            return annotation


def _unknown(error: ErrorDetails) -> str:
    *parents, name = error["loc"]
    known = known_keys(tuple(parents))
    inside = [key for key in known if name in known_keys((*parents, key))]
    hint = suggestion(str(name), known, there_are="the keys are")
    if inside and not hint.startswith("; did you mean"):  # `buffer` is a key of status, and means `buffers`
        return f"unknown key here; it is a key of {' and of '.join(inside)}"
    return f"unknown key{hint}"


def _wanted(what: str) -> Callable[[ErrorDetails], str]:
    return lambda error: f"expected {what}, got {show(error['input'])}"


def _mapping(error: ErrorDetails) -> str:
    known = known_keys(error["loc"])
    keys = f" with the keys {', '.join(known)}" if known else ""
    return f"expected a mapping{keys}, got {show(error['input'])}"


def _list(error: ErrorDetails) -> str:
    value = error["input"]
    example = f" such as [{value}]" if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    return f"expected a list{example}, got {show(value)}"


def _too_short(error: ErrorDetails) -> str:
    context: Mapping[str, Any] = error.get("ctx", {})
    if context.get("actual_length") == 0:
        return f"expected at least {context['min_length']}, got none"
    return f"expected at least {context.get('min_length')}, got {context.get('actual_length')}"


def _too_long(error: ErrorDetails) -> str:
    context: Mapping[str, Any] = error.get("ctx", {})
    return f"expected at most {context.get('max_length')}, got {context.get('actual_length')}"


def _choice(error: ErrorDetails) -> str:
    expected = str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").replace("'", "")
    options = expected.split(", ")
    if options == ["True"]:
        return f"expected no setting, got {show(error['input'])}"
    options = [{"True": "true", "False": "false"}.get(option, option) for option in options]
    return f"expected one of {', '.join(options)}; got {show(error['input'])}{_near(error['input'], options)}"


def _near(value: Any, options: list[str]) -> str:
    hint = suggestion(str(value), options)
    return hint if "did you mean" in hint else ""


def _own(error: ErrorDetails) -> str:
    return str(error.get("ctx", {}).get("error", error["msg"]))


_WORDINGS: dict[str, Callable[[ErrorDetails], str]] = {
    "extra_forbidden": _unknown,
    "missing": lambda _: "missing key",
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    "dict_type": _mapping,
    "list_type": _list,
    "string_type": _wanted("text"),
    "string_too_short": _wanted("text"),
    "string_too_long": lambda _: "is too long for a name",
    "string_pattern_mismatch": _wanted("an architecture such as sm_90"),
    "too_short": _too_short,
    "too_long": _too_long,
    "literal_error": _choice,
    "value_error": _own,
}
