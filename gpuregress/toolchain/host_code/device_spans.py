"""Spans of device code and of classes by their brackets, also where the grammar misreads them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuregress.toolchain.host_code.preprocessing import Macros, words_of

_DEVICE = tuple(f"__{one}__" for one in ("global", "device", "constant", "shared", "managed"))
_BRACKETS = r"[(){}\[\];]"
_CLASS = rf"{words_of(('class', 'struct', 'union'))}\b(?<!enum class)(?<!enum struct)[^;{{}}()=]*(?=\{{)"
_CLASS_WORD = re.compile(r"\b(?:class|struct|union)\b")
_GOES_ON = re.compile(r"\s*[,{]")
_BODY = re.compile(r"\s*\{")


def device_spans(bare: str, macros: Macros) -> tuple[tuple[int, int], ...]:
    """Find what each annotation begins: up to its semicolon, or to the end of its body.

    Args:
        bare: a view without the contents of strings.
        macros: those that annotate are as annotations; some open or close a body.
    """
    annotation = re.compile(rf"{words_of((*_DEVICE, *sorted(macros.annotations)))}\b")
    brackets = _brackets(macros)
    found: list[tuple[int, int]] = []
    at = 0
    while (first := annotation.search(bare, at)) is not None:
        is_call = first[0] in macros.named and bare[first.end() :].lstrip().startswith("(")
        at = _end(bare, first.start(), brackets, macros.braces, is_call=is_call)
        at = max(at, first.end())
        found.append((first.start(), at))
    return tuple(found)


def class_spans(bare: str, macros: Macros) -> tuple[tuple[int, int, int], ...]:
    """Find the outermost classes: offsets of their first word and of their body, and the one behind it.

    Args:
        bare: a view without the contents of strings.
        macros: some open or close a body.
    """
    opening = [
        name
        for name, surplus in sorted(macros.braces.items())
        if surplus > 0 and any(_CLASS_WORD.search(one) for one in macros.bodies(name))
    ]
    begin = re.compile(rf"{_CLASS}|{words_of(opening)}\b" if opening else _CLASS)
    brackets = _brackets(macros)
    found: list[tuple[int, int, int]] = []
    at = 0
    while (head := begin.search(bare, at)) is not None:
        body = head.end() if bare[head.end() : head.end() + 1] == "{" else head.start()
        at = max(_end(bare, body, brackets, macros.braces, is_call=False), head.end())
        found.append((head.start(), head.end(), at))
    return tuple(found)


def _brackets(macros: Macros) -> re.Pattern[str]:
    return re.compile(rf"{_BRACKETS}|{words_of(sorted(macros.braces))}\b" if macros.braces else _BRACKETS)


def _end(bare: str, start: int, brackets: re.Pattern[str], braces: Mapping[str, int], *, is_call: bool) -> int:
    """The offset behind the declaration that begins at an offset; a macro's call alone may be one."""
    depth = 0
    for one in brackets.finditer(bare, start):
        if one[0] == ";" and depth == 0:
            return one.end()
        depth += braces.get(one[0], 1 if one[0] in "([{" else 0 if one[0] == ";" else -1)
        if depth < 0:
            return one.start()
        if depth == 0 and one[0] == ")" and is_call:
            if not _BODY.match(bare, one.end()):
                return one.end()
            is_call = False
        if depth == 0 and (one[0] == "}" or one[0] in braces) and not _GOES_ON.match(bare, one.end()):
            return one.end()
    return len(bare)
