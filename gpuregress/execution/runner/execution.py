"""Execution of one case on one device.

The first run fills, launches, reads and dumps. Timing follows, then the further runs along each axis.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner import axes, whole_programs
from gpuregress.execution.runner.accuracy import AccuracyRuns
from gpuregress.execution.runner.axes import repeats, schedules
from gpuregress.execution.runner.case_runs import CaseRuns, FurtherRuns, RunPlan, check_status
from gpuregress.execution.runner.dumps import BufferReader, DumpFolder, changes, digest_of
from gpuregress.execution.runner.launch_reports import LaunchReports
from gpuregress.execution.runner.launcher import Launcher, LoadedSource, thread_count
from gpuregress.execution.runner.poison import POISON, survey
from gpuregress.execution.runner.recorder import LaunchRecorder
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import (
    INFEASIBLE,
    CodeLine,
    CompileError,
    GpuregressError,
    HarnessError,
    InfeasibleSource,
    KernelFault,
    public_name,
)
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import (
    Case,
    DeviceInfo,
    Fault,
    Instruments,
    Launch,
    Observations,
    Outcome,
    Program,
    Task,
    Timing,
    WriteSurvey,
)
from gpuregress.foundation.records.further_runs import AXES
from gpuregress.gpu import limits
from gpuregress.gpu.base import Device, KernelInfo, LaunchReport, Memory
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedules import ADVERSARIAL, FORWARD
from gpuregress.jobs import inputs
from gpuregress.store.dumps import writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.launch_log import LaunchLog
from gpuregress.toolchain import cubin_linker

Array = npt.NDArray[np.generic]


class PreparedCase(Record):
    """A case before its first launch.

    Attributes:
        loaded: its sources.
        memory: buffer → its memory.
        contents: buffer → what it holds, where it is not the poison.
    """

    loaded: Sequence[LoadedSource]
    memory: Mapping[str, Memory]
    contents: Mapping[str, Array]


def sample(launcher: Launcher, prepared: PreparedCase, run: int) -> tuple[Timing, dict[str, Memory]]:
    """Time the launches of a case.

    Args:
        prepared: the case; its buffers are filled again before each run of the loop.
        run: the number of the loop's last run among the case's runs, counted from 1.

    Returns:
        The samples, and the memory of each buffer after the last run: launches may exchange them.
    """
    case, loop = launcher.case, launcher.case.settings.timing
    assert loop is not None
    samples: list[float] = []
    kernels: dict[str, list[float]] = {}
    memory, labels = dict(prepared.memory), case.kernel_labels
    for number in range(loop.warmup + loop.samples):
        for name, buffer in case.buffers.items():
            BufferReader(prepared.memory[name], buffer).initialise(prepared.contents.get(name))
        memory = dict(prepared.memory)
        elapsed_ms: list[float] = []
        of_kernel_ms: dict[str, list[float]] = {}
        for launch, report in launcher.run(case.launches, prepared.loaded, memory):
            elapsed_ms.append(report.elapsed_ms)
            of_kernel_ms.setdefault(labels[launch.source, launch.kernel], []).append(report.elapsed_ms)
        if number >= loop.warmup:
            samples.append(sum(elapsed_ms))
            for kernel, times_ms in of_kernel_ms.items():
                kernels.setdefault(kernel, []).append(sum(times_ms))
    is_gpu = launcher.device.info.name.startswith("cuda")
    timing = Timing(
        clock="events on the GPU" if is_gpu else "wall time of the launches",
        warmup=loop.warmup,
        samples_ms=tuple(samples),
        median_ms=float(np.median(samples)),
        kernels_ms={kernel: tuple(times) for kernel, times in kernels.items()},
        run=run,
        **launcher.device.clocks(),
    )
    return timing, memory


# Registers of a case's kernels, where the device does not count them and an assembler does.
# A GPU refuses a launch whose threads need more registers than a block has. The CPU device has no registers.
_ALWAYS_LAUNCHED = 256
"""Threads that a block may have whatever registers they use: a thread has at most 255."""


def check_registers(device: DeviceInfo, case: Case, programs: Sequence[Program]) -> None:
    """Refuse launches that a GPU refuses for their registers; without an assembler, nothing is checked.

    Args:
        device: that runs the case.
        case: with `infeasible: skip`; others are not checked.
        programs: its compiled sources.

    Raises:
        LaunchRefused: names the registers and the limit.
        InfeasibleSource: the assembler refuses the kernels for their memory.
    """
    large = [launch for launch in case.launches if math.prod(launch.block) > _ALWAYS_LAUNCHED]
    if not large or case.settings.infeasible is None or device.name != "cpu":
        return
    try:
        used = [cubin_linker.resources(cubin_linker.build_cubin(program)) for program in programs]
    except InfeasibleSource:
        raise
    except (CompileError, HarnessError):
        return
    for launch in large:
        mangled = programs[launch.source].entries[launch.kernel].mangled
        registers = used[launch.source].get(mangled, {}).get("registers", 0)
        limits.check_launch(device, KernelInfo(mangled, registers), launch.grid, launch.block, 0)


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
        entering: receives `launching` when the clock of the case's time limit starts, `saving` when it stops;
            `computing` before a function of the user is called, `preparing` or `saving` after it.
        interim: receives the outcome so far before each run under a further schedule, which may never end, and the
            name of the schedule; "" for runs that explain a difference.

    Returns:
        `done`, `fault` or `error`; what a kernel or the device did wrong is never raised.
    """
    if task.case.program is not None:
        return whole_programs.run(device.info, task, task.case.program, entering, interim)
    log = LaunchLog(Path(task.log))
    launcher = Launcher(device, task, log, entering)
    above = task.storage.compress_above
    contents = DumpContents(Path(task.storage.contents), above) if task.storage.contents else None
    run = _CaseRun(launcher, DumpFolder(task.case, Path(task.dumps), contents, above), interim)
    failure: Fault | None = None
    error = message = ""
    line: CodeLine | None = None
    try:
        device.limit_heap(task.case.limits.heap)
        run.execute()
    except KernelFault as fault:
        position = launcher.position if run.is_first else None
        failure = Fault(
            fault.kind,
            str(fault),
            details=fault.details,
            launch=launcher.current,
            position=position,
            location=fault.location,
        )
        line = fault.source_line
        run.runs.is_lost |= fault.sticky
        run.reports.add_interrupted(device.interrupted(), is_first=run.is_first)
    except GpuregressError as wrong:
        error, message, line = public_name(wrong), str(wrong), wrong.source_line
        # A reference that cannot be launched says nothing of the case.
        if error in INFEASIBLE and not run.is_first:
            error = "DeviceError"
    except OSError as wrong:
        error, message = "StorageError", str(storage.explain(wrong, Path(wrong.filename or task.dumps)))
    except MemoryError:
        error, message = "DeviceError", f"not enough memory on {launcher.device_label} or its host for {task.case.name}"
    finally:
        device.free_all()
        log.close()
    run.observed = replace(run.observed, error=error)
    outcome = run.outcome()
    if error:
        return replace(outcome, state="error", message=message, fault=None, source_line=line)
    if failure is not None:
        return replace(outcome, state="fault", fault=failure, source_line=line)
    return outcome


