"""Findings of the dynamic checks as the fault of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuregress.records import CheckFinding, Fault

MOST_SHOWN = 20
"""Findings of a case that its fault tells."""


def merged(findings: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Findings of several launches: those at the same source lines are one, with their number."""
    first: dict[tuple[str, str, str], CheckFinding] = {}
    for finding in findings:
        key = (finding.kind, finding.location, finding.lines)
        known = first.get(key)
        first[key] = finding if known is None else replace(known, count=known.count + finding.count)
    return tuple(first.values())


def with_launch(known: Sequence[CheckFinding], new: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """The findings of a case after a further launch: what is not freed counts behind the last one only."""
    return merged((*(finding for finding in known if finding.kind != "leak"), *new))


def has_chief_of(findings: Sequence[CheckFinding], known: Sequence[CheckFinding]) -> bool:
    """Whether the first finding is the same as before, however often it has come since."""
    chiefs = [[(item.kind, item.location, item.lines) for item in items[:1]] for items in (findings, known)]
    return chiefs[0] == chiefs[1]


def fault_of(findings: Sequence[CheckFinding], position: int | None = None) -> Fault:
    """The fault of a case with findings: the first one, and the others as details.

    Args:
        findings: of all launches.
        position: of the launch with the first one, from 0.
    """
    chief, *others = findings
    lines = list(chief.details)
    if chief.count > 1:
        lines.append(f"{chief.count:,} times at these lines")
    for other in others[: MOST_SHOWN - 1]:
        times = f" ({other.count:,} times)" if other.count > 1 else ""
        lines += [f"{other.message}{times}", *other.details]
    if len(others) >= MOST_SHOWN:
        lines.append(f"{len(others) - MOST_SHOWN + 1} more findings")
    return Fault(chief.kind, chief.message, tuple(lines), position=position)
