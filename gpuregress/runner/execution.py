"""One case on one device, from its fills to its dumps."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, inputs, launchlog, storage
from gpuregress.devices import textures
from gpuregress.devices.base import Device, DeviceModule, LaunchReport, Memory
from gpuregress.dump import digest, reader
from gpuregress.errors import DeviceError, GpuregressError, KernelFault
from gpuregress.launchlog import LaunchLog
from gpuregress.records import (
    Buffer,
    Case,
    Dump,
    Fault,
    Launch,
    LaunchTime,
    Observations,
    Outcome,
    PoisonComparison,
    Program,
    Source,
    Timing,
    TimingLoop,
)
from gpuregress.runner import python_reference
from gpuregress.runner.arguments import pack
from gpuregress.runner.buffer_reader import BufferReader, changes
from gpuregress.runner.dumps import DumpFolder, digest_of
from gpuregress.runner.poison import COMPLEMENT, POISON, poison_shows, proven_unwritten, survey

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
        entering: told `launching` when the clock of the case's time limit starts, `saving` when it stops; `computing`
            before a function of the user is called, `preparing` or `saving` after it.

    Returns:
        `done`, `fault` or `error`; what a kernel or the device did wrong is never raised.
    """
    began = time.perf_counter()
    name = place or device.info.name
    run = _Run(
        device, case, program, log, first_launch, DumpFolder(case, Path(dumps)), known, name, entering, references or {}
    )
    state: dict[str, Any] = {"state": "done"}
    try:
        run.execute()
    except KernelFault as fault:
        state = {"state": "fault", "fault": Fault(fault.kind, str(fault), fault.details, run.current, run.position)}
        run.observed = replace(run.observed, sticky=fault.sticky)
    except GpuregressError as error:
        state = {"state": "error", "message": str(error)}
        run.observed = replace(run.observed, error=type(error).__name__)
    except OSError as error:
        state = {"state": "error", "message": str(storage.explain(error, Path(error.filename or dumps)))}
        run.observed = replace(run.observed, error="StorageError")
    except MemoryError:
        state = {"state": "error", "message": f"not enough memory on {run.place} or its host for {case.name}"}
        run.observed = replace(run.observed, error="DeviceError")
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
        observations=run.observed,
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
    dumps: DumpFolder
    known: Mapping[str, Mapping[str, str]]
    place: str
    entering: Callable[[str], None]
    references: Mapping[str, Program]
    current: int | None = None
    position: int | None = None
    was: Mapping[str, Buffer] = field(default_factory=dict)
    is_first: bool = True
    dumped: list[Dump] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    repeats: dict[str, list[str]] = field(default_factory=dict)
    launches: list[LaunchTime] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    resources: dict[str, dict[str, int]] = field(default_factory=dict)
    timed: list[tuple[str, float]] = field(default_factory=list)
    handles: dict[int, int] = field(default_factory=dict)
    observed: Observations = field(default_factory=lambda: Observations(poison=POISON.hex()))

    def execute(self) -> None:
        """The first run, which is dumped, the timing loop, the repeats, and the run under the other poison."""
        filled = {name: self._fill(buffer) for name, buffer in self.case.buffers.items() if buffer.fill is not None}
        self.inputs.update({name: self._digest(name, array) for name, array in filled.items()})
        self.was = self.case.initial_buffers
        firsts: dict[str, Array] = {}
        orders = [self.device.vary(0)] * (2 if self.case.settings.timing else 1)
        self._once(filled, lambda readout: self._take_first(readout, firsts), timing=self.case.settings.timing)
        if self.case.repeat > 1:
            from gpuregress.compare import determinism  # noqa: PLC0415 - a worker starts sooner without

            self.observed = replace(self.observed, determinism=dict.fromkeys(firsts, determinism.CLASSES[0]))
        for number in range(1, self.case.repeat):
            self.device.free_all()
            orders.append(self.device.vary(number))
            self._once(filled, lambda readout: self._take_again(readout, firsts.get(readout.buffer.name)))
        self.device.vary(0)
        if self.case.repeat > 1:
            self.observed = replace(self.observed, orders=tuple(order for order in orders if order))
        if self.case.settings.poison == "twice":
            self.device.free_all()
            self._once(filled, lambda readout: self._take_complement(readout, firsts), poison=COMPLEMENT)
        self._write_references(filled)

    @property
    def poison(self) -> bytes:
        """What outputs are filled with: nothing where a tool watches for reads of what was never written."""
        return b"" if self.case.settings.poison == "none" else POISON

    # --- what becomes of a run's buffers ------------------------------------------------------------------------------

    def _take_first(self, readout: BufferReader, firsts: dict[str, Array]) -> None:
        """Dumps a buffer; it is kept for later runs to be compared with, unless it is large and there are none."""
        buffer, known = readout.buffer, self.known.get(readout.buffer.name, {})
        again = self.case.repeat > 1 or self.case.settings.poison == "twice"
        if readout.is_large and not again:
            self.dumped.append(self.dumps.stream(readout, known))
            pieces: Iterable[Array] = readout.pieces()
        else:
            array = firsts[buffer.name] = readout.array()
            self.dumped.append(self.dumps.write(buffer.name, array, known))
            pieces = [array]
        self._survey(buffer, pieces)

    def _survey(self, buffer: Buffer, pieces: Iterable[Array]) -> None:
        """Notes what was never written, what is NaN, and whether anything changed at all."""
        was = self.was[buffer.name]
        found = survey(pieces, dtypes.parse(buffer.dtype), poisoned=was.is_poisoned and bool(self.poison))
        before = self.inputs.get(was.name) or self.initial.get(was.name)
        is_unchanged = before == self.dumped[-1].digest
        self.observed = found.added_to(self.observed, buffer.name, is_unchanged=is_unchanged)

    def _take_again(self, readout: BufferReader, first: Array | None) -> None:
        """One further run's buffer; where its bits are not the first run's, they are dumped beside them."""
        name = readout.buffer.name
        taken = self.repeats.setdefault(name, [])
        found = digest_of(readout)
        taken.append(found)
        if found == next(dump.digest for dump in self.dumped if dump.buffer == name):
            return
        run = len(taken) + 1
        dump = self.dumps.within(f"repeat-{run}").stream(readout, {})
        paths = self.observed.repeat_dumps
        self.observed = replace(
            self.observed, repeat_dumps={**paths, name: {**paths.get(name, {}), str(run): dump.path}}
        )
        if first is not None and self.observed.determinism:
            self._note_class(name, first, readout.array())

    def _note_class(self, name: str, first: Array, other: Array) -> None:
        """The determinism of a buffer of which two runs differ: never better than it was found before."""
        from gpuregress.compare import determinism  # noqa: PLC0415 - a worker starts sooner without

        element = dtypes.parse(self.case.buffers[name].dtype)
        found = determinism.classify(element, (first.reshape(-1), other.reshape(-1)))
        classes = self.observed.determinism
        self.observed = replace(
            self.observed, determinism={**classes, name: max(classes[name], found, key=determinism.CLASSES.index)}
        )

    def _take_complement(self, readout: BufferReader, firsts: Mapping[str, Array]) -> None:
        """An output of the run under the other poison: what nobody wrote, and what was there before showing through."""
        buffer = readout.buffer
        if not self.was[buffer.name].is_poisoned:
            return
        first, second = firsts[buffer.name], readout.array()
        compared = PoisonComparison(proven_unwritten(first, second), poison_shows(first, second))
        self.observed = replace(self.observed, poison_twice={**self.observed.poison_twice, buffer.name: compared})

    # --- a run --------------------------------------------------------------------------------------------------------

    def _once(
        self,
        filled: Mapping[str, Array],
        take: Callable[[BufferReader], None],
        *,
        poison: bytes | None = None,
        timing: TimingLoop | None = None,
    ) -> None:
        """The case's own launches; `take` is given each buffer to dump while it is on the device."""
        module = self.device.load(self.program, None if timing else _threads(self.case.launches))
        self._record_resources(module)
        word = self.poison if poison is None else poison
        placed = self._prepare(module, filled, self.program, self.case.source, word)
        kept = self._unfilled_symbols(placed)
        self.initial.update({name: self._digest(name, array) for name, array in kept.items()})
        memory = self._launch_all(module, placed)
        self._check_status(memory)
        self.position, self.is_first = None, False
        self.entering("saving")
        for name in self.case.dump:
            take(BufferReader(memory[name], self.case.buffers[name]))
        self._compare_inputs(placed, filled)
        if timing:
            with self.device.timed_exactly():
                memory = self._sample(module, placed, {**kept, **filled}, timing)
            self.entering("saving")
            for name in self.case.dump:
                self._take_again(BufferReader(memory[name], self.case.buffers[name]), None)
            self._compare_inputs(placed, filled)

    def _compare_inputs(self, placed: Mapping[str, Memory], filled: Mapping[str, Array]) -> None:
        """Notes the memory that no longer holds its fill, by the name it had before launches exchanged buffers."""
        found = dict(self.observed.overwritten)
        for name, array in filled.items():
            readout = BufferReader(placed[name], self.case.buffers[name])
            if name not in found and digest_of(readout) != self.inputs[name]:
                found[name] = changes(readout, array)
        self.observed = replace(self.observed, overwritten=found)

    def _launch_all(
        self, module: DeviceModule, placed: Mapping[str, Memory], *, recorded: bool = True
    ) -> dict[str, Memory]:
        """Every launch in order: buffer → where it is afterwards, for launches may exchange buffers."""
        memory = dict(placed)
        self.entering("launching")
        for position, launch in enumerate(self.case.launches):
            self.position = position if self.is_first else None
            report = self._launch(launch, self.program, module, memory)
            if recorded:
                self._record(launch, report)
        return memory

    def _prepare(
        self,
        module: DeviceModule,
        filled: Mapping[str, Array],
        program: Program,
        source: Source,
        poison: bytes = POISON,
    ) -> dict[str, Memory]:
        """Every buffer in its place, filled or poisoned; a symbol that this source has not is a plain buffer."""
        memory = {}
        self.handles.clear()
        for name, buffer in self.case.buffers.items():
            is_symbol = source is self.case.source or buffer.symbol in source.symbols
            placed = buffer if is_symbol else replace(buffer, symbol=None)
            memory[name] = self._place_buffer(module, placed, program)
            BufferReader(memory[name], placed).initialise(filled.get(name), poison)
            description = textures.describe(buffer)
            if description is not None:
                self.handles[memory[name].address] = self.device.texture(memory[name], description)
        return memory

    # --- timing -------------------------------------------------------------------------------------------------------

    def _sample(
        self, module: DeviceModule, placed: Mapping[str, Memory], contents: Mapping[str, Array], timing: TimingLoop
    ) -> dict[str, Memory]:
        """The launches over and over, each time on freshly filled buffers; where the buffers are after the last."""
        samples: list[float] = []
        kernels: dict[str, list[float]] = {}
        memory = dict(placed)
        for number in range(timing.warmup + timing.samples):
            for name, buffer in self.case.buffers.items():
                BufferReader(placed[name], buffer).initialise(contents.get(name))
            before = len(self.timed)
            memory = self._launch_all(module, placed, recorded=False)
            if number >= timing.warmup:
                taken = self.timed[before:]
                samples.append(sum(elapsed for _, elapsed in taken))
                for kernel in dict.fromkeys(name for name, _ in taken):
                    kernels.setdefault(kernel, []).append(sum(elapsed for name, elapsed in taken if name == kernel))
        sampled = Timing(
            clock="events on the GPU" if self.device.info.name.startswith("cuda") else "wall time of the launches",
            warmup=timing.warmup,
            samples_ms=tuple(samples),
            median_ms=statistics.median(samples),
            kernels_ms={kernel: tuple(elapsed) for kernel, elapsed in kernels.items()},
            run=len(self.repeats.get(self.case.dump[0], ())) + 2 if self.case.dump else 0,
            **self.device.clocks(),
        )
        self.observed = replace(self.observed, timing=sampled)
        return memory

    def _unfilled_symbols(self, placed: Mapping[str, Memory]) -> dict[str, Array]:
        """What the variables hold that the case does not fill: their initialisers' values."""
        symbols = [buffer for buffer in self.case.buffers.values() if buffer.symbol is not None and buffer.fill is None]
        return {buffer.name: BufferReader(placed[buffer.name], buffer).array() for buffer in symbols}

    # --- memory -------------------------------------------------------------------------------------------------------

    def _place_buffer(self, module: DeviceModule, buffer: Buffer, program: Program) -> Memory:
        element = dtypes.parse(buffer.dtype)
        size = element.size * math.prod(buffer.shape)
        if buffer.symbol is None:
            return self.device.allocate(buffer.name, size, itemsize=element.size)
        memory = module.symbol(program.symbols.get(buffer.symbol, buffer.symbol))
        if size > memory.size:
            raise DeviceError(f"buffer {buffer.name} has {size} bytes; its symbol {buffer.symbol} has {memory.size}")
        return memory

    # --- launches -----------------------------------------------------------------------------------------------------

    def _launch(
        self, launch: Launch, program: Program, module: DeviceModule, memory: dict[str, Memory]
    ) -> LaunchReport:
        entry = program.entries[launch.kernel]
        arguments = tuple(pack(argument, memory, self.handles)[0] for argument in launch.args)
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
        self.timed.append((launch.kernel, report.elapsed_ms))
        for first, second in launch.swap:
            memory[first], memory[second] = memory[second], memory[first]
        return report

    def _record(self, launch: Launch, report: LaunchReport) -> None:
        """What is told of a case's launches: its own, not the gold standard's nor the timing loop's."""
        assert self.current is not None
        self.launches.append(LaunchTime(self.current, launch.kernel, report.elapsed_ms))
        self._count_events(launch.kernel, report.counters)
        if report.output:
            self.output.append(report.output)

    def _count_events(self, kernel: str, counters: Mapping[str, int]) -> None:
        if counters:
            counted = self.observed.counters
            self.observed = replace(
                self.observed, counters={**counted, kernel: Counter(counted.get(kernel, {})) + Counter(counters)}
            )

    def _check_status(self, memory: Mapping[str, Memory]) -> None:
        """The kernel's own error report: all zero, or the case fails with the first code and its place."""
        if self.case.status is None:
            return
        buffer = self.case.buffers[self.case.status]
        array = BufferReader(memory[buffer.name], buffer).array().reshape(-1)
        columns = [np.asarray(column).astype(bool) for column in dtypes.parse(buffer.dtype).columns(array)]
        raised = np.flatnonzero(np.logical_or.reduce(columns))
        if raised.size:
            self._raise_status(buffer.name, array, raised)

    def _raise_status(self, name: str, array: Array, raised: npt.NDArray[np.intp]) -> NoReturn:
        first = int(raised[0])
        others = f" and {raised.size - 1} more of {array.size} are not zero" if raised.size > 1 else ""
        message = f"{name}[{first}] = {_code(array[first])}{others}"
        details = tuple(f"{name}[{index}] = {_code(array[index])}" for index in raised[:20])
        raise KernelFault("status", message, details=details)

    # --- results ------------------------------------------------------------------------------------------------------

    def _fill(self, buffer: Buffer) -> Array:
        if buffer.fill is None or buffer.fill.kind != "python":
            return inputs.fill(buffer, read_dump=reader.read)
        self.entering("computing")
        array = inputs.fill(buffer, read_dump=reader.read)
        self.entering("preparing")
        return array

    def _write_references(self, filled: Mapping[str, Array]) -> None:
        """The gold standards, as dumps of their own; where one equals the result, the file is copied."""
        for name, function in self.case.reference.items():
            self.entering("computing")
            try:
                standard = python_reference.compute(function, self.case, name, filled)
                self.entering("saving")
                self._write_reference(name, standard.array)
                if standard.wide is not None:
                    self._write_wide(name, standard.wide)
            except python_reference.ReferenceFailed as error:
                self.observed = replace(
                    self.observed, reference_errors={**self.observed.reference_errors, name: str(error)}
                )
        for group in python_reference.shared(self.case.reference_kernels):
            try:
                for name, array in self._reference_run(group, filled).items():
                    self._write_reference(name, array)
            except KernelFault as fault:
                failed = dict.fromkeys(group, f"the reference's own kernel failed with {fault.kind}: {fault}")
                self.observed = replace(
                    self.observed, reference_errors={**self.observed.reference_errors, **failed}, sticky=fault.sticky
                )
                if fault.sticky:
                    return

    def _reference_run(self, names: Sequence[str], filled: Mapping[str, Array]) -> dict[str, Array]:
        """Trusted kernels on freshly filled buffers: what they leave in these buffers."""
        kernel, program = self.case.reference_kernels[names[0]], self.references[names[0]]
        self.device.free_all()
        module = self.device.load(program, _threads(kernel.launches))
        memory = self._prepare(module, filled, program, kernel.source)
        self.entering("launching")
        for launch in kernel.launches:
            self._launch(launch, program, module, memory)
        self.entering("saving")
        return {name: BufferReader(memory[name], self.case.buffers[name]).array() for name in names}

    def _write_reference(self, name: str, array: Array) -> None:
        known = {dump.digest: dump.path for dump in self.dumped if dump.buffer == name}
        dump = self.dumps.beside("references").write(name, array, known)
        self.observed = replace(self.observed, references={**self.observed.references, name: dump})

    def _write_wide(self, name: str, array: Array) -> None:
        """The gold standard before it was rounded to the buffer's dtype."""
        element = dtypes.widened(dtypes.parse(self.case.buffers[name].dtype))
        dump = self.dumps.beside("references").within("unrounded").write(name, array, {}, element)
        self.observed = replace(self.observed, unrounded_references={**self.observed.unrounded_references, name: dump})

    def _digest(self, name: str, array: Array) -> str:
        return digest.of_array(array, dtypes.parse(self.case.buffers[name].dtype))

    def _record_resources(self, module: DeviceModule) -> None:
        for name in dict.fromkeys(launch.kernel for launch in self.case.launches):
            info = module.kernel(self.program.entries[name].mangled)
            self.resources[name] = {
                "registers": info.registers,
                "shared": info.shared,
                "local": info.local,
                "spill": info.spill,
                **self._occupancy(module, name),
            }

    def _occupancy(self, module: DeviceModule, kernel: str) -> dict[str, int]:
        """Of the kernel's first launch, where the device tells it."""
        launch = next(launch for launch in self.case.launches if launch.kernel == kernel)
        return module.occupancy(self.program.entries[kernel].mangled, launch.block, launch.shared)


def _code(value: np.generic) -> str:
    """A status code in decimal and hexadecimal, `35 (0x23)`; negative ones as the two's complement of their width."""
    if isinstance(value, np.void):  # a vector or record
        return f"({', '.join(_code(value[name]) for name in value.dtype.names or ())})"
    if isinstance(value, np.integer) and value:
        return f"{value} ({int(value) % (1 << 8 * value.itemsize):#x})"
    return str(value)


def _threads(launches: Sequence[Launch]) -> int:
    """How many threads launches have in all."""
    return sum(math.prod(launch.grid) * math.prod(launch.block) for launch in launches)
