"""Runs of a case under further schedules: the same inputs, another order of blocks, warps and lanes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress.errors import KernelFault
from gpuregress.records import Dump, ScheduleRun
from gpuregress.runner.buffer_reader import BufferReader
from gpuregress.runner.dumps import DumpFolder, digest_of
from gpuregress.runner.launcher import Launcher, thread_count
from gpuregress.runner.status_check import check_status

Array = npt.NDArray[np.generic]


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

    def run(self, filled: Mapping[str, Array]) -> None:
        """Run every schedule; a fault is noted, and the next one runs.

        Args:
            filled: filled buffer → its contents.
        """
        for name in self.launcher.case.settings.schedules[1:]:
            self.launcher.device.free_all()
            self.launcher.device.follow(name)
            try:
                self.runs.append(self._run(name, filled))
            except KernelFault as fault:
                self.runs.append(ScheduleRun(name, fault=f"{fault.kind}: {fault}"))

    def _run(self, name: str, filled: Mapping[str, Array]) -> ScheduleRun:
        launcher, case = self.launcher, self.launcher.case
        launcher.entering("preparing")
        loaded = launcher.load(thread_count(case.launches))
        memory = launcher.prepare(loaded, filled, self.poison)
        for _ in launcher.run(case.launches, loaded, memory):
            pass
        if case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        launcher.entering("saving")
        folder = self.folder.within(f"schedule-{name.replace(':', '-')}")
        digests, dumps = {}, {}
        for first in self.results:
            result = BufferReader(memory[first.buffer], case.buffers[first.buffer])
            digests[first.buffer] = digest_of(result)
            if digests[first.buffer] != first.digest:
                dumps[first.buffer] = folder.stream(result, {})
        return ScheduleRun(name, digests, dumps)
