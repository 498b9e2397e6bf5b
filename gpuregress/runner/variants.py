"""Runs of a case as other combinations of compiler settings build it, compared with its own run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress import storage
from gpuregress.errors import GpuregressError, KernelFault
from gpuregress.records import Dump, Program, Source, VariantRun
from gpuregress.runner import float_instructions
from gpuregress.runner.buffer_reader import BufferReader
from gpuregress.runner.dumps import DumpFolder, digest_of
from gpuregress.runner.launcher import Launcher, LoadedSource, thread_count
from gpuregress.runner.status_check import check_status

Array = npt.NDArray[np.generic]


@dataclass(slots=True)
class VariantRuns:
    """The variants of one case.

    Attributes:
        launcher: of the case.
        folder: the case's dumps; those of a variant go to a folder inside it.
        results: the case's own dumps.
        runs: what came of each variant.
        sticky: whether a fault lost the device's context.
    """

    launcher: Launcher
    folder: DumpFolder
    results: Iterable[Dump]
    runs: list[VariantRun] = field(default_factory=list)
    sticky: bool = False
    _programs: dict[str, str] = field(default_factory=dict)

    def run(self, filled: Mapping[str, Array]) -> None:
        """Run every variant whose program is another one; a lost device ends them.

        Args:
            filled: filled buffer → its contents.
        """
        variants = self.launcher.case.variants
        for name, source in (variants.sources if variants else {}).items():
            if self.sticky:
                self.runs.append(VariantRun(name, problem="not run, for a variant before it lost the device"))
            else:
                self.runs.append(self._run(name, source, filled))

    def _run(self, name: str, source: Source, filled: Mapping[str, Array]) -> VariantRun:
        program, own = self.launcher.task.variants[name], self.launcher.task.program
        first, other = _ptx(own), _ptx(program)
        if not self._programs and self.launcher.case.variants is not None:
            self._programs[float_instructions.without_target(first)] = self.launcher.case.variants.first
        same_as = self._programs.setdefault(float_instructions.without_target(other), name)
        if same_as != name:
            return VariantRun(name, same_as=same_as)
        kernels = {own.entries[launch.kernel].mangled for launch in self.launcher.case.launches}
        instructions = float_instructions.changes(first, other, kernels)
        try:
            return VariantRun(name, dumps=self._results(name, source, program, filled), instructions=instructions)
        except KernelFault as fault:
            self.sticky = fault.sticky
            return VariantRun(name, fault=f"{fault.kind}: {fault}", instructions=instructions)
        except GpuregressError as error:
            return VariantRun(name, problem=" ".join(str(error).split()), instructions=instructions)

    def _results(self, name: str, source: Source, program: Program, filled: Mapping[str, Array]) -> dict[str, Dump]:
        """Run the case's launches; return the dumps that differ from its own."""
        launcher, case = self.launcher, self.launcher.case
        launcher.device.free_all()
        loaded = [LoadedSource(source, program, launcher.device.load(program, thread_count(case.launches)))]
        memory = launcher.prepare(loaded, filled)
        launcher.variant = name
        try:
            for _ in launcher.run(case.launches, loaded, memory):
                pass
        finally:
            launcher.variant = ""
        if case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        launcher.entering("saving")
        folder, others = self.folder.within(f"variant-{name}"), {}
        for dump in self.results:
            result = BufferReader(memory[dump.buffer], case.buffers[dump.buffer])
            if digest_of(result) != dump.digest:
                others[dump.buffer] = folder.stream(result, {})
        return others


def _ptx(program: Program) -> str:
    return storage.read_bytes(Path(program.ptx)).decode(errors="replace") if program.ptx else ""
