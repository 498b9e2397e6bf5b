"""Reports of the launches of a case: times, output, resources, counts and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpuregress.execution.runner.checks.findings import has_chief_of, with_launch
from gpuregress.execution.runner.launcher import Launcher, LoadedSource
from gpuregress.foundation.records import Launch, LaunchTime, Observations
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.records import replace


class LaunchReports:
    """What a device has reported of the launches of one case.

    Args:
        launcher: of the case.

    Attributes:
        times: of the launches of the first run and of the repeats.
        output: printed by the kernels.
        resources: kernel → registers, memory, occupancy.
        finding_position: position of the launch with the first finding of the dynamic checks.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher, self._case = launcher, launcher.case
        self._labels = launcher.case.kernel_labels
        self.times: list[LaunchTime] = []
        self.output: list[str] = []
        self.resources: dict[str, dict[str, int]] = {}
        self.finding_position: int | None = None

    def added(self, observed: Observations, launch: Launch, report: LaunchReport, *, is_first: bool) -> Observations:
        """Add the launch that has ended; return the observations of the case with its counts and findings.

        Args:
            observed: so far.
            launch: the launch.
            report: of its device.
            is_first: whether it is one of the first run.
        """
        assert self._launcher.current is not None
        label = self._labels[launch.source, launch.kernel]
        self.times.append(LaunchTime(self._launcher.current, launch.kernel, report.elapsed_ms))
        self.output.append(report.output)
        if report.counters:
            total = Counter(observed.counters.get(label, {})) + Counter(report.counters)
            observed = replace(observed, counters={**observed.counters, label: total})
        if report.exchange:
            exchanges = (*observed.exchanges, f"{label}: {report.exchange}")
            observed = replace(observed, exchanges=tuple(dict.fromkeys(exchanges)))
        if report.unwatched:
            unwatched = (*observed.unwatched, f"{label}: {report.unwatched}")
            observed = replace(observed, unwatched=tuple(dict.fromkeys(unwatched)))
        if report.findings or observed.findings:
            findings = with_launch(observed.findings, report.findings)
            if not has_chief_of(findings, observed.findings):
                self.finding_position = self._launcher.position if is_first else None
            observed = replace(observed, findings=findings)
        if is_first:
            observed = self._with_instructions(self._with_counts(observed, launch, report), label, report)
        return observed

    def interrupted(self, observed: Observations, report: LaunchReport | None, *, is_first: bool) -> Observations:
        """Add what was counted in the launch that a fault has ended.

        Args:
            observed: so far.
            report: of that launch; None where there is none.
            is_first: whether it is one of the first run.
        """
        position = self._launcher.position
        if report is None or position is None or not is_first:
            return observed
        costs = report.costs and replace(report.costs, uncounted="the launch ended with a fault")
        return self._with_counts(observed, self._case.launches[position], replace(report, costs=costs))

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

    def _with_counts(self, observed: Observations, launch: Launch, report: LaunchReport) -> Observations:
        """Add coverage and costs."""
        if report.coverage is None and report.costs is None:
            return observed
        from gpuregress.execution.runner.launches import source_counts  # noqa: PLC0415 - few runs ask for it

        label, source = self._labels[launch.source, launch.kernel], self._case.sources[launch.source]
        return source_counts.added(observed, report, label, source, self._case.settings.instruments)

    def _with_instructions(self, observed: Observations, label: str, report: LaunchReport) -> Observations:
        if report.instructions is None:
            return observed
        executed, uncounted = observed.instructions, (*observed.uncounted, *report.uncounted)
        return replace(
            observed,
            instructions={**executed, label: executed.get(label, 0) + report.instructions},
            uncounted=tuple(dict.fromkeys(uncounted)),
        )
