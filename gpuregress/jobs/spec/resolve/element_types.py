"""Resolution of element types: a dtype, or a C++ type that a parameter gives."""

from __future__ import annotations

import re

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.problems import suggestion
from gpuregress.foundation.document.reader import Key
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain import cxx_types

_FIELD = re.compile(r"\s*(\w+)\s*:\s*([^,{}]+?)\s*(?=,|$)")


def dtype(scope: Scope, text: str, key: Key) -> str | None:
    """Return the dtype that a text stands for in a case; None if there is none, which is reported.

    Args:
        scope: the case's values.
        text: a dtype, or a template as `{real}`, whose value is a dtype or a C++ type.
        key: its key.
    """
    if not templates.is_template(text):
        return text
    filled = scope.text(text, key, strict=True)
    if filled is None:
        return None
    known = _known(filled.strip())
    if known is None:
        hint = suggestion(filled, dtypes.known_names())
        scope.error(key, f"{text!r} is {filled!r}: no dtype holds this type{hint}", text)
    return known


def _known(text: str) -> str | None:
    """The name of a dtype, of a C++ type's dtype, or of a record of such."""
    if not (text.startswith("{") and text.endswith("}")):
        return cxx_types.dtype_of(text)
    fields = {name: cxx_types.dtype_of(inner) for name, inner in _FIELD.findall(text[1:-1])}
    if not fields or None in fields.values():
        return None
    try:
        return dtypes.from_fields({name: str(inner) for name, inner in fields.items()}).name
    except ValueError:
        return None
