"""Runs of a case with other seeds: other random inputs, the same program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.launcher import Launcher, thread_count
from gpuregress.execution.runner.status_check import check_status
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Buffer, Seeded, SeedRun

Array = npt.NDArray[np.generic]


@dataclass(slots=True)
class SeedRuns:
    """The runs of one case with other seeds.

    Attributes:
        launcher: of the case.
        folder: the case's dumps; those of a seed go to a folder inside it.
        fill: computes the contents of a buffer.
        runs: what came of each seed.
        sticky: whether a fault lost the device's context.
    """

    launcher: Launcher
    folder: DumpFolder
    fill: Callable[[Buffer], Array]
    runs: list[SeedRun] = field(default_factory=list)
    sticky: bool = False

    def run(self, filled: Mapping[str, Array]) -> None:
        """Run every seed; the first fault ends them.

        Args:
            filled: filled buffer → its contents under the job's own seed.
        """
        case = self.launcher.case
        for seeded in case.seeds:
            try:
                self.runs.append(self._run(seeded, filled))
            except KernelFault as fault:
                self.runs.append(SeedRun(seeded.seed, f"{fault.kind}: {fault}"))
                self.sticky = fault.sticky
                break
        self.launcher.seed = case.seed

    def _run(self, seeded: Seeded, filled: Mapping[str, Array]) -> SeedRun:
        launcher, case = self.launcher, self.launcher.case.with_seed(seeded)
        launcher.seed = seeded.seed
        launcher.entering("preparing")
        own = {name: self.fill(case.buffers[name]) for name in seeded.fills}
        launcher.device.free_all()
        loaded = launcher.load(thread_count(case.launches))
        memory = launcher.prepare(loaded, {**filled, **own})
        for _ in launcher.run(case.launches, loaded, memory):
            pass
        if case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        launcher.entering("saving")
        folder = self.folder.within(f"seed-{seeded.seed}")
        dumps = {name: folder.stream(BufferReader(memory[name], case.buffers[name]), {}) for name in case.dump}
        return SeedRun(seeded.seed, dumps=dumps)
