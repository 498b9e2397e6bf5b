"""Pairs of source lines before and after an edit, found by their texts."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Sequence

from gpuregress.foundation.records import LineCost

_ALIKE = 0.6
"""The similarity from which a line counts as an edited one; `difflib.get_close_matches` has the same."""
_MOST_PAIRS = 10_000
"""Pairs of changed lines that are compared."""

Pair = tuple[LineCost, LineCost]


def pairs(before: Sequence[LineCost], now: Sequence[LineCost]) -> list[Pair]:
    """Pair each line now with the one that it was; a new line has one without text and costs.

    A line is found in its file in the old order, else by an equal text anywhere, as after a move or in a renamed file,
    else by a similar text. What is left of an exchanged block is paired in order where it has as many lines as before.
    """
    found: dict[int, int] = {}
    blocks: list[tuple[list[int], list[int]]] = []
    for file in dict.fromkeys(line.file for line in now):
        old = [at for at, line in enumerate(before) if line.file == file]
        new = [at for at, line in enumerate(now) if line.file == file]
        texts = [before[at].text for at in old], [now[at].text for at in new]
        for tag, first, end, start, stop in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
            if tag == "equal":
                found.update(zip(new[start:stop], old[first:end], strict=True))
            else:
                blocks.append((old[first:end], new[start:stop]))
    for find in (_equal, _similar):
        _join(found, find(before, now, found))
    exchanged = [zip(new, old, strict=True) for old, new in blocks if len(old) == len(new)]
    _join(found, itertools.chain.from_iterable(exchanged))
    return [(before[found[at]] if at in found else LineCost("", 0, ""), line) for at, line in enumerate(now)]


def _join(found: dict[int, int], more: Iterable[tuple[int, int]]) -> None:
    """Add pairs of lines that are in none yet."""
    taken = set(found.values())
    for at, was in more:
        if at not in found and was not in taken:
            found[at] = was
            taken.add(was)


def _left(before: Sequence[LineCost], now: Sequence[LineCost], found: dict[int, int]) -> tuple[list[int], list[int]]:
    taken = set(found.values())
    return [at for at in range(len(before)) if at not in taken], [at for at in range(len(now)) if at not in found]


def _equal(before: Sequence[LineCost], now: Sequence[LineCost], found: dict[int, int]) -> list[tuple[int, int]]:
    """Lines with the text of a line that is not there any more."""
    old, new = _left(before, now, found)
    places: dict[str, list[int]] = {}
    for was in old:
        places.setdefault(before[was].text, []).append(was)
    return [(at, places[text].pop(0)) for at in new if places.get(text := now[at].text)]


def _similar(before: Sequence[LineCost], now: Sequence[LineCost], found: dict[int, int]) -> list[tuple[int, int]]:
    """Edited lines with what they were, the most similar ones first."""
    old, new = _left(before, now, found)
    if len(old) * len(new) > _MOST_PAIRS:
        return []
    scored: list[tuple[float, int, int]] = []
    for at in new:
        matcher = difflib.SequenceMatcher(None, "", now[at].text, autojunk=False)
        for was in old:
            matcher.set_seq1(before[was].text)
            if matcher.quick_ratio() >= _ALIKE and (score := matcher.ratio()) >= _ALIKE:
                scored.append((-score, at, was))
    return [(at, was) for _, at, was in sorted(scored)]
