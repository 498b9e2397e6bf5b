"""Layout of reports in text: tables, paths below the project, a fair choice of many entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from gpuregress.foundation.escapes import one_line

Entry = TypeVar("Entry")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Left-aligned columns, two spaces apart, cut nowhere."""
    lines = [head]
    lines += [list(map(one_line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


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
