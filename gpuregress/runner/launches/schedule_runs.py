"""Runs of a case under further schedules: the same inputs, another order of blocks, warps and lanes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gpuregress.devices.base import LaunchReport, Memory
from gpuregress.errors import KernelFault
from gpuregress.records import Dump, Instruments, Rule, ScheduleRun
from gpuregress.records.instrumentation import schedules
from gpuregress.runner.buffer_reader import BufferReader
from gpuregress.runner.dumps import DumpFolder, digest_of
from gpuregress.runner.launcher import Launcher, thread_count
from gpuregress.runner.status_check import check_status

Array = npt.NDArray[np.generic]
_MOST_SWITCHES, _MOST_SECONDS = 12, 5.0
"""Neighbours that are exchanged in search of a pair that is enough, and the time after which no other one is tried."""
_MOST_RACES = 3
_WARP = 32
_NO_RACE = "no data race: the order of atomic or volatile accesses, or the arrival of copies, is part of a result"


@dataclass(slots=True)
class ScheduleRuns:
    """The runs of one case under the schedules that follow its first one.

    Attributes:
        launcher: of the case.
        folder: the case's dumps; those of a schedule go to a folder inside it.
        results: the dumps under the first schedule.
        poison: of outputs.
        runs: what came of each schedule.
    """

    launcher: Launcher
    folder: DumpFolder
    results: Iterable[Dump]
    poison: bytes
    runs: list[ScheduleRun] = field(default_factory=list)
    _tried: dict[str, frozenset[str]] = field(default_factory=dict)

    def run(self, filled: Mapping[str, Array]) -> None:
        """Run every schedule; a fault is noted, and the next one runs.

        Args:
            filled: filled buffer → its contents.
        """
        for name in self.launcher.case.settings.schedules[1:]:
            try:
                run = self._run(name, filled)
            except KernelFault as fault:
                run = ScheduleRun(name, fault=f"{fault.kind}: {fault}")
            self.runs.append(run)
        self._explain_first(filled)

    def _explain_first(self, filled: Mapping[str, Array]) -> None:
        """Add the smallest switch and the accesses to the first run whose results are others.

        Buffers with a rule of their own may differ: most are sums whose rounding the order changes.
        """
        rules = self.launcher.case.compare
        exact = {one.buffer for one in self.results if rules.get(one.buffer, Rule()) == Rule()}
        number = next((at for at, run in enumerate(self.runs) if exact & run.dumps.keys()), None)
        if number is None:
            return
        run = self.runs[number]
        ends = time.monotonic() + _MOST_SECONDS
        found = {buffer: self._smallest(run.name, buffer, filled, ends) for buffer in run.dumps if buffer in exact}
        switches = {buffer: text for buffer, text in found.items() if text}
        self.runs[number] = replace(run, switches=switches, accesses=tuple(self._races(filled)))

    def _smallest(self, name: str, buffer: str, filled: Mapping[str, Array], ends: float) -> str:
        """The first part of a schedule that is enough for a buffer to differ, and two neighbours whose exchange is."""
        if name == schedules.LOCKSTEP:
            return ""
        if buffer in self._differing(schedules.part_of(name, schedules.NOTHING), filled):
            return "running each warp up to a barrier before the next one begins is enough"
        for part in schedules.PARTS:
            if buffer not in self._differing(schedules.part_of(name, part), filled):
                continue
            if part == schedules.COPIES:
                return "the arrival of the asynchronous copies is enough"
            for first in range(min(_MOST_SWITCHES, self._count(part) - 1)):
                switch = schedules.switch_of(part, first)
                if time.monotonic() < ends and buffer in self._differing(switch, filled):
                    one = {"blocks": "block", "warps": "warp", "lanes": "thread"}[part]
                    return f"running {one} {first + 1} before {one} {first} is enough"
            return f"the order of the {part} is enough"
        return ""

    def _count(self, part: str) -> int:
        """The number of blocks, of warps or of lanes of the launch that has the most."""
        launches = self.launcher.case.launches
        if part == schedules.BLOCKS:
            return max(math.prod(launch.grid) for launch in launches)
        threads = max(math.prod(launch.block) for launch in launches)
        return min(threads, _WARP) if part == schedules.LANES else -(-threads // _WARP)

    def _differing(self, name: str, filled: Mapping[str, Array]) -> frozenset[str]:
        """The buffers that differ from the first run's under a schedule; none where it faults."""
        if name not in self._tried:
            try:
                memory = self._memory(name, filled, [])
            except KernelFault:
                memory = {}
            self._tried[name] = frozenset(self._changed(memory))
        return self._tried[name]

    def _changed(self, memory: Mapping[str, Memory]) -> Iterator[str]:
        own = self.launcher.case.buffers
        for one in self.results if memory else ():
            if digest_of(BufferReader(memory[one.buffer], own[one.buffer])) != one.digest:
                yield one.buffer

    def _races(self, filled: Mapping[str, Array]) -> Iterator[str]:
        """The accesses that nothing orders, as the dynamic check of data races finds them in the usual schedule."""
        device, reports = self.launcher.device, list[LaunchReport]()
        device.instrument(Instruments(checks=("races",)))
        try:
            self._memory(schedules.FORWARD, filled, reports)
        except KernelFault:
            return
        finally:
            device.instrument(Instruments())
        races = [one.message for report in reports for one in report.findings if one.kind == "race"]
        yield from races[:_MOST_RACES] or [_NO_RACE]

    def _memory(self, name: str, filled: Mapping[str, Array], reports: list[LaunchReport]) -> Mapping[str, Memory]:
        """Run the case's launches under a schedule; return the buffers."""
        launcher, case = self.launcher, self.launcher.case
        launcher.device.free_all()
        launcher.device.follow(name)
        launcher.entering("preparing")
        loaded = launcher.load(thread_count(case.launches))
        memory = launcher.prepare(loaded, filled, self.poison)
        reports += [report for _, report in launcher.run(case.launches, loaded, memory)]
        if case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        return memory

    def _run(self, name: str, filled: Mapping[str, Array]) -> ScheduleRun:
        launcher, case = self.launcher, self.launcher.case
        memory = self._memory(name, filled, [])
        launcher.entering("saving")
        folder = self.folder.within(f"schedule-{name.replace(':', '-')}")
        digests, dumps = {}, {}
        for first in self.results:
            result = BufferReader(memory[first.buffer], case.buffers[first.buffer])
            digests[first.buffer] = digest_of(result)
            if digests[first.buffer] != first.digest:
                dumps[first.buffer] = folder.stream(result, {})
        return ScheduleRun(name, digests, dumps)
