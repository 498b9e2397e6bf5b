"""Reports of the launches of a case: times, output, resources, counts, findings of checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gpuregress.execution.runner.launcher import Launcher, LoadedSource
from gpuregress.foundation.errors import CALLED_AT, CodeLine, FaultLocation
from gpuregress.foundation.records import (
    CheckFinding,
    Costs,
    Coverage,
    Fault,
    InstrumentReports,
    Launch,
    LaunchTime,
    Source,
)
from gpuregress.gpu import instruments
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.records import replace

MOST_SHOWN = 20
"""Findings of a case that its fault reports."""
_MOST_CALLS = 5
"""Further calls of inlined functions that a finding reports."""


class LaunchReports:
    """What a device has reported of the launches of one case.

    Attributes:
        times: of the launches of the first run and of the repeats.
        output: printed by the kernels.
        resources: kernel → registers, memory, occupancy.
        instruments: what they report.
        finding_position: position of the launch with the first finding of the dynamic checks.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._case = launcher.case
        self._labels = launcher.case.kernel_labels
        self.times: list[LaunchTime] = []
        self.output: list[str] = []
        self.resources: dict[str, dict[str, int]] = {}
        self.instruments = InstrumentReports()
        self.finding_position: int | None = None

    @property
    def fault(self) -> Fault | None:
        """The fault that the findings of the dynamic checks are; None without any."""
        findings = self.instruments.findings
        if not findings:
            return None
        return fault_of(findings, self.finding_position)

    @property
    def source_line(self) -> CodeLine | None:
        """The first line that the first finding tells; None where that is no line of a source."""
        findings = self.instruments.findings
        if not findings:
            return None
        return _first_line(findings[0])

    def add(self, launch: Launch, report: LaunchReport, *, is_first: bool) -> None:
        """Add the launch that has ended.

        Args:
            report: of its device.
            is_first: whether it is one of the first run.
        """
        assert self._launcher.current is not None
        seen = self.instruments
        label = self._labels[launch.source, launch.kernel]
        self.times.append(LaunchTime(self._launcher.current, launch.kernel, report.elapsed_ms))
        self.output.append(report.output)
        if report.counters:
            total = Counter(seen.counters.get(label, {})) + Counter(report.counters)
            seen = replace(seen, counters={**seen.counters, label: total})
        if report.exchange:
            exchanges = (*seen.exchanges, f"{label}: {report.exchange}")
            seen = replace(seen, exchanges=tuple(dict.fromkeys(exchanges)))
        if report.unwatched:
            unwatched = (*seen.unwatched, f"{label}: {report.unwatched}")
            seen = replace(seen, unwatched=tuple(dict.fromkeys(unwatched)))
        if report.findings or seen.findings:
            findings = with_launch(seen.findings, report.findings)
            if not has_chief_of(findings, seen.findings):
                self.finding_position = self._launcher.position if is_first else None
            seen = replace(seen, findings=findings)
        if is_first and report.instructions is not None:
            executed = seen.instructions.get(label, 0) + report.instructions
            uncounted = tuple(dict.fromkeys((*seen.uncounted, *report.uncounted)))
            seen = replace(seen, instructions={**seen.instructions, label: executed}, uncounted=uncounted)
        self.instruments = seen
        if is_first:
            self._add_counts(launch, report)

    def add_interrupted(self, report: LaunchReport | None, *, is_first: bool) -> None:
        """Add what was counted in the launch that a fault has ended.

        Args:
            report: of that launch; None where there is none.
            is_first: whether it is one of the first run.
        """
        position = self._launcher.position
        if report is None or position is None or not is_first:
            return
        costs = report.costs and replace(report.costs, uncounted="the launch ended with a fault")
        self._add_counts(self._case.launches[position], replace(report, costs=costs))

    def add_resources(self, loaded: Sequence[LoadedSource]) -> None:
        """Add the resources that the kernels of the case need, once for each.

        Args:
            loaded: the programs of its sources.
        """
        for launch in self._case.launches:
            label = self._labels[launch.source, launch.kernel]
            if label in self.resources:
                continue
            module = loaded[launch.source].module
            mangled = loaded[launch.source].program.entries[launch.kernel].mangled
            info = module.kernel(mangled)
            self.resources[label] = {
                "registers": info.registers,
                "shared": info.shared,
                "local": info.local,
                "spill": info.spill,
                **module.occupancy(mangled, launch.block, launch.shared),
            }

    def _add_counts(self, launch: Launch, report: LaunchReport) -> None:
        """Add coverage and costs by the files of the case."""
        label, source = self._labels[launch.source, launch.kernel], self._case.sources[launch.source]
        seen = self.instruments
        if report.coverage is not None and self._case.settings.instruments.coverage:
            coverage = located(report.coverage, source)
            if seen.coverage is not None:
                coverage = instruments.merged_coverage((seen.coverage, coverage))
            seen = replace(seen, coverage=coverage)
        if report.costs is not None:
            costs = located_costs(report.costs, label, source)
            if seen.costs is not None:
                costs = instruments.merged_costs((seen.costs, costs))
            seen = replace(seen, costs=costs)
        self.instruments = seen


