"""Computation of a case's references, by Python functions or trusted kernels, and their dumps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes
from gpuregress.errors import KernelFault
from gpuregress.records import Dump, ReferenceKernel
from gpuregress.runner import python_reference
from gpuregress.runner.buffer_reader import BufferReader
from gpuregress.runner.dumps import DumpFolder
from gpuregress.runner.launcher import Launcher, thread_count

Array = npt.NDArray[np.generic]


@dataclass(slots=True)
class ReferenceDumps:
    """References of one case: their dumps, and why a reference is missing.

    Attributes:
        launcher: of the case.
        folder: the case's dumps; references go to a folder beside them.
        results: the case's own dumps; one that equals a reference is copied.
        rounded: buffer → the reference in the buffer's dtype.
        unrounded: buffer → the same in float64, where rounding changed a value.
        errors: buffer → why there is no reference.
        sticky: whether a fault of a trusted kernel lost the device's context.
    """

    launcher: Launcher
    folder: DumpFolder
    results: Iterable[Dump]
    rounded: dict[str, Dump] = field(default_factory=dict)
    unrounded: dict[str, Dump] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    sticky: bool = False

    def write(self, filled: Mapping[str, Array]) -> None:
        """Compute and dump every reference.

        Args:
            filled: filled buffer → its contents.
        """
        case = self.launcher.case
        for name, function in case.reference.items():
            self.launcher.entering("computing")
            try:
                reference = python_reference.compute(function, case, name, filled)
            except python_reference.ReferenceFailed as error:
                self.errors[name] = str(error)
                continue
            self.launcher.entering("saving")
            self._dump(name, reference.array)
            if reference.wide is not None:
                element = dtypes.widened(dtypes.parse(case.buffers[name].dtype))
                folder = self.folder.beside("references").within("unrounded")
                self.unrounded[name] = folder.write(name, reference.wide, {}, element)
        for group in _shared(case.reference_kernels):
            try:
                for name, array in self._run_kernels(group, filled).items():
                    self._dump(name, array)
            except KernelFault as fault:
                self.errors |= dict.fromkeys(group, f"the reference's own kernel failed with {fault.kind}: {fault}")
                self.sticky = fault.sticky
                if fault.sticky:
                    return

    def _run_kernels(self, names: Sequence[str], filled: Mapping[str, Array]) -> dict[str, Array]:
        launcher = self.launcher
        kernel, program = launcher.case.reference_kernels[names[0]], launcher.task.references[names[0]]
        launcher.device.free_all()
        module = launcher.device.load(program, thread_count(kernel.launches))
        memory = launcher.prepare(module, filled, program, kernel.source)
        for _ in launcher.run(kernel.launches, program, module, memory):
            pass
        launcher.entering("saving")
        return {name: BufferReader(memory[name], launcher.case.buffers[name]).array() for name in names}

    def _dump(self, name: str, array: Array) -> None:
        known = {dump.digest: dump.path for dump in self.results if dump.buffer == name}
        self.rounded[name] = self.folder.beside("references").write(name, array, known)


def _shared(kernels: Mapping[str, ReferenceKernel]) -> list[list[str]]:
    """Group the buffers whose references come from the same launches: those are run once."""
    groups: list[list[str]] = []
    for name, kernel in kernels.items():
        group = next((group for group in groups if kernels[group[0]] == kernel), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups
