"""Layout of reports in text: tables, paths below the project, a fair choice of many entries."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from gpuregress.foundation.escapes import one_line

Entry = TypeVar("Entry")


_FEWEST = 24
"""Characters that the last column of a table must have to be folded; below, other columns are left out for it."""
_INDENT = 4


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None, drop: Sequence[str] = ()
) -> Iterator[str]:
    """Left-aligned columns, two spaces apart; no word is cut.

    Args:
        head: the names of the columns.
        rows: the cells of each row.
        width: of the terminal, to which the table is fitted: columns are left out, then the last one is folded; None:
            lines of any length.
        drop: the columns that may be left out, the first one first.
    """
    lines = [list(head)]
    lines += [list(map(one_line, row)) for row in rows]
    if width is not None:
        lines = _without_columns(lines, width, drop)
    widths = _widths(lines)
    for line in lines:
        text = "  ".join(map(str.ljust, line, widths)).rstrip()
        if width is None or len(text) <= width:
            yield text
        else:
            yield from _folded(line, widths, width)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _without_columns(lines: list[list[str]], width: int, drop: Sequence[str]) -> list[list[str]]:
    """Leave columns out until the last one fits, or has room to be folded."""
    for name in drop:
        widths = _widths(lines)
        room = width - sum(widths[:-1]) - 2 * (len(widths) - 1)
        if room >= min(_FEWEST, widths[-1]):
            break
        if name in lines[0]:
            position = lines[0].index(name)
            lines = [line[:position] + line[position + 1 :] for line in lines]
    return lines


def _folded(line: Sequence[str], widths: Sequence[int], width: int) -> Iterator[str]:
    """A row whose last cell takes several lines: beside the other cells, or below them where there is no room."""
    *cells, last = line
    beside = "  ".join(map(str.ljust, cells, widths))
    room = width - len(beside) - 2
    parts = _words(last, room) if room > 0 else []
    if room >= min(_FEWEST, widths[-1]) and max(map(len, parts), default=0) <= room:
        yield f"{beside}  {parts[0]}".rstrip()
        for part in parts[1:]:
            yield f"{'':{len(beside) + 2}}{part}"
        return
    indent = " " * _INDENT
    if len(beside.rstrip()) <= width:
        yield beside.rstrip()
    else:
        first, *more = _words(cells[0], width) or [""]
        yield first
        yield from (indent + part for part in _words(" ".join(more), width - _INDENT))
        yield from (indent + part for part in _words("  ".join(filter(None, cells[1:])), width - _INDENT))
    yield from (indent + part for part in _words(last, width - _INDENT))


def _words(text: str, width: int) -> list[str]:
    """Fold a text between words; a longer word stays whole."""
    return textwrap.wrap(text, max(1, width), break_long_words=False, break_on_hyphens=False)


def shown(path: str, root: Path | None) -> str:
    """A path, relative to the project's root where it is below it."""
    if root is not None and path and Path(path).is_relative_to(root):
        return str(Path(path).relative_to(root))
    return path


def spread(keys: Iterable[str]) -> list[int]:
    """The positions of all keys, one of each key before a second of any."""
    counts: Counter[str] = Counter()
    ranked = []
    for position, key in enumerate(keys):
        ranked.append((counts[key], position))
        counts[key] += 1
    return [position for _, position in sorted(ranked)]


def pick(entries: Sequence[tuple[str, Entry]], most: int) -> tuple[list[Entry], dict[str, int]]:
    """Pick at most `most` entries in their order, one of each job before a second of any.

    Args:
        entries: each with its job, or another key.
        most: how many.

    Returns:
        Those picked; and job → the number left out.
    """
    chosen = set(spread(key for key, _ in entries)[:most])
    picked = []
    left_out: Counter[str] = Counter()
    for position, (key, entry) in enumerate(entries):
        if position in chosen:
            picked.append(entry)
        else:
            left_out[key] += 1
    return picked, dict(left_out)
