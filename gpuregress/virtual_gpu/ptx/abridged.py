"""PTX text without the bodies of functions that the launched kernels do not reach.

A library's module may have 150 kernels of which one is launched. Lexing and parsing the others takes seconds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gpuregress.gpu.records import Record

_STRUCTURE = re.compile(r'[{};]|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_HEADER = re.compile(r"\.(?:entry|func)\b(?:\s*\.\w+(?:\s*\([^)]*\))?)*\s*(?:\([^)]*\))?\s*([A-Za-z_$%][\w$]*)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_SHARED = re.compile(r"^[ \t]*\.shared\b[^;]*;", re.MULTILINE)


class Abridged(Record):
    """A PTX text without the bodies that are not needed; the others keep their lines.

    Attributes:
        text: of each body that is left out, the declarations of shared variables remain, whose sizes are checked.
        skipped: the names of the functions whose bodies are left out.
    """

    text: str
    skipped: frozenset[str] = frozenset()


class _Body(Record):
    name: str
    start: int
    end: int


def abridge(text: str, kernels: Collection[str]) -> Abridged:
    """Leave out the bodies of functions that kernels cannot reach.

    A function is reachable if a reachable one names it, or the initial value of a variable does.

    Args:
        text: a PTX module.
        kernels: the mangled names of the kernels that are launched.
    """
    if text.count(".entry") <= len(kernels) or ".alias" in text:
        return Abridged(text)
    items = [*_items(text)]
    bodies = {item.name: item for item in items if isinstance(item, _Body)}
    initialisers = (item for item in items if isinstance(item, str))
    roots = {name for item in initialisers for name in _NAME.findall(item.partition("=")[2]) if name in bodies}
    needed = _reachable(text, bodies, roots | (set(kernels) & bodies.keys()))
    unneeded = [body for body in bodies.values() if body.name not in needed]
    parts, end = [], 0
    for body in sorted(unneeded, key=lambda body: body.start):
        parts += [text[end : body.start], _stub(text, body)]
        end = body.end
    return Abridged("".join((*parts, text[end:])), frozenset(body.name for body in unneeded))


def _items(text: str) -> Iterator[_Body | str]:
    """Yield the bodies of functions, and the declarations of the module as text."""
    start, opened, depth = 0, 0, 0
    for match in _STRUCTURE.finditer(text):
        mark = match[0]
        if mark == "{":
            opened = opened if depth else match.start()
            depth += 1
        elif mark == "}":
            depth -= 1
            header = _HEADER.search(_COMMENT.sub("", text[start:opened])) if depth == 0 else None
            if header is not None:
                yield _Body(header[1], opened, match.end())
                start = match.end()
        elif mark == ";" and depth == 0:
            yield text[start : match.start()]
            start = match.end()


def _reachable(text: str, bodies: dict[str, _Body], roots: set[str]) -> set[str]:
    found, pending = set(roots), list(roots)
    while pending:
        body = bodies[pending.pop()]
        named = (set(_NAME.findall(text, body.start, body.end)) & bodies.keys()) - found
        found |= named
        pending += named
    return found


def _stub(text: str, body: _Body) -> str:
    """A body of as many lines that only declares shared variables."""
    parts, end = ["{"], body.start
    for match in _SHARED.finditer(text, body.start, body.end):
        parts += ["\n" * text.count("\n", end, match.start()), match[0]]
        end = match.end()
    return "".join((*parts, "\n" * text.count("\n", end, body.end), "}"))
