"""Execution of one case on one device.

The first run fills, launches, reads and dumps. Timing, repeats, the run under the other poison and references follow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner import feasibility, timing
from gpuregress.execution.runner.buffer_reader import BufferReader, changes
from gpuregress.execution.runner.checks.findings import fault_of
from gpuregress.execution.runner.dumps import DumpFolder, digest_of
from gpuregress.execution.runner.launcher import Launcher, LoadedSource, thread_count
from gpuregress.execution.runner.launches.launch_reports import LaunchReports
from gpuregress.execution.runner.launches.recorder import LaunchRecorder
from gpuregress.execution.runner.poison import COMPLEMENT, POISON, poison_shows, proven_unwritten, survey
from gpuregress.execution.runner.references import ReferenceDumps
from gpuregress.execution.runner.status_check import check_status
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import INFEASIBLE, GpuregressError, KernelFault, public_name
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import (
    Buffer,
    Case,
    Dump,
    Fault,
    Instruments,
    Launch,
    Observations,
    Outcome,
    PoisonComparison,
    Task,
)
from gpuregress.gpu import schedules
from gpuregress.gpu.base import Device, Memory
from gpuregress.jobs import inputs
from gpuregress.store.dumps import reader, writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.launch_log import LaunchLog

if TYPE_CHECKING:
    from gpuregress.execution.runner.accuracy.line_errors import AccuracyRuns
    from gpuregress.execution.runner.launches.schedule_runs import ScheduleRuns

Array = npt.NDArray[np.generic]


@float_environment.default()
def run_case(
    device: Device,
    task: Task,
    entering: Callable[[str], None] = lambda _phase: None,
    interim: Callable[[Outcome, str], None] = lambda _outcome, _schedule: None,
) -> Outcome:
    """Run a case and dump what it asks for.

    Args:
        device: an open device, with nothing of an earlier case on it.
        task: the case, its programs, and the files to write.
        entering: is told `launching` when the clock of the case's time limit starts, `saving` when it stops;
            `computing` before a function of the user is called, `preparing` or `saving` after it.
        interim: is told the outcome so far before each run under a further schedule, which may never end, and the
            name of the schedule; "" for runs that explain a difference.

    Returns:
        `done`, `fault` or `error`; what a kernel or the device did wrong is never raised.
    """
    log = LaunchLog(Path(task.log))
    launcher = Launcher(device, task, log, entering)
    above = task.storage.compress_above
    contents = DumpContents(Path(task.storage.contents), above) if task.storage.contents else None
    dumps = DumpFolder(task.case, Path(task.dumps), contents, above)
    run = _CaseRun(launcher, dumps, LaunchReports(launcher), interim)
    failure: Fault | None = None
    error = message = ""
    try:
        device.limit_heap(task.case.limits.heap)
        run.execute()
    except KernelFault as fault:
        position = launcher.position if run.is_first else None
        failure = Fault(fault.kind, str(fault), fault.details, launcher.current, position, fault.location)
        run.observed = replace(run.observed, sticky=fault.sticky)
        run.record_interrupted()
    except GpuregressError as wrong:
        error, message = public_name(wrong), str(wrong)
        if error in INFEASIBLE and not run.is_first:  # a reference that cannot be launched says nothing of the case
            error = "DeviceError"
    except OSError as wrong:
        error, message = "StorageError", str(storage.explain(wrong, Path(wrong.filename or task.dumps)))
    except MemoryError:
        error, message = "DeviceError", f"not enough memory on {launcher.device_label} or its host for {task.case.name}"
    finally:
        device.free_all()
        log.close()
    if error:
        run.observed = replace(run.observed, error=error)
        return replace(run.outcome(), state="error", message=message, fault=None)
    return run.outcome() if failure is None else replace(run.outcome(), state="fault", fault=failure)


@dataclass(slots=True)
class _CaseRun:
    """One case while it runs, and its results so far.

    Attributes:
        launcher: of the case.
        dumps: the folder of its dumps.
        interim: is told the outcome so far.
        began: moment of the start, seconds of time.perf_counter.
        was: buffer → the buffer that its memory was before the first launch.
        is_first: whether the first run of the case's launches is not over.
        firsts: dumped buffer → its contents after the first run, where later runs are compared with them.
        dumped: the dumps of the first run.
        inputs: filled buffer → digest of its bytes before the first launch.
        initial: variable without a fill → the same.
        repeats: buffer → its digests after each further run.
        reports: of the launches of all these runs.
        accuracy: what the first run finds of it, where that was asked for.
        observed: further findings.
        under_schedules: runs the case under schedules, where it has any.
    """

    launcher: Launcher
    dumps: DumpFolder
    reports: LaunchReports
    interim: Callable[[Outcome, str], None]
    began: float = field(default_factory=time.perf_counter)
    was: Mapping[str, Buffer] = field(default_factory=dict)
    is_first: bool = True
    firsts: dict[str, Array] = field(default_factory=dict)
    dumped: list[Dump] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    repeats: dict[str, list[str]] = field(default_factory=dict)
    accuracy: AccuracyRuns | None = None
    observed: Observations = field(default_factory=lambda: Observations(poison=POISON.hex()))
    under_schedules: ScheduleRuns | None = None

    @property
    def case(self) -> Case:
        return self.launcher.task.case

    @property
    def device(self) -> Device:
        return self.launcher.device

    @property
    def poison(self) -> bytes:
        """The pattern of outputs: none where a tool watches for reads of memory that was never written."""
        return b"" if self.case.settings.poison == "none" else POISON

    def outcome(self) -> Outcome:
        """Return the outcome so far; findings of the dynamic checks are a fault."""
        found = self.observed.findings
        return Outcome(
            self.case.name,
            "fault" if found else "done",
            fault_of(found, self.reports.finding_position) if found else None,
            dumps=tuple(self.dumped),
            inputs=self.inputs,
            repeats={name: tuple(digests) for name, digests in self.repeats.items()},
            launches=tuple(self.reports.times),
            output="".join(self.reports.output),
            device=self.device.info,
            resources=self.reports.resources,
            seconds=time.perf_counter() - self.began,
            observations=self.observed,
        )

    def execute(self) -> None:
        """Run the case once and dump it, time it, repeat it, run it under the other poison, compute its references.

        The further schedules come last: a kernel may never end under one, and then all else is known.
        """
        feasibility.check_registers(self.device.info, self.case, self.launcher.task.programs)
        filled = self._filled()
        self.inputs.update({name: self._digest(name, array) for name, array in filled.items()})
        self.was = self.case.initial_buffers
        main = self._main_schedule(filled)
        has_choice = self._follow(main)
        if has_choice and main != schedules.FORWARD:
            self.observed = replace(self.observed, schedule=self.case.settings.main_schedule)
        orders = [self._order(main, 0)]
        self.device.instrument(self.case.settings.instruments)
        is_timed, is_instrumented = self.case.settings.timing is not None, self.case.settings.instruments.any
        if self.case.settings.instruments.accuracy:
            self._run_accuracy(filled)
        else:
            self._run(filled, self._dump_first, is_timed=is_timed and not is_instrumented)
        self.device.instrument(Instruments())
        if is_timed and is_instrumented:
            self._time_apart(filled)
        if is_timed:
            orders *= 2
        if self.case.repeat > 1:
            from gpuregress.foundation.numeric import determinism  # noqa: PLC0415 - a worker starts sooner without

            self.observed = replace(self.observed, determinism=dict.fromkeys(self.firsts, determinism.CLASSES[0]))
        for number in range(1, self.case.repeat):
            self.device.free_all()
            orders.append(self._order(main, number))
            self._run(filled, self._compare_repeat)
        self.device.vary(0)
        if self.case.repeat > 1:
            self.observed = replace(self.observed, orders=tuple(order for order in orders if order))
        if self.case.settings.poison == "twice":
            self.device.free_all()
            self._run(filled, self._compare_poisons, poison=COMPLEMENT)
        self._follow(schedules.FORWARD)
        self._write_references(filled)
        self._follow(main)
        self._run_seeds(filled)
        self._run_variants(filled)
        if self.case.settings.twins and not self.observed.sticky:
            self._run_twins(filled)
        if has_choice and self.case.settings.schedules:
            self._run_schedules(filled)

    def _run(
        self,
        filled: Mapping[str, Array],
        take: Callable[[BufferReader], None],
        *,
        poison: bytes | None = None,
        is_timed: bool = False,
    ) -> None:
        """Run the case's own launches; `take` is given each buffer to dump while it is on the device."""
        loaded = self.launcher.load(None if is_timed else thread_count(self.case.launches))
        self.reports.add_resources(loaded)
        pattern = self.poison if poison is None else poison
        prepared = self.launcher.prepare(loaded, filled, pattern)
        kept = self._unfilled_symbols(prepared)
        self.initial.update({name: self._digest(name, array) for name, array in kept.items()})
        memory = dict(prepared)
        recorder = LaunchRecorder(self.case, self.launcher.task.programs, self.dumps) if self.is_first else None
        if recorder is not None:
            recorder.before(self.initial)
        for launch, report in self.launcher.run(self.case.launches, loaded, memory):
            self.observed = self.reports.added(self.observed, launch, report, is_first=self.is_first)
            if self.accuracy is not None:
                self.accuracy.note(report, launch.source)
            if recorder is not None:
                self._record_buffers(recorder, launch, memory)
        if recorder is not None:
            self.observed = replace(self.observed, launch_digests=recorder.digests)
        if self.case.status is not None:
            check_status(memory[self.case.status], self.case.buffers[self.case.status], self.case.status_codes)
        self.is_first = False
        self._read(memory, take)
        self._compare_inputs(prepared, filled)
        if is_timed:
            self._time(loaded, prepared, {**kept, **filled})
            self._compare_inputs(prepared, filled)

    def _run_accuracy(self, filled: Mapping[str, Array]) -> None:
        """Run the case beside higher precision, then again for the source lines at which errors arise."""
        from gpuregress.execution.runner.accuracy.line_errors import AccuracyRuns  # noqa: PLC0415 - few runs ask for it

        runs = self.accuracy = AccuracyRuns(self.device, self.case)

        def take_first(result: BufferReader) -> None:
            self._dump_first(result)
            runs.take(result)

        def again(take: Callable[[BufferReader], None]) -> None:
            self.device.free_all()
            self._run(filled, take)

        self._run(filled, take_first)
        self.accuracy = None
        self.observed = replace(self.observed, accuracy=runs.result(again))

    def _read(self, memory: Mapping[str, Memory], take: Callable[[BufferReader], None]) -> None:
        self.launcher.entering("saving")
        for name in self.case.dump:
            take(BufferReader(memory[name], self.case.buffers[name]))

    def _time_apart(self, filled: Mapping[str, Array]) -> None:
        """Time the case with programs that watch and count nothing."""
        self.device.free_all()
        loaded = self.launcher.load(None)
        prepared = self.launcher.prepare(loaded, filled, self.poison)
        self._time(loaded, prepared, {**self._unfilled_symbols(prepared), **filled})
        self._compare_inputs(prepared, filled)

    def _time(
        self, loaded: Sequence[LoadedSource], prepared: Mapping[str, Memory], contents: Mapping[str, Array]
    ) -> None:
        dump = self.case.dump
        run = len(self.repeats.get(dump[0], ())) + 2 if dump else 0
        with self.device.timed_exactly():
            timed, memory = timing.sample(self.launcher, loaded, prepared, contents, run)
        self.observed = replace(self.observed, timing=timed)
        self._read(memory, lambda buffer: self._compare_repeat(buffer, is_classified=False))

    # --- buffers after a run ------------------------------------------------------------------------------------------

    def _dump_first(self, result: BufferReader) -> None:
        """Dump a buffer; keep its contents, unless it is large and no later run is compared with it."""
        buffer, known = result.buffer, self.launcher.task.known.get(result.buffer.name, {})
        is_compared = self.case.repeat > 1 or self.case.settings.poison == "twice"
        if result.is_large and not is_compared:
            self.dumped.append(self.dumps.stream(result, known))
            pieces: Iterable[Array] = result.pieces()
        else:
            array = self.firsts[buffer.name] = result.array()
            self.dumped.append(self.dumps.write(buffer.name, array, known))
            pieces = [array]
        was = self.was[buffer.name]
        surveyed = survey(pieces, dtypes.parse(buffer.dtype), poisoned=was.is_poisoned and bool(self.poison))
        before = self.inputs.get(was.name) or self.initial.get(was.name)
        is_unchanged = before == self.dumped[-1].digest
        self.observed = surveyed.added_to(self.observed, buffer.name, is_unchanged=is_unchanged)

    def _compare_repeat(self, result: BufferReader, *, is_classified: bool = True) -> None:
        """Compare a buffer of a further run by its digest; dump it where it differs from the first run's."""
        name = result.buffer.name
        digests = self.repeats.setdefault(name, [])
        digests.append(digest_of(result))
        if digests[-1] == next(dump.digest for dump in self.dumped if dump.buffer == name):
            return
        number = len(digests) + 1
        dump = self.dumps.within(f"repeat-{number}").stream(result, {})
        paths = self.observed.repeat_dumps
        self.observed = replace(
            self.observed, repeat_dumps={**paths, name: {**paths.get(name, {}), str(number): dump.path}}
        )
        if is_classified and name in self.firsts and self.observed.determinism:
            self._classify(name, self.firsts[name], result.array())

    def _classify(self, name: str, first: Array, other: Array) -> None:
        """Note the determinism class of two runs that differ, unless a worse one is known."""
        from gpuregress.foundation.numeric import determinism  # noqa: PLC0415 - a worker starts sooner without

        element = dtypes.parse(self.case.buffers[name].dtype)
        determined = determinism.classify(element, (first.reshape(-1), other.reshape(-1)))
        classes = self.observed.determinism
        worst = max(classes[name], determined, key=determinism.CLASSES.index)
        self.observed = replace(self.observed, determinism={**classes, name: worst})

    def _compare_poisons(self, result: BufferReader) -> None:
        """Compare an output of the run under the other poison with the first run's."""
        name = result.buffer.name
        if not self.was[name].is_poisoned:
            return
        first, second = self.firsts[name], result.array()
        compared = PoisonComparison(proven_unwritten(first, second), poison_shows(first, second))
        self.observed = replace(self.observed, poison_twice={**self.observed.poison_twice, name: compared})

    def _compare_inputs(self, prepared: Mapping[str, Memory], filled: Mapping[str, Array]) -> None:
        """Note the buffers that no longer hold their fill, by their names before launches exchanged buffers."""
        overwritten = dict(self.observed.overwritten)
        for name, array in filled.items():
            buffer = BufferReader(prepared[name], self.case.buffers[name])
            if name not in overwritten and digest_of(buffer) != self.inputs[name]:
                overwritten[name] = changes(buffer, array)
        self.observed = replace(self.observed, overwritten=overwritten)

    # --- records ------------------------------------------------------------------------------------------------------

    def record_interrupted(self) -> None:
        """Record what was counted in the launch that a fault has ended."""
        self.observed = self.reports.interrupted(self.observed, self.device.interrupted(), is_first=self.is_first)

    def _record_buffers(self, recorder: LaunchRecorder, launch: Launch, memory: Mapping[str, Memory]) -> None:
        """Record the buffers after a launch; the case's time limit does not count the writing of dumps."""
        assert self.launcher.position is not None
        if not recorder.dumps_every_launch:
            recorder.after(self.launcher.position, launch, memory)
            return
        self.launcher.entering("saving")
        recorder.after(self.launcher.position, launch, memory)
        self.launcher.entering("launching")

    def _order(self, main: str, number: int) -> str:
        """Choose the order of a run of `repeat`, from 0; all are the same under a schedule other than the usual one."""
        chosen = self.device.vary(number)
        return chosen if main == schedules.FORWARD else self.case.settings.main_schedule

    def _follow(self, schedule: str) -> bool:
        """Choose the schedule of the runs that come; return whether there is a choice."""
        is_usual = schedule == schedules.FORWARD
        self.launcher.schedule = "" if is_usual else self.case.settings.main_schedule
        return self.device.follow(schedule)

    def _main_schedule(self, filled: Mapping[str, Array]) -> str:
        """The schedule of the first run; the adversarial one is spelled, by a run that watches all accesses."""
        main = self.case.settings.main_schedule
        if main != schedules.ADVERSARIAL or not self.device.follow(main):
            return main
        found = self._schedule_runs.adversary(filled)
        self.observed = replace(self.observed, conflicts=found.survey)
        self.device.free_all()
        return found.name

    @property
    def _schedule_runs(self) -> ScheduleRuns:
        from gpuregress.execution.runner.launches.schedule_runs import ScheduleRuns  # noqa: PLC0415 - few cases have any

        if self.under_schedules is None:
            self.under_schedules = ScheduleRuns(self.launcher, self.poison)
        return self.under_schedules

    def _run_schedules(self, filled: Mapping[str, Array]) -> None:
        from gpuregress.execution.runner.launches.schedule_runs import ComparedSchedules  # noqa: PLC0415 - few cases have any

        runs, is_adversarial = self._schedule_runs, schedules.ADVERSARIAL in self.case.settings.schedules
        elapsed_ms = sum(one.elapsed_ms for one in self.reports.times[: len(self.case.launches)])
        compared = ComparedSchedules(runs, self.dumps, tuple(self.dumped), elapsed_ms / 1e3)
        for name in compared.run(filled):
            survey = runs.known.survey if is_adversarial and runs.known is not None else None
            self.observed = replace(self.observed, schedules=tuple(compared.done), conflicts=survey)
            if name is not None:
                self.interim(self.outcome(), name)
        self._follow(schedules.FORWARD)

    def _run_seeds(self, filled: Mapping[str, Array]) -> None:
        if not self.case.seeds or self.observed.sticky:
            return
        from gpuregress.execution.runner.seeds import SeedRuns  # noqa: PLC0415 - few cases have any

        seeds = SeedRuns(self.launcher, self.dumps, self._fill)
        try:
            seeds.run(filled)
        finally:
            self.observed = replace(self.observed, seeds=tuple(seeds.runs), sticky=seeds.sticky)

    def _run_variants(self, filled: Mapping[str, Array]) -> None:
        if self.case.variants is None:
            return
        from gpuregress.execution.runner.variants import VariantRuns  # noqa: PLC0415 - few cases have any

        variants = VariantRuns(self.launcher, self.dumps, self.dumped, sticky=self.observed.sticky)
        try:
            variants.run(filled)
        finally:
            self.observed = replace(self.observed, variants=tuple(variants.runs), sticky=variants.sticky)

    def _write_references(self, filled: Mapping[str, Array]) -> None:
        references = ReferenceDumps(self.launcher, self.dumps, self.dumped)
        try:
            references.write(filled, self.inputs)
        finally:
            self.observed = replace(
                self.observed,
                references=references.rounded,
                unrounded_references=references.unrounded,
                reference_errors=references.errors,
                sticky=references.sticky,
            )

    def _run_twins(self, filled: Mapping[str, Array]) -> None:
        from gpuregress.execution.runner.twins.twin_runs import Twins  # noqa: PLC0415 - few cases have twins

        twins = Twins(self.launcher, self.dumps, tuple(self.dumped))
        twins.run(filled)
        self.observed = replace(self.observed, twins=tuple(twins.done), sticky=twins.sticky)

    # --- inputs -------------------------------------------------------------------------------------------------------

    def _filled(self) -> dict[str, Array]:
        """Fill every buffer with a fill once; those with the same contents as another one are filled from it."""
        fills = {name: buffer.fill for name, buffer in self.case.buffers.items() if buffer.fill is not None}
        filled = {name: self._fill(self.case.buffers[name]) for name, fill in fills.items() if fill.same is None}
        for name, fill in fills.items():
            if fill.same is not None:
                filled[name] = inputs.same(self.case.buffers[name], filled[fill.same.name])
        return {name: filled[name] for name in fills}

    def _fill(self, buffer: Buffer) -> Array:
        if buffer.fill is None or buffer.fill.kind != "python":
            return inputs.fill(buffer, read_dump=reader.read)
        self.launcher.entering("computing")
        array = inputs.fill(buffer, read_dump=reader.read)
        self.launcher.entering("preparing")
        return array

    def _unfilled_symbols(self, prepared: Mapping[str, Memory]) -> dict[str, Array]:
        """Read the variables that the case does not fill: they hold their initialisers' values."""
        symbols = [buffer for buffer in self.case.buffers.values() if buffer.symbol is not None and buffer.fill is None]
        return {buffer.name: BufferReader(prepared[buffer.name], buffer).array() for buffer in symbols}

    def _digest(self, name: str, array: Array) -> str:
        return writer.content_digest(array, dtypes.parse(self.case.buffers[name].dtype))
