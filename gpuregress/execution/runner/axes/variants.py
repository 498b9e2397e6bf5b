"""Runs of a case as other combinations of compiler settings build it, compared with its own run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner import float_instructions
from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.dumps import DumpFolder, digest_of
from gpuregress.execution.runner.launcher import Launcher, load_source, thread_count
from gpuregress.execution.runner.status_check import check_status
from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, KernelFault
from gpuregress.foundation.records import Dump, InstructionChange, Program, Source, VariantRun

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
    _programs: dict[tuple[str, ...], str] = field(default_factory=dict)

    def run(self, filled: Mapping[str, Array]) -> None:
        """Run every variant whose program is another one; a lost device ends them.

        Args:
            filled: filled buffer → its contents.
        """
        variants = self.launcher.case.variants
        for name, sources in (variants.sources if variants else {}).items():
            if self.sticky:
                self.runs.append(VariantRun(name, problem="not run, for a variant before it lost the device"))
            else:
                self.runs.append(self._run(name, sources, filled))

    def _run(self, name: str, sources: Sequence[Source], filled: Mapping[str, Array]) -> VariantRun:
        programs, own = self.launcher.task.variants[name], self.launcher.task.programs
        if not self._programs and self.launcher.case.variants is not None:
            self._programs[_computed(own)] = self.launcher.case.variants.first
        same_as = self._programs.setdefault(_computed(programs), name)
        if same_as != name:
            return VariantRun(name, same_as=same_as)
        instructions = self._instruction_changes(own, programs)
        try:
            built = list(zip(sources, programs, strict=True))
            return VariantRun(name, dumps=self._results(name, built, filled), instructions=instructions)
        except KernelFault as fault:
            self.sticky = fault.sticky
            return VariantRun(name, fault=f"{fault.kind}: {fault}", instructions=instructions)
        except GpuregressError as error:
            return VariantRun(name, problem=" ".join(str(error).split()), instructions=instructions)

    def _instruction_changes(self, own: Sequence[Program], other: Sequence[Program]) -> tuple[InstructionChange, ...]:
        """List the source lines that became other instructions, source by source."""
        lines: list[InstructionChange] = []
        for number, (first, second) in enumerate(zip(own, other, strict=True)):
            launches = [launch for launch in self.launcher.case.launches if launch.source == number]
            kernels = {first.entries[launch.kernel].mangled for launch in launches}
            lines += float_instructions.changes(_ptx(first), _ptx(second), kernels)
        return tuple(lines)

    def _results(
        self, name: str, built: Sequence[tuple[Source, Program]], filled: Mapping[str, Array]
    ) -> dict[str, Dump]:
        """Run the case's launches; return the dumps that differ from its own."""
        launcher, case = self.launcher, self.launcher.case
        launcher.device.free_all()
        threads = thread_count(case.launches)
        loaded = [load_source(launcher.device, source, program, threads) for source, program in built]
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


def _computed(programs: Sequence[Program]) -> tuple[str, ...]:
    """What programs compute: their PTX without the target."""
    return tuple(float_instructions.without_target(_ptx(program)) for program in programs)


def _ptx(program: Program) -> str:
    return storage.read_bytes(Path(program.ptx)).decode(errors="replace") if program.ptx else ""
