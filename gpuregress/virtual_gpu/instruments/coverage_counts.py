"""Coverage of a launch, from the counters of its program's probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import (
    BoundCount,
    BranchCount,
    Coverage,
    FileCoverage,
    Instruments,
    LoopCount,
    merged_coverage,
)
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch, LaunchInstrument
from gpuregress.virtual_gpu.runtime.probe_sites import COUNTERS, ProbeSite

Values = npt.NDArray[np.uint64]


def take(sites: Sequence[ProbeSite], counters: Values) -> Coverage | None:
    """The coverage of what has run since the last call, and set the counters to 0; None without probes.

    A line counts as often as the one of its instructions that was executed most; an instruction inlined into another
    line counts there, too.
    """
    sites = [site for site in sites if site.kind not in ("rounding", "restart")]
    if not sites:
        return None
    values = [int(value) for value in counters]
    for site in sites:
        counters[site.first : site.first + COUNTERS[site.kind]] = 0
    lines: dict[tuple[str, int], int] = {}
    parts: list[Coverage] = []
    copies = Counter(_loop(site) for site in sites if site.kind == "loop" and site.lines)
    for site in sites:
        if site.kind in ("run", "predicate"):  # a guarded instruction is executed where its guard is true
            for path, line, _ in {place for chain in site.lines for place in chain}:
                lines[path, line] = max(lines.get((path, line), 0), values[site.first])
        if site.kind != "run" and site.lines:
            counts = values[site.first : site.first + COUNTERS[site.kind]]
            whole = values[site.base] if site.base >= 0 else 0
            parts.append(Coverage((_one(site, counts, whole, copies[_loop(site)]),)))
    for (path, line), count in lines.items():
        parts.append(Coverage((FileCoverage(path, ((line, count),)),)))
    return merged_coverage(parts)


def _place(site: ProbeSite) -> tuple[str, int, int]:
    return site.lines[0][0]


def _loop(site: ProbeSite) -> tuple[object, ...]:
    """What the loops that a compiler made of one have in common; nothing but this matters of other sites."""
    return (site.function, _place(site), site.number) if site.kind == "loop" else ()


def _one(site: ProbeSite, counts: list[int], whole: int, copies: int) -> FileCoverage:
    path, line, column = _place(site)
    if site.kind == "loop":
        zero = counts[0] if site.note == "zero" else None
        return FileCoverage(path, loops=(LoopCount(line, column, zero, counts[1], counts[2], copies > 1, site.number),))
    if site.kind == "bound":
        below, equal, above = counts
        bound = BoundCount(line, column, site.note, site.source, site.limit, below, equal, above)
        return FileCoverage(path, bounds=(bound,))
    if site.kind == "case":
        return FileCoverage(path, branches=(BranchCount(line, column, counts[0], 0, "case"),))
    taken, other = counts[0], max(0, whole - counts[0])
    if site.kind == "predicate":
        name = f"not {site.note}" if site.is_inverted else site.note
        return FileCoverage(path, branches=(BranchCount(line, column, taken, other, "guard", name),))
    if site.is_inverted:
        taken, other = other, taken
    branch = BranchCount(line, column, taken, other, "branch", site.note, is_inside=site.is_inside)
    return FileCoverage(path, branches=(branch,))


# --- coverage counts --------------------------------------------------------------------------------------------------
# Coverage of a launch, from the counters of its module's probes.


class CoverageCounts(LaunchInstrument):
    """The executions of basic blocks, branches, loops and bounds of a launch."""

    def serves(self, wanted: Instruments) -> bool:
        """Whether coverage is asked for."""
        return wanted.coverage

    def before(self, launch: InstrumentedLaunch) -> None:
        """Nothing is prepared: the counters are 0 after each launch."""

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add the coverage."""
        return replace(report, coverage=take(launch.program.probes, launch.counters))

    def clear(self) -> None:
        """Nothing is kept."""
