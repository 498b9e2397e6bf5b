"""Times and sizes with units, `30s`, `2min`, `4GiB`, `512MB`, and ratios of times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from gpuregress.foundation.document.keys import invalid, show

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]+)\s*")
SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_SECONDS_PER_DAY = 86400.0
_AGES = {"h": 3600.0, "d": _SECONDS_PER_DAY, "w": 7 * _SECONDS_PER_DAY}
LARGEST_SLOWDOWN = 1e6
"""A case that may be slower still is not judged at all."""
BYTES = {
    "B": 1,
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", start=1)},
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", start=1)},
    "kB": 1000,
}


def seconds(value: float | str) -> float:
    """Parse a time limit to seconds.

    Args:
        value: a number of seconds, or text with a unit: ms, s, min, h.

    Raises:
        ValueError: it is neither, not above 0, or longer than 30 days.
    """
    number = _amount(value, SECONDS, "time", "seconds, or a number with ms, s, min or h, such as 30s or 2min")
    if not 0 < number <= 30 * _SECONDS_PER_DAY:
        raise ValueError(f"invalid time limit {show(value)}; expected more than 0 and at most 30 days")
    return float(number)


def age(value: object) -> float:
    """Parse an age to seconds.

    Args:
        value: text with a unit: h, d, w. A number alone is refused: it could mean seconds or days.

    Raises:
        ValueError: it is no such text, or not from an hour to a century.
    """
    wanted = "a number with h, d or w, such as 90d"
    number = _amount(value if isinstance(value, str) else None, _AGES, "age", wanted, shown=value)
    if not _AGES["h"] <= number <= 36525 * _SECONDS_PER_DAY:
        raise ValueError(f"invalid age {show(value)}; expected at least 1h and at most 36525d")
    return float(number)


def size(value: float | str) -> int:
    """Parse a size to bytes.

    Args:
        value: a number of bytes, or text with a unit: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.

    Raises:
        ValueError: it is neither, or not at least 1.
    """
    number = _amount(value, BYTES, "size", "bytes, or a number with KiB, MiB, GiB, kB, MB or GB, such as 4GiB")
    if not 1 <= number < 2**63:
        raise ValueError(f"invalid size {show(value)}; expected at least 1 byte and less than 8 EiB")
    return int(number)


def slowdown(value: object) -> float:
    """Take a ratio above which a case is too slow.

    Raises:
        ValueError: it is no number from 1 to a million.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= LARGEST_SLOWDOWN:
        raise ValueError(f"expected a ratio from 1 to {LARGEST_SLOWDOWN:,.0f}, such as 1.05, got {show(value)}")
    return float(value)


def whole_number(low: int, high: int) -> Callable[[Any], int]:
    """Return a function that takes a whole number between bounds, and raises ValueError for all else."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"expected a whole number from {low} to {high:,}, got {show(value)}")
        return value

    return read


def seconds_text(number: float) -> str:
    """Format a time: `6 h`, `90 min`, `2.5 s`."""
    for unit in ("h", "min"):
        if number >= SECONDS[unit] and number % SECONDS[unit] == 0:
            return f"{number / SECONDS[unit]:g} {unit}"
    return f"{number:g} s"


def size_text(count: int) -> str:
    """Format a size: `4.0 GiB`; a few kilobytes to the byte."""
    if count < 10 * 1024:
        return f"{count} bytes"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


def _amount(
    value: float | str | None,
    units: dict[str, float] | dict[str, int],
    kind: str,
    wanted: str,
    *,
    shown: object = None,
) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf:
        return value  # a whole number may be too large for a float
    match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if match is None or match.group(2) not in units:
        raise ValueError(f"{invalid(kind, value if shown is None else shown)}; expected {wanted}")
    return float(match.group(1)) * units[match.group(2)]
