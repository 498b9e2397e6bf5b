"""Statuses, kinds of devices and the order of runs that make the results of a case one series."""

from __future__ import annotations

from collections.abc import Iterable

FAILING = frozenset(("differ", "new", "fault", "timeout", "error"))
"""Statuses that fail a night."""


def moments(runs: Iterable[tuple[int, str, bool]]) -> dict[int, str]:
    """Return the moment of each run in the order of the history: number of the run → ISO 8601, UTC.

    Runs of this project come in the order in which they were written, whatever the clock of the host said: one that
    began after a run that was written later has the moment of that. Imported runs were written elsewhere, and have
    their start.

    Args:
        runs: of each run its number, which grows with each run that is written, its start, and whether it was imported.
    """
    found: dict[int, str] = {}
    later = ""
    for number, started, is_imported in sorted(runs, reverse=True):
        if is_imported:
            found[number] = started
        else:
            later = found[number] = min(started, later) if later else started
    return found


def device_kind(device: str) -> str:
    """Return `cuda` of `cuda:3`: cases move between the cards of a host."""
    return device.partition(":")[0]