class _CaseRun:
    """One case while it runs, and its results so far.

    Args:
        folder: of its dumps.
        interim: receives the outcome so far.

    Attributes:
        further: runs, along the axes.
        reports: of the launches of the case's own runs.
        is_first: whether the first run of the case's launches is not over.
        observed: what else is known.
    """

    def __init__(self, launcher: Launcher, folder: DumpFolder, interim: Callable[[Outcome, str], None]) -> None:
        self._launcher = launcher
        self._interim = interim
        self._began = time.perf_counter()
        self._was = launcher.case.initial_buffers
        self._initial: dict[str, str] = {}
        self._writes = WriteSurvey(poison=POISON.hex())
        self.is_first = True
        self.reports = LaunchReports(launcher)
        self.runs = CaseRuns(launcher, folder, self)
        self.further = FurtherRuns(self.runs, lambda name: self._interim(self.outcome(), name))
        self.observed = Observations()

    @property
    def _case(self) -> Case:
        return self._launcher.case

    @property
    def _device(self) -> Device:
        return self._launcher.device

    def outcome(self) -> Outcome:
        """Return the outcome so far; findings of the dynamic checks are a fault."""
        fault = self.reports.fault
        instruments = self.reports.instruments
        if self.runs.adversary is not None and ADVERSARIAL in self._case.settings.schedules:
            instruments = replace(instruments, conflicts=self.runs.adversary.survey)
        observed = replace(
            self.observed,
            writes=self._writes,
            runs=tuple(self.further.done),
            instruments=instruments,
            sticky=self.runs.is_lost,
        )
        return Outcome(
            case=self._case.name,
            state="done" if fault is None else "fault",
            fault=fault,
            source_line=self.reports.source_line,
            dumps=tuple(self.runs.results),
            inputs=self.runs.inputs,
            launches=tuple(self.reports.times),
            output="".join(self.reports.output),
            device=self._device.info,
            resources=self.reports.resources,
            seconds=time.perf_counter() - self._began,
            observations=observed,
        )

    def execute(self) -> None:
        """Run the case once and dump it, time it, then make its further runs."""
        case, runs = self._case, self.runs
        check_registers(self._device.info, case, self._launcher.task.programs)
        runs.filled = self._filled()
        runs.inputs = {name: self._digest(name, array) for name, array in runs.filled.items()}
        if case.settings.main_schedule != FORWARD and self._device.follow(case.settings.main_schedule):
            runs.schedule = schedules.spelled(runs, case.settings.main_schedule)
            self.observed = replace(self.observed, schedule=case.settings.main_schedule)
        self._device.free_all()
        self._device.follow(runs.schedule)
        self._launcher.label = runs.label
        order = runs.vary(0)
        if case.repeat > 1:
            self.observed = replace(self.observed, order=order)
        self._device.instrument(case.settings.instruments)
        if case.settings.instruments.accuracy:
            self._run_beside_higher_precision()
        elif case.settings.timing is not None and not case.settings.instruments.any:
            self._time(self._first_run(None))
        else:
            self._first_run(thread_count(case.launches))
        # Timing and further runs execute the plain code: instruments would slow it, and report twice.
        self._device.instrument(Instruments())
        if case.settings.timing is not None and self.observed.timing is None:
            self._time_apart()
        runs.elapsed_s = sum(launch.elapsed_ms for launch in self.reports.times[: len(case.launches)]) / 1e3
        for row in AXES:
            if row.is_asked_for(case):
                self.further.along(axes.load(row))

    # --- the first run ------------------------------------------------------------------------------------------------

    def _first_run(self, threads: int | None, accuracy: AccuracyRuns | None = None) -> PreparedCase:
        """Run the case's launches, record the buffers after each, and dump the results.

        Args:
            threads: of all launches, where few are worth no optimisation; see `gpu.base.Device.load`.
            accuracy: takes the errors of launches and results, where the case runs beside higher precision.

        Returns:
            The case as it was before its launches exchanged any buffers.
        """
        case, launcher = self._case, self._launcher
        loaded = launcher.load(threads)
        self.reports.add_resources(loaded)
        prepared = launcher.prepare(loaded, self.runs.filled, self.runs.poison)
        variables = self._unfilled_symbols(prepared)
        self._initial = {name: self._digest(name, array) for name, array in variables.items()}
        memory = dict(prepared)
        recorder = LaunchRecorder(case, launcher.task.programs, self.runs.folder)
        recorder.before(self._initial)
        for launch, launch_report in launcher.run(case.launches, loaded, memory):
            self.launched(launch, launch_report)
            if accuracy is not None:
                accuracy.note(launch_report, launch.source)
            self._record_buffers(recorder, launch, memory)
        self.observed = replace(self.observed, launch_digests=recorder.digests)
        if case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        self.is_first = False
        launcher.entering("saving")
        for name in case.dump:
            result = BufferReader(memory[name], case.buffers[name])
            self._dump(result)
            if accuracy is not None:
                accuracy.take(result)
        self.ended(prepared)
        return PreparedCase(loaded, prepared, {**variables, **self.runs.filled})

    def _record_buffers(self, recorder: LaunchRecorder, launch: Launch, memory: Mapping[str, Memory]) -> None:
        """Record the buffers after a launch; the case's time limit does not count the writing of dumps."""
        assert self._launcher.position is not None
        if not recorder.dumps_every_launch:
            recorder.after(self._launcher.position, launch, memory)
            return
        self._launcher.entering("saving")
        recorder.after(self._launcher.position, launch, memory)
        self._launcher.entering("launching")

    def _dump(self, result: BufferReader) -> None:
        """Dump a buffer; keep its contents, unless it is large and no later run is compared with it."""
        buffer = result.buffer
        known = self._launcher.task.known.get(buffer.name, {})
        is_compared = self._case.repeat > 1 or self._case.settings.poison == "twice"
        if result.is_large and not is_compared:
            dump = self.runs.folder.stream(result, known)
            pieces: Iterable[Array] = result.pieces()
        else:
            array = self.runs.arrays[buffer.name] = result.array()
            dump = self.runs.folder.write(buffer.name, array, known)
            pieces = [array]
        self.runs.results.append(dump)
        was = self._was[buffer.name]
        surveyed = survey(pieces, dtypes.parse(buffer.dtype), poisoned=was.is_poisoned and bool(self.runs.poison))
        before = self.runs.inputs.get(was.name) or self._initial.get(was.name)
        self._writes = surveyed.added_to(self._writes, buffer.name, is_unchanged=before == dump.digest)

    def _run_beside_higher_precision(self) -> None:
        """Run the case beside higher precision, then again for the source lines at which errors arise."""
        accuracy = AccuracyRuns(self._device, self._case)

        def again(take: Callable[[BufferReader], None]) -> None:
            memory = self.runs.memory(RunPlan(is_own=True))
            for name in self._case.dump:
                take(BufferReader(memory[name], self._case.buffers[name]))

        self._first_run(thread_count(self._case.launches), accuracy)
        self.reports.instruments = replace(self.reports.instruments, accuracy=accuracy.result(again))

    # --- timing -------------------------------------------------------------------------------------------------------

    def _time_apart(self) -> None:
        """Time the case with programs that watch and count nothing."""
        self._device.free_all()
        loaded = self._launcher.load(None)
        memory = self._launcher.prepare(loaded, self.runs.filled, self.runs.poison)
        self._time(PreparedCase(loaded, memory, {**self._unfilled_symbols(memory), **self.runs.filled}))

    def _time(self, prepared: PreparedCase) -> None:
        """Time the launches; the last run of the loop is compared as a repeat is."""
        number = 2 if self._case.dump else 0
        with self._device.timed_exactly():
            timed, memory = sample(self._launcher, prepared, number)
        self.observed = replace(self.observed, timing=timed)
        self._launcher.entering("saving")
        if number:
            repeat = repeats.compared(self.runs, memory, number, self.observed.order, is_classified=False)
            self.further.done.append(repeat)
        self.ended(prepared.memory)

    # --- the case's own runs ------------------------------------------------------------------------------------------

    def launched(self, launch: Launch, report: LaunchReport) -> None:
        """Add the report of a launch; see `case_runs.RunObserver`."""
        self.reports.add(launch, report, is_first=self.is_first)

    def ended(self, prepared: Mapping[str, Memory]) -> None:
        """Note the buffers that no longer hold their fill; see `case_runs.RunObserver`."""
        overwritten = dict(self._writes.overwritten)
        for name, array in self.runs.filled.items():
            buffer = BufferReader(prepared[name], self._case.buffers[name])
            if name not in overwritten and digest_of(buffer) != self.runs.inputs[name]:
                overwritten[name] = changes(buffer, array)
        self._writes = replace(self._writes, overwritten=overwritten)

    # --- inputs -------------------------------------------------------------------------------------------------------

    def _filled(self) -> dict[str, Array]:
        """Fill every buffer with a fill once; those with the same contents as another one are filled from it."""
        buffers = [buffer for buffer in self._case.buffers.values() if buffer.fill is not None]
        filled: dict[str, Array] = {}
        for buffer in buffers:
            if buffer.fill is not None and buffer.fill.same is None:
                filled[buffer.name] = self.runs.fill(buffer)
        for buffer in buffers:
            if buffer.fill is not None and buffer.fill.same is not None:
                filled[buffer.name] = inputs.same(buffer, filled[buffer.fill.same.name])
        return {buffer.name: filled[buffer.name] for buffer in buffers}

    def _unfilled_symbols(self, prepared: Mapping[str, Memory]) -> dict[str, Array]:
        """Read the variables that the case does not fill: they hold their initialisers' values."""
        contents = {}
        for name, buffer in self._case.buffers.items():
            if buffer.symbol is not None and buffer.fill is None:
                contents[name] = BufferReader(prepared[name], buffer).array()
        return contents

    def _digest(self, name: str, array: Array) -> str:
        return writer.content_digest(array, dtypes.parse(self._case.buffers[name].dtype))
