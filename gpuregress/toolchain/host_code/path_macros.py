"""Macros that expand to the path of a file, and programs that depend on it.

The compiler gets a source under its name alone, and each header under its path. So a program depends on the folder of
its project where code of a header expands `__FILE__`, or any code `__BASE_FILE__`. A macro that mentions them and that
only host code calls changes no program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText

_OF_HEADERS = frozenset(("__FILE__", "__builtin_FILE", "source_location"))
_OF_ALL = frozenset(("__BASE_FILE__",))


def mentions_path(contents: Iterable[bytes]) -> bool:
    """Tell whether texts have a word at all that may expand to a path; fast."""
    words = [word.encode() for word in sorted(_OF_HEADERS | _OF_ALL)]
    return any(word in text for text in contents for word in words)


def expands_path(texts: Sequence[str], given: Iterable[str]) -> bool:
    """Tell whether the code of texts expands a macro that becomes the path of a folder; a macro too many counts.

    Args:
        texts: the source, then its headers, as the compiler gets them.
        given: the definitions of macros that the compiler's options have.
    """
    source, *headers = map(_words_of, texts)
    bodies: list[tuple[str, frozenset[str]]] = list(source.bodies)
    for header in headers:
        bodies += header.bodies
    for definition in given:
        name, _, body = definition.partition("=")
        bodies.append((name, frozenset(WORD.findall(body))))
    if not _closure(_OF_ALL, bodies).isdisjoint(source.code):
        return True
    of_headers = _closure(_OF_HEADERS | _OF_ALL, bodies)
    return any(not of_headers.isdisjoint(header.code) for header in headers)


class _Words(Record):
    """The words of a text's code, and its macros with the words of each body."""

    code: frozenset[str]
    bodies: tuple[tuple[str, frozenset[str]], ...]


@lru_cache(maxsize=512)
def _words_of(text: str) -> _Words:
    """Read a text; cached, since programs of a source share their headers."""
    parsed = CxxText(text)
    bodies: list[tuple[str, frozenset[str]]] = []
    for name, macros in parsed.macros.items():
        bodies += [(name, frozenset(WORD.findall(macro.body))) for macro in macros]
    return _Words(frozenset(WORD.findall(parsed.code)), tuple(bodies))


def _closure(words: frozenset[str], bodies: Sequence[tuple[str, frozenset[str]]]) -> frozenset[str]:
    """The words, and every macro whose body has one of them."""
    found = words | {name for name, body in bodies if not words.isdisjoint(body)}
    return found if found == words else _closure(found, bodies)


def shows_folder(ptx: str, folders: Iterable[Path]) -> bool:
    """Tell whether a string in PTX has the path of a folder, as that of `assert` in a header has."""
    return any(", ".join(map(str, os.fsencode(f"{folder}/"))) in ptx for folder in folders)