# --- files ------------------------------------------------------------------------------------------------------------


def located(coverage: Coverage, source: Source) -> Coverage:
    """The coverage with the paths of its files, without those of libraries.

    Args:
        coverage: with files as the compiler names them.
        source: what was compiled.
    """
    coverages = []
    for file in coverage.files:
        path = path_of(file.path, source)
        if path:
            coverages.append(Coverage((replace(file, path=path),)))
    return instruments.merged_coverage(coverages)


def located_costs(costs: Costs, kernel: str, source: Source) -> Costs:
    """The costs with paths: an instruction belongs to the innermost line of a file of the project.

    Args:
        costs: with files as the compiler names them.
        kernel: its name in reports.
        source: what was compiled.
    """
    paths: dict[str, str] = {}
    items = []
    for item in costs.instructions:
        path, line = "", 0
        for name, number, _ in item.chain:
            if name not in paths:
                paths[name] = path_of(name, source)
            if paths[name]:
                path, line = paths[name], number
                break
        items.append(replace(item, kernel=kernel, path=path, line=line, chain=()))
    contention = {}
    if costs.contention:
        contention[kernel] = max(costs.contention.values())
    return instruments.merged_costs((Costs(tuple(items), contention, costs.uncounted, costs.left_out),))


def path_of(name: str, source: Source) -> str:
    """The path of a file of the project, "" for a library's. A file without a name is the PTX itself."""
    main = Path(source.path)
    if not name:
        return source.path if main.suffix == ".ptx" else ""
    if Path(name).name == main.name and Path(name).parent in (Path(), main.parent):
        return source.path
    for folder in (main.parent, *map(Path, source.include)):
        if (folder / name).is_file():
            return str((folder / name).resolve())
    return ""


# --- findings ---------------------------------------------------------------------------------------------------------


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
    races = sorted((finding for finding in first.values() if finding.kind == "race"), key=lambda race: -race.scope)
    next_race = iter(races)
    return tuple(next(next_race) if finding.kind == "race" else finding for finding in first.values())


def _identity(finding: CheckFinding) -> tuple[str, ...]:
    return finding.kind, finding.location, finding.lines, finding.variable


def _chains(finding: CheckFinding) -> str:
    """`dot.cuh:8, called at gemv.cu:10, and dot.cuh:13, called at gemv.cu:10`."""
    lines = finding.lines.split(", ") if finding.lines else [finding.location]
    calls = finding.calls or ((),) * len(lines)
    chains = (CALLED_AT.join((line, *callers)) for line, callers in zip(lines, calls, strict=True))
    return ", and ".join(dict.fromkeys(chains))


def with_launch(known: Sequence[CheckFinding], new: Sequence[CheckFinding]) -> tuple[CheckFinding, ...]:
    """The findings of a case after a further launch: what is not freed counts after the last one only."""
    return merged((*(finding for finding in known if finding.kind != "leak"), *new))


def has_chief_of(findings: Sequence[CheckFinding], known: Sequence[CheckFinding]) -> bool:
    """Whether the first finding is the same as before, however often it has come since."""
    if not findings or not known:
        return len(findings) == len(known)
    return _identity(findings[0]) == _identity(known[0])


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


def _first_line(finding: CheckFinding) -> CodeLine | None:
    """The line of the earlier one of two accesses, or of the finding."""
    lines = finding.lines.split(", ") if finding.lines else [finding.location]
    calls = finding.calls[0] if finding.calls else ()
    chain: list[tuple[str, int]] = []
    for text in (lines[0], *calls):
        file, _, line = text.rpartition(":")
        if not line.isdecimal():
            return None
        chain.append((file, int(line)))
    (file, number), *callers = chain
    return CodeLine(file, number, tuple(callers))


def _location(finding: CheckFinding) -> FaultLocation:
    """The variable and the line that a finding blames."""
    file, _, line = finding.location.rpartition(":")
    if not line.isdecimal():
        return FaultLocation(finding.variable)
    calls = finding.calls[-1] if finding.calls else ()
    return FaultLocation(finding.variable, file=file, line=int(line), calls=calls)
