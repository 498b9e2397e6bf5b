"""Statuses and kinds of devices that make the results of a case one series."""

from __future__ import annotations

FAILING = frozenset(("differ", "new", "fault", "timeout", "error"))
"""Statuses that fail a night."""


def device_kind(device: str) -> str:
    """Return `cuda` of `cuda:3`: cases move between the cards of a host."""
    return device.partition(":")[0]
