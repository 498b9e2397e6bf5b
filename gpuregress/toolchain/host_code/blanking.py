"""Blanking of host code: spaces in its place, so that every line and nearly every column stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import attrgetter

from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code.declarations import View
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros, spaces
from gpuregress.toolchain.host_code.reachability import ANNOTATION, Edits

_DROPPED_DIRECTIVES = ("pragma", "include", "error", "warning")


_PLACE = attrgetter("start", "end", "text")


class Replacement(Record):
    """A stretch of a text and what stands there instead."""

    start: int
    end: int
    text: str


def replacements(text: CxxText, views: Sequence[View], edits: Sequence[Edits], macros: Macros) -> list[Replacement]:
    """List what takes the place of host code.

    Args:
        text: as the file holds it.
        views: of the text.
        edits: of each view.
        macros: of the source and all that it includes.
    """
    spans = _spans(text, views, edits)
    found = [Replacement(start, end, spaces(text.text[start:end])) for start, end in spans]
    found += [Replacement(at, at, ANNOTATION) for one in edits for at in one.annotated]
    found += [Replacement(at, at, inserted) for one in edits for at, inserted in one.inserted]
    found += [Replacement(one.start(1), one.end(1), " " * len(one[1])) for one in _lambdas(text.code, macros)]
    return sorted(set(found), key=_PLACE)


def replaced(text: str, changes: Iterable[Replacement]) -> str:
    """Apply replacements; one that begins inside another is left out."""
    pieces, at = [], 0
    for one in sorted(changes, key=_PLACE):
        if one.start >= at:
            pieces += [text[at : one.start], one.text]
            at = one.end
        elif one.end > at and not one.text.strip():  # blanks that overlap
            pieces.append(one.text[at - one.start :])
            at = one.end
    return "".join((*pieces, text[at:]))


def _lambdas(code: str, macros: Macros) -> Iterable[re.Match[str]]:
    """The annotations of lambdas, which NVRTC refuses."""
    names = "|".join(("__host__", "__device__", *map(re.escape, sorted(macros.annotations))))
    return re.finditer(rf"\]\s*((?:(?:{names})\s*)+)(?=[({{])", code)


def _spans(text: CxxText, views: Sequence[View], edits: Sequence[Edits]) -> list[tuple[int, int]]:
    """The stretches of host code, each within a line: what lies between them stays."""
    kept = [span for one in edits for span in one.kept]
    found: set[tuple[int, int]] = set()
    for view, one in zip(views, edits, strict=True):
        for start, end in one.removed:
            if not any(first < end and start < last for first, last in kept):
                found |= _visible(view.code, start, end)
                found |= _inner_branches(text, start, end)
    return sorted(found)


def _visible(code: str, start: int, end: int) -> set[tuple[int, int]]:
    return {(start + one.start(), start + one.end()) for one in re.finditer(r"\S[^\n]*\S|\S", code[start:end])}


def _inner_branches(text: CxxText, start: int, end: int) -> set[tuple[int, int]]:
    """All branches of the conditionals inside a span, and its directives that would still have an effect."""
    found: set[tuple[int, int]] = set()
    for one in text.conditionals:
        if start <= one.start and one.end <= end:
            found |= _visible(text.code, one.start, one.end)
    for directive in text.directives:
        if start <= directive.start and directive.end <= end and directive.word in _DROPPED_DIRECTIVES:
            found.add((directive.start, directive.end))
    return found
