"""Aliases of C++ types: typedefs, macros and template parameters, resolved to what they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.include_scanner import without_comments

_TYPEDEF = re.compile(r"\btypedef\s+([\w:<>,\s*]+?[\s*])(\w+)\s*;")
_USING = re.compile(r"(?P<template>>\s*)?\busing\s+(?P<name>\w+)\s*=\s*(?P<type>[\w:<>,\s*]+);")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([\w:<>, \t*]+)$", re.MULTILINE)
_QUALIFIER = re.compile(
    r"\b(?:const|constexpr|volatile|static|extern|struct|typename|__restrict__|__restrict|__constant__|__device__)\b"
)
_MOST_STEPS = 16


def aliases(texts: Iterable[str], defines: Mapping[str, str]) -> dict[str, str]:
    """Return the names of types and what each stands for; none with two meanings.

    Args:
        texts: a source and the files that it includes; conditions are not evaluated.
        defines: macros of the compilation, which take precedence.
    """
    found: dict[str, set[str]] = {}
    for text in texts:
        for name, meaning in _meanings(text):
            found.setdefault(name, set()).add(meaning)
    known = {name: meanings.pop() for name, meanings in found.items() if len(meanings) == 1}
    return {**known, **{name: _plain(text) for name, text in defines.items()}}


@lru_cache(maxsize=512)
def _meanings(text: str) -> tuple[tuple[str, str], ...]:
    """List the names of types in a text with what they stand for; cached, since kernels share their headers."""
    code = without_comments(text)
    pairs = [(match[2], match[1]) for match in _TYPEDEF.finditer(code)]
    pairs += [(match["name"], match["type"]) for match in _USING.finditer(code) if not match["template"]]
    pairs += [(match[1], match[2]) for match in _MACRO.finditer(code)]
    return tuple((name, _plain(meaning)) for name, meaning in pairs)


def pointees(kernel: str, declared: Declaration, known: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the dtype of what each parameter of a kernel points to, None where it is no pointer or not known.

    Args:
        kernel: its name in the job, with template arguments.
        declared: the kernel in the source.
        known: the aliases.
    """
    bound = _bound(kernel, declared, known)
    return tuple(_pointee(_resolved(one.type, bound)) for one in declared.parameters)


def values(kernel: str, declared: Declaration, known: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the dtype of each parameter of a kernel that is a number or a vector, None of others; see `pointees`."""
    bound = _bound(kernel, declared, known)
    return tuple(dtype_of(one.type, bound) for one in declared.parameters)


def _bound(kernel: str, declared: Declaration, known: Mapping[str, str]) -> dict[str, str]:
    """The aliases, and the template parameters of a kernel with their arguments."""
    given = cxx_declarations.template_arguments(kernel)
    bound = dict(known)
    for at, text in enumerate(declared.template):
        name, _, default = text.partition("=")
        if at < len(given) or default:
            bound[re.findall(r"\w+", name)[-1]] = _plain(given[at] if at < len(given) else default)
        else:
            bound.pop(re.findall(r"\w+", name)[-1], None)  # deduced, or a pack
    return bound


def dtype_of(written: str, known: Mapping[str, str]) -> str | None:
    """Return the dtype that holds a C++ type, which may be an alias; None if there is none.

    Args:
        written: the type, with qualifiers.
        known: the aliases.
    """
    return dtype_of_type(_resolved(written, known))


def _resolved(written: str, known: Mapping[str, str]) -> str:
    """Replace the names of a type by what they stand for."""
    text = _plain(written)
    for _ in range(_MOST_STEPS):
        base = text.rstrip("* ")
        if base not in known:
            return text
        text = known[base] + text[len(base) :].replace(" ", "")
    return text


def _pointee(text: str) -> str | None:
    plain = text.replace(" *", "*")
    return dtype_of_type(plain[:-1]) if plain.endswith("*") and not plain.endswith("**") else None


def _plain(text: str) -> str:
    return " ".join(_QUALIFIER.sub(" ", text).split())
