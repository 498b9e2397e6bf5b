"""Twins of a case: its launches on another device, or its calls on the host, and their dumps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress import toolchain
from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.launcher import Launcher, thread_count
from gpuregress.execution.runner.twins import causes as twin_causes
from gpuregress.execution.runner.twins.causes import CauseTrial
from gpuregress.execution.runner.twins.host_twin import HostFailed, HostTwin
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import GpuregressError, HarnessError, KernelFault
from gpuregress.foundation.records import Case, Dump, Program, TwinCause, TwinResult
from gpuregress.gpu.base import Device
from gpuregress.gpu.records import replace
from gpuregress.toolchain.functions import host

Array = npt.NDArray[np.generic]


@dataclass(slots=True)
class Twins:
    """The twins of one case.

    Attributes:
        launcher: of the case, on the run's own device.
        folder: the case's dumps; those of twins go to a folder beside them.
        results: the case's own dumps; one that equals a twin's is copied.
        done: the twins so far.
        sticky: whether a fault lost a device's context.
    """

    launcher: Launcher
    folder: DumpFolder
    results: tuple[Dump, ...]
    done: list[TwinResult] = field(default_factory=list)
    sticky: bool = False

    @property
    def _case(self) -> Case:
        return self.launcher.case

    def run(self, filled: Mapping[str, Array]) -> None:
        """Run every twin and dump its results.

        Args:
            filled: filled buffer → its contents.
        """
        for kind in self._case.settings.twins or ():
            if kind == "host":
                self.done.append(self._on_host(filled))
            else:
                self.done.append(self._on_device(kind, filled))

    # --- another device -----------------------------------------------------------------------------------------------

    def _on_device(self, kind: str, filled: Mapping[str, Array]) -> TwinResult:
        from gpuregress.execution import device_registry as registry  # noqa: PLC0415 - seldom needed

        missing = _missing(kind)
        if missing:
            return TwinResult(kind, kind, missing=missing)
        label = kind
        try:
            with registry.open_device(kind) as device:
                label = _label(device)
                arrays = self._launched(device, self._programs(device), filled, label)
        except KernelFault as fault:
            self.sticky |= fault.sticky
            return TwinResult(kind, label, error=f"failed with {fault.kind}: {fault}")
        except GpuregressError as error:
            return TwinResult(kind, label, error=str(error))
        return TwinResult(kind, label, self._dumped(kind, arrays))

    def _programs(self, device: Device) -> tuple[Program, ...]:
        """Return the case's programs, for the device's own architecture where the job names none."""
        case, programs = self._case, self.launcher.task.programs
        is_given = case.settings.arch is not None or not device.info.name.startswith("cuda")
        return tuple(
            program
            if is_given or device.info.arch == program.arch or not source.path.endswith((".cu", ".cuh", ".py"))
            else toolchain.compile(replace(source, arch=device.info.arch))
            for source, program in zip(case.sources, programs, strict=True)
        )

    def _launched(
        self, device: Device, programs: tuple[Program, ...], filled: Mapping[str, Array], label: str
    ) -> dict[str, Array]:
        """Run the case's launches on a device and return each dumped buffer."""
        own, *others = programs
        label = label.partition(" ")[0]
        task = replace(self.launcher.task, program=own, other_programs=tuple(others), device_label=label)
        launcher = Launcher(device, task, self.launcher.log, self.launcher.entering, self.launcher.current)
        launcher.entering("preparing")
        try:
            device.limit_heap(self._case.limits.heap)
            loaded = launcher.load(thread_count(self._case.launches))
            memory = launcher.prepare(loaded, filled)
            for _ in launcher.run(self._case.launches, loaded, memory):
                pass
            launcher.entering("saving")
            return {name: BufferReader(memory[name], self._case.buffers[name]).array() for name in self._case.dump}
        finally:
            self.launcher.current = launcher.current
            device.free_all()

    # --- the host -----------------------------------------------------------------------------------------------------

    def _on_host(self, filled: Mapping[str, Array]) -> TwinResult:
        self.launcher.entering("preparing")
        compiler = host.find_compiler()
        if compiler is None:
            lack = "there is no C++ compiler on this host ($CXX, g++ or clang++)"
            return TwinResult("host", "host", missing=lack)
        label = f"host ({compiler.version})"
        with storage.scratch() as scratch:
            twin = HostTwin(self._case, compiler, scratch, filled)
            try:
                arrays = twin.results()
                causes = self._causes(twin, arrays, filled)
            except HostFailed as failed:
                name = self._case.function.name if self._case.function else "the function"
                return TwinResult("host", label, error=f"{name} {failed}")
            except host.IncompleteHeaders as lacking:
                return TwinResult("host", "host", missing=str(lacking))
            except HarnessError:
                raise
            except GpuregressError as error:
                return TwinResult("host", label, error=str(error))
        return TwinResult("host", label, self._dumped("host", arrays), causes=causes)

    def _causes(
        self, twin: HostTwin, arrays: Mapping[str, Array], filled: Mapping[str, Array]
    ) -> dict[str, tuple[TwinCause, ...]]:
        """Explain what differs; nothing is run where nothing does."""
        own = {dump.buffer: dump for dump in self.results}
        elements = {name: dtypes.parse(self._case.buffers[name].dtype) for name in arrays}
        device = {name: _read(own[name]) for name in arrays if name in own}
        if not any(twin_causes.differing(elements[name], device[name], arrays[name]).any() for name in device):
            return {}
        call = self._case.function
        library = call.library if call is not None else ()
        kept = {name: elements[name] for name in device}
        return twin_causes.explain(kept, device, arrays, self._trials(twin, filled), library)

    def _trials(self, twin: HostTwin, filled: Mapping[str, Array]) -> list[CauseTrial]:
        options = self._case.source.options

        def device(changed: tuple[str, ...]) -> Callable[[], dict[str, Array]]:
            return lambda: self._recompiled(changed, filled)

        trials = []
        if not any("fmad=false" in option for option in options):
            message = "fused multiply-add on the device: with -fmad=false it gives the host's results"
            trials.append(CauseTrial("fma", message, device(twin_causes.without_contraction(options))))
        if twin_causes.is_fast(options):
            slow = twin_causes.without_fast_math(options)
            message = "fast mathematics on the device: without its options it gives the host's results"
            trials.append(CauseTrial("fast math", message, device(slow)))
            message = "fast mathematics and fused multiply-add on the device: without both it gives the host's results"
            trials.append(CauseTrial("fast math", message, device(twin_causes.without_contraction(slow))))
        contracted = host.contraction_flags()
        if contracted:
            message = "fused multiply-add: the host gives the device's results with -ffp-contract=fast"
            trials.append(CauseTrial("fma", message, host=lambda: twin.results(contracted)))
        return trials

    def _recompiled(self, options: tuple[str, ...], filled: Mapping[str, Array]) -> dict[str, Array]:
        """Run the case on its own device with other compiler options."""
        self.launcher.entering("preparing")
        source = replace(self._case.source, options=options)
        device = self.launcher.device
        device.free_all()
        return self._launched(device, (toolchain.compile(source),), filled, self.launcher.device_label)

    # --- dumps --------------------------------------------------------------------------------------------------------

    def _dumped(self, kind: str, arrays: Mapping[str, Array]) -> dict[str, Dump]:
        self.launcher.entering("saving")
        folder = self.folder.beside("twins").within(kind)
        dumps = {}
        for name, array in arrays.items():
            known = {dump.digest: dump.path for dump in self.results if dump.buffer == name}
            dumps[name] = folder.write(name, array, known)
        return dumps


def _missing(kind: str) -> str:
    """Explain why this machine has no such device; "" if it has."""
    if kind != "cuda":
        return ""
    from gpuregress.execution.cuda import prerequisites  # noqa: PLC0415 - looks for libraries

    return "" if prerequisites.usable_gpus() else f"there is no GPU here: {prerequisites.lack()}"


def _label(device: Device) -> str:
    return f"{device.info.name} ({device.info.model})"


def _read(dump: Dump) -> Array:
    from gpuregress.store.dumps import reader  # noqa: PLC0415 - where results are compared with the host's only

    return reader.read(Path(dump.path)).array
