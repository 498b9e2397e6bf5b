"""Natural sort order of case names: numbers by their value, `n=2` before `n=10`."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"([0-9]+)")
Key = tuple[tuple[tuple[tuple[int, str], ...], ...], str]


def key(name: str) -> Key:
    """Return a sort key: by job, then by parameters; names that differ in leading zeros alone keep a fixed order."""
    return tuple(map(_part_key, name.split("/"))), name


def _part_key(part: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(word), "") if at % 2 else (-1, word) for at, word in enumerate(_NUMBER.split(part)))
