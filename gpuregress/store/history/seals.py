"""Seals of rows: digests that show a change, for SQLite has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuregress.foundation.storage import digest_text


def seal(values: Sequence[Any]) -> int:
    """Compute the seal of a row: half of the xxh3-128 of its values, as SQLite's signed integer."""
    half = int(_digest(values)[:16], 16)
    return half - (1 << 64) if half >> 63 else half


def is_old(text: str, values: Sequence[Any]) -> bool:
    """Tell whether a row of version 2 is as it was written; rows of version 1 have no seal."""
    return text in ("", _digest(values))


def _digest(values: Sequence[Any]) -> str:
    return digest_text(repr(tuple(values)).encode())
