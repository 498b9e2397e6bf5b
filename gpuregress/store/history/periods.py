"""Beginning of a period of the history, as a user writes it: a date, a duration, a commit.

2026-11-20, 2026-11-20T14:00    that moment, UTC
20 Nov, 20 Nov 2026             that day; without a year the last one
7d, 12h, 2w                     so long ago
8eb0c1f                         the first run of that commit
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import PastRun

_DURATION = re.compile(r"(\d{1,6})\s*([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_DAYS = ("%d %b %Y", "%b %d %Y", "%d %B %Y", "%B %d %Y")


def beginning(text: str, runs: Iterable[PastRun], now: datetime) -> str:
    """Find the beginning of a period, in the form of a run's start.

    Args:
        text: as the user writes it.
        runs: those in which a commit is looked for.
        now: UTC.

    Raises:
        UsageError: the text means nothing, or no run is of that commit.
    """
    words = " ".join(text.split())
    moment = _duration(words, now) or _date(words, now)
    if moment is not None:
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    if _COMMIT.fullmatch(words.lower()):
        found = [run.started for run in runs if run.commit.startswith(words.lower())]
        if found:
            return min(found)
        raise UsageError(f"--since {text}: no run in the history is of that commit")
    raise UsageError(f"--since {text!r}: expected a date (2026-11-20, 20 Nov), a duration (7d, 12h, 2w) or a commit")


def seconds_between(first: str, second: str) -> float:
    """Return the seconds from one moment to another; 0 where one of them cannot be read.

    Args:
        first: ISO 8601, UTC.
        second: likewise.
    """
    try:
        return (datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def _duration(text: str, now: datetime) -> datetime | None:
    found = _DURATION.fullmatch(text.lower())
    if found is None:
        return None
    try:
        return now - timedelta(hours=int(found[1]) * _HOURS[found[2]])
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _date(text: str, now: datetime) -> datetime | None:
    if re.match(r"\d{4}-", text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    for form in _DAYS:
        for year in ("", f" {now.year}", f" {now.year - 1}"):
            try:
                moment = datetime.strptime(f"{text}{year}", form).replace(tzinfo=UTC)
            except ValueError:
                continue
            if not year or moment <= now:
                return moment
    return None
