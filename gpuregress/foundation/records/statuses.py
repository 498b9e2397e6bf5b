"""Statuses of a case: the words of its verdict."""

from __future__ import annotations

from typing import Literal

Status = Literal["pass", "differ", "new", "fault", "timeout", "error", "skip"]
STATUSES: tuple[Status, ...] = ("pass", "differ", "new", "fault", "timeout", "error", "skip")


def headline(status: str, reason: str) -> str:
    """Return a status and its reason as one text; the reason of a `timeout` begins with that word already."""
    return reason if reason.startswith(f"{status}: ") else f"{status}: {reason}"
