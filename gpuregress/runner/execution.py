"""One case on one device, from its fills to its dumps."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, inputs, launchlog, storage
from gpuregress.compare import determinism
from gpuregress.devices.base import Device, Memory, Module
from gpuregress.dump import digest, names, reader, writer
from gpuregress.errors import DeviceError, GpuregressError, KernelFault
from gpuregress.launchlog import LaunchLog
from gpuregress.records import Buffer, Case, Dump, Fault, Launch, LaunchTime, Outcome, Program, Source, to_json
from gpuregress.runner import reference
from gpuregress.runner.arguments import pack
from gpuregress.runner.poison import POISON, as_bytes, poison, unwritten

Array = npt.NDArray[np.generic]


def run_case(
    device: Device,
    case: Case,
    program: Program,
    *,
    log: LaunchLog,
    first_launch: int,
    dumps: Path | str,
    known: Mapping[str, Mapping[str, str]],
    place: str = "",
    references: Mapping[str, Program] | None = None,
    entering: Callable[[str], None] = lambda _phase: None,
) -> Outcome:
    """Runs a case and dumps what it asks for.

    Args:
        device: an open device, with nothing of an earlier case on it.
        case: what to run.
        program: its compiled source.
        log: where each launch is recorded before it happens.
        first_launch: the log number of the first launch; further ones count up.
        dumps: the folder for dumps.
        known: buffer → digest of raw bytes → an existing dump file that holds them, copied instead of formatted.
        place: the device as people call it; its own name where not given.
        references: buffer → the compiled source of the kernels that are its gold standard.
        entering: told `launching` when the clock of the case's time limit starts, `saving` when it stops.

    Returns:
        `done`, `fault` or `error`; what a kernel or the device did wrong is never raised.
    """
    began = time.perf_counter()
    name = place or device.info.name
    run = _Run(device, case, program, log, first_launch, Path(dumps), known, name, entering, references or {})
    state: dict[str, Any] = {"state": "done"}
    try:
        run.execute()
    except KernelFault as fault:
        state = {"state": "fault", "fault": Fault(fault.kind, str(fault), fault.details, run.current)}
        run.extra["sticky"] = fault.sticky
    except GpuregressError as error:
        state = {"state": "error", "message": str(error)}
        run.extra["error"] = type(error).__name__
    except OSError as error:
        state = {"state": "error", "message": str(storage.explain(error, Path(error.filename or dumps)))}
        run.extra["error"] = "StorageError"
    except MemoryError:
        state = {"state": "error", "message": f"not enough memory on {run.place} or its host for {case.name}"}
        run.extra["error"] = "DeviceError"
    finally:
        device.free_all()
    return Outcome(
        case=case.name,
        dumps=tuple(run.dumped),
        inputs=run.inputs,
        repeats={name: tuple(found) for name, found in run.repeats.items()},
        launches=tuple(run.launches),
        output="".join(run.output),
        device=device.info,
        resources=run.resources,
        seconds=time.perf_counter() - began,
        extra=run.extra,
        **state,
    )


@dataclass(slots=True)
class _Run:
    """The state of one case while it runs."""

    device: Device
    case: Case
    program: Program
    log: LaunchLog
    number: int
    folder: Path
    known: Mapping[str, Mapping[str, str]]
    place: str
    entering: Callable[[str], None]
    references: Mapping[str, Program]
    current: int | None = None
    dumped: list[Dump] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    repeats: dict[str, list[str]] = field(default_factory=dict)
    launches: list[LaunchTime] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    resources: dict[str, dict[str, int]] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=lambda: {"poison": POISON.hex()})

    def execute(self) -> None:
        """The first run, which is dumped, and the repeats, which are compared with it by digest."""
        filled = {
            name: inputs.fill(buffer, read_dump=reader.read)
            for name, buffer in self.case.buffers.items()
            if buffer.fill is not None
        }
        self.inputs.update({name: self._digest(name, array) for name, array in filled.items()})
        results = self._once(filled)
        self._count_unwritten(results)
        for name, array in results.items():
            self.dumped.append(self._write(self.folder, name, array, self.known.get(name, {})))
        if self.case.repeat > 1:
            self.extra["determinism"] = dict.fromkeys(results, determinism.CLASSES[0])
        for repetition in range(2, self.case.repeat + 1):
            self._repeat(repetition, filled, results)
        self._write_references(filled)

    def _repeat(self, repetition: int, filled: Mapping[str, Array], firsts: Mapping[str, Array]) -> None:
        """One further run; where its bits are not the first run's, they are dumped beside them."""
        self.device.free_all()
        digests = {dump.buffer: dump.digest for dump in self.dumped}
        for name, array in self._once(filled).items():
            found = self._digest(name, array)
            self.repeats.setdefault(name, []).append(found)
            if found != digests[name]:
                dump = self._write(self.folder / f"repeat-{repetition}", name, array, {})
                self.extra.setdefault("repeat_dumps", {}).setdefault(name, {})[str(repetition)] = dump.path
                self._note_class(name, firsts[name], array)

    def _note_class(self, name: str, first: Array, other: Array) -> None:
        """The determinism of a buffer of which two runs differ: never better than it was found before."""
        element = dtypes.parse(self.case.buffers[name].dtype)
        found = determinism.classify(element, (first.reshape(-1), other.reshape(-1)))
        classes = self.extra["determinism"]
        classes[name] = max(classes[name], found, key=determinism.CLASSES.index)

    def _once(self, filled: Mapping[str, Array]) -> dict[str, Array]:
        """The case's own launches: buffer → array, for the buffers to dump."""
        module = self.device.load(self.program)
        self._record_resources(module)
        memory = self._prepare(module, filled, self.program, self.case.source)
        self.entering("launching")
        for launch in self.case.launches:
            self._launch(launch, self.program, module, memory)
        self._check_status(memory)
        self.entering("saving")
        return {name: self._read(memory[name], self.case.buffers[name]) for name in self.case.dump}

    def _prepare(
        self, module: Module, filled: Mapping[str, Array], program: Program, source: Source
    ) -> dict[str, Memory]:
        """Every buffer in its place, filled or poisoned; a symbol that this source has not is a plain buffer."""
        memory = {}
        for name, buffer in self.case.buffers.items():
            is_symbol = source is self.case.source or buffer.symbol in source.symbols
            placed = buffer if is_symbol else dataclasses.replace(buffer, symbol=None)
            memory[name] = self._place_buffer(module, placed, program)
            self._initialise(memory[name], placed, filled.get(name))
        return memory

    # --- memory -------------------------------------------------------------------------------------------------------

    def _place_buffer(self, module: Module, buffer: Buffer, program: Program) -> Memory:
        element = dtypes.parse(buffer.dtype)
        size = element.size * math.prod(buffer.shape)
        if buffer.symbol is None:
            return self.device.allocate(buffer.name, size, itemsize=element.size)
        memory = module.symbol(program.symbols.get(buffer.symbol, buffer.symbol))
        if size > memory.size:
            raise DeviceError(f"buffer {buffer.name} has {size} bytes; its symbol {buffer.symbol} has {memory.size}")
        return memory

    def _initialise(self, memory: Memory, buffer: Buffer, array: Array | None) -> None:
        if array is not None:
            memory.write(as_bytes(array))
        elif buffer.symbol is None:  # a symbol keeps what its own initialiser put there
            memory.write(poison(memory.size))

    def _read(self, memory: Memory, buffer: Buffer) -> Array:
        element = dtypes.parse(buffer.dtype)
        size = element.size * math.prod(buffer.shape)
        return memory.read(0, size).view(element.storage).reshape(buffer.shape)

    # --- launches -----------------------------------------------------------------------------------------------------

    def _launch(self, launch: Launch, program: Program, module: Module, memory: dict[str, Memory]) -> None:
        entry = program.entries[launch.kernel]
        arguments = tuple(pack(argument, memory)[0] for argument in launch.args)
        call = launchlog.render(launch, self.case.buffers)
        self.current = self.number
        self.number += 1
        self.log.begin(self.current, self.place, self.case.name, call, self.case.seed)
        try:
            report = self.device.launch(module, entry.mangled, launch.grid, launch.block, launch.shared, arguments)
        except GpuregressError as error:
            self.log.fault(self.current, str(error))
            raise
        self.log.end(self.current, report.elapsed_ms)
        if program is self.program:  # what is told of a case is its own kernels', not the gold standard's
            self.launches.append(LaunchTime(self.current, launch.kernel, report.elapsed_ms))
            self._count_events(launch.kernel, report.counters)
            if report.output:
                self.output.append(report.output)
        for first, second in launch.swap:
            memory[first], memory[second] = memory[second], memory[first]

    def _count_events(self, kernel: str, counters: Mapping[str, int]) -> None:
        totals = self.extra.setdefault("counters", {}).setdefault(kernel, {}) if counters else {}
        for event, count in counters.items():
            totals[event] = totals.get(event, 0) + count

    def _check_status(self, memory: Mapping[str, Memory]) -> None:
        """The kernel's own error report: all zero, or the case fails with the first code and its place."""
        if self.case.status is None:
            return
        buffer = self.case.buffers[self.case.status]
        array = self._read(memory[buffer.name], buffer).reshape(-1)
        columns = [np.asarray(column).astype(bool) for column in dtypes.parse(buffer.dtype).columns(array)]
        raised = np.flatnonzero(np.logical_or.reduce(columns))
        if raised.size:
            self._raise_status(buffer.name, array, raised)

    def _raise_status(self, name: str, array: Array, raised: npt.NDArray[np.intp]) -> NoReturn:
        first = int(raised[0])
        others = f" and {raised.size - 1} more of {array.size} are not zero" if raised.size > 1 else ""
        message = f"status {name}[{first}] = {array[first]}{others}"
        details = tuple(f"{name}[{index}] = {array[index]}" for index in raised[:20])
        raise KernelFault("status", message, details=details)

    # --- results ------------------------------------------------------------------------------------------------------

    def _write(self, folder: Path, name: str, array: Array, known: Mapping[str, str]) -> Dump:
        buffer = self.case.buffers[name]
        path = names.dump_path(folder, self.case.name, name, self.case.revision)
        files = {key: Path(file) for key, file in known.items()}
        return writer.write(path, array, dtypes.parse(buffer.dtype), buffer.shape, known=files)

    def _write_references(self, filled: Mapping[str, Array]) -> None:
        """The gold standards, as dumps of their own; where one equals the result, the file is copied."""
        for name, function in self.case.reference.items():
            try:
                self._write_reference(name, reference.compute(function, self.case, name, filled))
            except reference.ReferenceFailed as error:
                self.extra.setdefault("reference_errors", {})[name] = str(error)
        for group in reference.shared(self.case.reference_kernels):
            try:
                for name, array in self._reference_run(group, filled).items():
                    self._write_reference(name, array)
            except KernelFault as fault:
                failed = dict.fromkeys(group, f"the reference's own kernel failed with {fault.kind}: {fault}")
                self.extra.setdefault("reference_errors", {}).update(failed)
                self.extra["sticky"] = fault.sticky
                if fault.sticky:
                    return

    def _reference_run(self, names: Sequence[str], filled: Mapping[str, Array]) -> dict[str, Array]:
        """Trusted kernels on freshly filled buffers: what they leave in these buffers."""
        kernel, program = self.case.reference_kernels[names[0]], self.references[names[0]]
        self.device.free_all()
        module = self.device.load(program)
        memory = self._prepare(module, filled, program, kernel.source)
        self.entering("launching")
        for launch in kernel.launches:
            self._launch(launch, program, module, memory)
        self.entering("saving")
        return {name: self._read(memory[name], self.case.buffers[name]) for name in names}

    def _write_reference(self, name: str, array: Array) -> None:
        known = {dump.digest: dump.path for dump in self.dumped if dump.buffer == name}
        dump = self._write(self.folder.parent / "references", name, array, known)
        self.extra.setdefault("references", {})[name] = to_json(dump)

    def _digest(self, name: str, array: Array) -> str:
        return digest.of_array(array, dtypes.parse(self.case.buffers[name].dtype))

    def _count_unwritten(self, results: Mapping[str, Array]) -> None:
        found = {
            name: unwritten(array)
            for name, array in results.items()
            if self.case.buffers[name].fill is None and self.case.buffers[name].symbol is None
        }
        self.extra["unwritten"] = {name: entry for name, entry in found.items() if entry is not None}

    def _record_resources(self, module: Module) -> None:
        for name in dict.fromkeys(launch.kernel for launch in self.case.launches):
            info = module.kernel(self.program.entries[name].mangled)
            self.resources[name] = {
                "registers": info.registers,
                "shared": info.shared,
                "local": info.local,
                "spill": info.spill,
            }
