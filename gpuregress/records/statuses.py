"""Statuses of a case: the words of its verdict."""

from __future__ import annotations

from typing import Literal

Status = Literal["pass", "differ", "new", "fault", "timeout", "error", "skip"]
STATUSES: tuple[Status, ...] = ("pass", "differ", "new", "fault", "timeout", "error", "skip")
