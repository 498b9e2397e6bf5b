"""Error map of a buffer as characters: a strip of bins, or a small heat map.

Colours go from green to red on a logarithmic scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from gpuregress.foundation.records import ErrorProfile

SAME = "·"
NOT_A_NUMBER = "!"
LEVELS = "▁▂▃▄▅▆▇█"
Line = tuple[tuple[str, int | None], ...]
"""Texts, each in one of xterm's 256 colours, or in none."""
_COLOURS = (34, 70, 106, 142, 178, 172, 166, 160)
"""xterm's 256 colours from green to red, one a level."""
_NAN_COLOUR = 201
_SAME_COLOUR = 240


def strip(profile: ErrorProfile) -> Iterator[Line]:
    """A line of bins along the buffer, and its legend.

    Args:
        profile: of one axis.
    """
    yield _coloured(_signs(profile))
    yield ((_legend(profile), None),)


def heat_map(profile: ErrorProfile) -> Iterator[Line]:
    """A line for each row of bins, and the legend.

    Args:
        profile: of two axes.
    """
    signs, columns = _signs(profile), profile.shape[1]
    for start in range(0, len(signs), columns):
        yield _coloured(signs[start : start + columns])
    yield ((_legend(profile), None),)


def level(error: float, low: float, high: float) -> int:
    """The level of an error, 0 to 7, by its logarithm between the smallest and the largest error."""
    if high <= low:
        return len(LEVELS) - 1
    share = (math.log10(error) - math.log10(low)) / (math.log10(high) - math.log10(low))
    return min(len(LEVELS) - 1, max(0, int(share * len(LEVELS))))


def ends(largest: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest error of all bins that is finite and not zero; zeros where there is none."""
    finite = [error for error in largest if math.isfinite(error) and error > 0]
    return (min(finite), max(finite)) if finite else (0.0, 0.0)


def _signs(profile: ErrorProfile) -> list[tuple[str, int]]:
    """A sign and its colour for each bin."""
    low, high = ends(profile.largest)
    bins = zip(profile.largest, profile.differing, strict=True)
    return [_sign(error, count, low, high) for error, count in bins]


def _sign(error: float, differing: int, low: float, high: float) -> tuple[str, int]:
    if not differing:
        return SAME, _SAME_COLOUR
    if not math.isfinite(error):
        return NOT_A_NUMBER, _NAN_COLOUR
    at = level(error, low, high) if error > 0 else 0
    return LEVELS[at], _COLOURS[at]


def _legend(profile: ErrorProfile) -> str:
    low, high = ends(profile.largest)
    fewest, most = min(profile.of), max(profile.of)
    each = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    parts = [f"each sign {each} element{'s' if each != '1' else ''}", f"{SAME} same"]
    if high > low:
        parts.append(f"{LEVELS[0]} error {low:.2g} … {LEVELS[-1]} {high:.2g}")
    elif high:
        parts.append(f"{LEVELS[-1]} error {high:.2g}")
    if any(not math.isfinite(error) for error in profile.largest):
        parts.append(f"{NOT_A_NUMBER} NaN or infinity")
    return ", ".join(parts)


def _coloured(signs: Sequence[tuple[str, int]]) -> Line:
    return tuple(("".join(sign for sign, _ in run), colour) for colour, run in groupby(signs, key=lambda sign: sign[1]))
