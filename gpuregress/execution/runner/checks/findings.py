"""Findings of the dynamic checks as the fault of a case."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.errors import CALLED_AT, FaultLocation
from gpuregress.foundation.records import CheckFinding, Fault
from gpuregress.gpu.records import replace

MOST_SHOWN = 20
"""Findings of a case that its fault tells."""
_MOST_CALLS = 5
"""Further calls of inlined functions that a finding tells."""


def merged(findings: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Findings of several launches: those at the same source lines and variable are one, with their number.

    The widest scope stands for the others at its lines, and comes first: __syncwarp() mends no race between two warps.
    Lines of an inlined function may be reached by several calls: those of the first finding are in its message, others
    are details.
    """
    first: dict[tuple[str, ...], CheckFinding] = {}
    for finding in findings:
        key = _identity(finding)
        known = first.get(key)
        if known is None:
            first[key] = finding
            continue
        details = known.details
        if finding.calls != known.calls and len(details) < _MOST_CALLS:
            details = tuple(dict.fromkeys((*details, *finding.details, f"also at {_chains(finding)}")))
        chief = finding if finding.scope > known.scope else known
        first[key] = replace(chief, count=known.count + finding.count, details=details)
    found = tuple(first.values())
    races = iter(sorted((finding for finding in found if finding.kind == "race"), key=lambda race: -race.scope))
    return tuple(next(races) if finding.kind == "race" else finding for finding in found)


def _identity(finding: CheckFinding) -> tuple[str, ...]:
    return finding.kind, finding.location, finding.lines, finding.variable


def _chains(finding: CheckFinding) -> str:
    """`dot.cuh:8, called at gemv.cu:10, and dot.cuh:13, called at gemv.cu:10`."""
    lines = finding.lines.split(", ") if finding.lines else [finding.location]
    calls = finding.calls or ((),) * len(lines)
    chains = (CALLED_AT.join((line, *behind)) for line, behind in zip(lines, calls, strict=True))
    return ", and ".join(dict.fromkeys(chains))


def with_launch(known: Sequence[CheckFinding], new: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """The findings of a case after a further launch: what is not freed counts behind the last one only."""
    return merged((*(finding for finding in known if finding.kind != "leak"), *new))


def has_chief_of(findings: Sequence[CheckFinding], known: Sequence[CheckFinding]) -> bool:
    """Whether the first finding is the same as before, however often it has come since."""
    chiefs = [[_identity(item) for item in items[:1]] for items in (findings, known)]
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
    return Fault(chief.kind, chief.message, tuple(lines), position=position, location=_location(chief))


def _location(finding: CheckFinding) -> FaultLocation:
    """The variable and the line that a finding blames."""
    file, _, line = finding.location.rpartition(":")
    if not line.isdecimal():
        return FaultLocation(finding.variable)
    return FaultLocation(finding.variable, file=file, line=int(line), calls=finding.calls[-1] if finding.calls else ())
