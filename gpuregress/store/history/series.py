"""Statuses, kinds of devices and the order of runs that make the results of a case one series."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

FAILING = frozenset(("differ", "new", "fault", "timeout", "error"))
"""Statuses that fail a night."""


def moments(runs: Iterable[tuple[int, str, bool]]) -> dict[int, str]:
    """Return the moment of each run in the order of the history: number of the run → ISO 8601, UTC.

    Runs of this project come in the order in which they were written, whatever the clock of the host said. Most clocks
    are right: a run outside of the longest series of starts in this order has the moment of the run of it before. So
    neither a run of the future nor one of the past moves the others. Imported runs were written elsewhere, and have
    their start.

    Args:
        runs: of each run its number, which grows with each run that is written, its start, and whether it was imported.
    """
    by_number = sorted(runs)
    own = [(number, started) for number, started, is_imported in by_number if not is_imported]
    found = {number: started for number, started, is_imported in by_number if is_imported}
    in_order = _longest_in_order([started for _, started in own])
    if not in_order:
        return found
    moment = own[in_order[0]][1]  # that of runs before the first one in order
    kept = set(in_order)
    for place, (number, started) in enumerate(own):
        if place in kept:
            moment = started
        found[number] = moment
    return found


def _longest_in_order(texts: Sequence[str]) -> list[int]:
    """The places of the longest series of texts none of which is less than the one before it, in their order."""
    ends: list[int] = []  # of the series of each length the place where it ends, with the least text possible
    before: list[int | None] = []
    for place, text in enumerate(texts):
        length = bisect.bisect_right(ends, text, key=texts.__getitem__)
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [place]
    series: list[int] = []
    at = ends[-1] if ends else None
    while at is not None:
        series.append(at)
        at = before[at]
    return series[::-1]


def device_kind(device: str) -> str:
    """Return `cuda` of `cuda:3`: cases move between the cards of a host."""
    return device.partition(":")[0]
