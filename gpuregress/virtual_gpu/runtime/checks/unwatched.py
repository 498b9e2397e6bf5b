"""Note of what a launch accessed that the dynamic checks could not watch."""

from __future__ import annotations

from collections.abc import Iterable

HEAP = "memory from malloc"
LATE_TURNS = "blocks after a million changes between blocks"
LOST_ACCESSES = "more than four million concurrent accesses"
CLOCKS = "clocks and active masks are read, which depend on the schedule"
"""No access to memory: a sentence of its own, for those who ask what a schedule can change."""
_SUBJECTS = {"races": "races", "uninitialized": "unwritten reads"}


def note(parts: Iterable[str], checks: Iterable[str]) -> str:
    """A line that tells what was not watched; "" where that is nothing.

    Args:
        parts: what was accessed unwatched.
        checks: the dynamic checks that were asked for.
    """
    subjects = [text for name, text in _SUBJECTS.items() if name in checks]
    told = [part for part in parts if part != CLOCKS]
    if not subjects or not told:
        return ""
    return f"{' and '.join(subjects)} of {', '.join(told)} are not watched"
