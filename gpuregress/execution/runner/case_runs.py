"""Runs of one case: each is the case's own, but for what its plan says.

The axes plan the further runs.

A run fills the buffers, loads the programs and launches the kernels; its results are then read where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.execution.runner.dumps import BufferReader, DumpFolder, digest_of
from gpuregress.execution.runner.launcher import Launcher, RunLabel, thread_count
from gpuregress.execution.runner.poison import POISON
from gpuregress.foundation.errors import FaultLocation, GpuregressError, KernelFault
from gpuregress.foundation.records import (
    Buffer,
    Case,
    Conflict,
    ConflictSurvey,
    Dump,
    FurtherRun,
    Launch,
    Program,
    RunFacts,
    Source,
)
from gpuregress.foundation.records.further_runs import Axis
from gpuregress.gpu import schedules
from gpuregress.gpu.base import LaunchReport, Memory
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.jobs import inputs

_MOST_CODES = 20


def check_status(memory: Memory, buffer: Buffer, names: Mapping[str, str] | None = None) -> None:
    """Refuse a status buffer that is not all zero.

    Args:
        memory: of the buffer, after the last launch.
        buffer: of integers.
        names: code in decimal → its name.

    Raises:
        KernelFault: names the first code and its index.
    """
    reader = BufferReader(memory, buffer)
    codes = reader.array().reshape(-1)
    raised = np.flatnonzero(np.logical_or.reduce([column != 0 for column in reader.element.columns(codes)]))
    if not raised.size:
        return
    lines = [f"{buffer.name}[{index}] = {_code(codes[index], names or {})}" for index in raised[:_MOST_CODES]]
    message = lines[0]
    if raised.size > 1:
        message += f" and {raised.size - 1} more of {codes.size} are not zero"
    raise KernelFault(
        "status", message, details=tuple(lines), location=FaultLocation(buffer.name, int(raised[0]), int(codes.size))
    )


def _code(value: np.generic, names: Mapping[str, str]) -> str:
    """A status code as `35 (0x23): table full`; negative ones have the two's complement of their width."""
    if isinstance(value, np.void):  # a vector or record
        return f"({', '.join(_code(value[name], names) for name in value.dtype.names or ())})"
    text = str(value)
    if isinstance(value, np.integer) and value:
        text += f" ({int(value) % (1 << 8 * value.itemsize):#x})"
    if str(value) in names:
        text += f": {names[str(value)]}"
    return text


Array = npt.NDArray[np.generic]


class RunPlan(Record):
    """What is other in a run than in the case's own; None stands for the case's own.

    Attributes:
        label: for the log and the watchdog.
        filled: buffer → its contents, where they are others.
        launches: what is launched.
        programs: the compiled sources.
        schedule: that the device follows.
        poison: of outputs.
        is_own: whether it counts as a run of the case: its launches are reported, and changed inputs are noted.
        has_status: whether the case's status buffer is looked at.
    """

    label: RunLabel | None = None
    filled: Mapping[str, Array] = field(default_factory=dict)
    launches: Sequence[Launch] | None = None
    programs: Sequence[tuple[Source, Program]] | None = None
    schedule: str | None = None
    poison: bytes | None = None
    is_own: bool = False
    has_status: bool = True


class RunObserver(Protocol):
    """Receiver of what the case's own runs do."""

    def launched(self, launch: Launch, report: LaunchReport) -> None:
        """A launch has ended."""

    def ended(self, prepared: Mapping[str, Memory]) -> None:
        """The last launch has ended; buffers by their names before any were exchanged."""


class Adversary(Record):
    """The adversarial schedule of a case.

    Attributes:
        name: of the schedule that exchanges all conflicting accesses.
        survey: what is reported of them.
    """

    name: str
    conflicts: tuple[Conflict, ...]
    survey: ConflictSurvey


class CaseRuns(MutableRecord):
    """The runs of one case, and what the further ones are compared with.

    Attributes:
        folder: the dumps of the first run; those of further runs go to folders inside or beside it.
        observer: of the case's own runs.
        filled: filled buffer → its contents.
        inputs: filled buffer → digest of its bytes.
        results: the dumps of the first run.
        arrays: dumped buffer → its contents after the first run, where later runs are compared with them.
        elapsed_s: time of the launches of the first run.
        schedule: of the first run.
        adversary: the adversarial schedule, once it was asked for.
        is_lost: whether a fault lost a device's context.
    """

    launcher: Launcher
    folder: DumpFolder
    observer: RunObserver
    filled: Mapping[str, Array] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    results: list[Dump] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    elapsed_s: float = 0.0
    schedule: str = schedules.FORWARD
    adversary: Adversary | None = None
    is_lost: bool = False

    @property
    def case(self) -> Case:
        """The case."""
        return self.launcher.case

    @property
    def poison(self) -> bytes:
        """The pattern of outputs: none where a tool watches for reads of memory that was never written."""
        return b"" if self.case.settings.poison == "none" else POISON

    @property
    def label(self) -> RunLabel:
        """The label of the case's own runs."""
        is_usual = self.schedule == schedules.FORWARD
        return RunLabel(schedule="" if is_usual else self.case.settings.main_schedule)

    def vary(self, number: int) -> str:
        """Choose the order of a repeat, from 0; all are the same under a schedule other than the usual one."""
        chosen = self.launcher.device.vary(number)
        return chosen if self.schedule == schedules.FORWARD else self.case.settings.main_schedule

    def fill(self, buffer: Buffer) -> Array:
        """Compute the contents of a buffer; a function of the user has its own time limit."""
        if buffer.fill is None or buffer.fill.kind != "python":
            return inputs.fill(buffer)
        self.launcher.entering("computing")
        array = inputs.fill(buffer)
        self.launcher.entering("preparing")
        return array

    def memory(self, plan: RunPlan, note: Callable[[LaunchReport], None] | None = None) -> dict[str, Memory]:
        """Run the case as planned.

        Args:
            plan: what is other than in the case's own run.
            note: receives the report of each launch.

        Returns:
            Buffer → its memory after the last launch.

        Raises:
            KernelFault: of a launch, or of the status buffer.
        """
        launcher = self.launcher
        case = self.case
        launches = case.launches if plan.launches is None else plan.launches
        launcher.device.free_all()
        launcher.device.follow(self.schedule if plan.schedule is None else plan.schedule)
        launcher.entering("preparing")
        threads = thread_count(launches)
        loaded = launcher.load(threads) if plan.programs is None else launcher.load_programs(plan.programs, threads)
        poison = self.poison if plan.poison is None else plan.poison
        prepared = launcher.prepare(loaded, {**self.filled, **plan.filled}, poison)
        memory = dict(prepared)
        launcher.label = self.label if plan.label is None else plan.label
        try:
            for launch, report in launcher.run(launches, loaded, memory):
                if note is not None:
                    note(report)
                if plan.is_own:
                    self.observer.launched(launch, report)
        finally:
            launcher.label = self.label
        if plan.has_status and case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        launcher.entering("saving")
        if plan.is_own:
            self.observer.ended(prepared)
        return memory

    def readers(self, memory: Mapping[str, Memory]) -> Iterator[tuple[Dump, BufferReader]]:
        """The dumps of the first run, each with its buffer after another run."""
        for dump in self.results:
            yield dump, BufferReader(memory[dump.buffer], self.case.buffers[dump.buffer])

    def compared(self, memory: Mapping[str, Memory], folder: str) -> tuple[dict[str, str], dict[str, Dump]]:
        """Dump the buffers that are not as after the first run.

        Args:
            memory: after another run.
            folder: for its dumps.

        Returns:
            The digests of all dumped buffers, and the dumps of those that are others.
        """
        digests, dumps = {}, {}
        for first, result in self.readers(memory):
            digests[first.buffer] = digest_of(result)
            if digests[first.buffer] != first.digest:
                dumps[first.buffer] = self.folder.within(folder).stream(result, {})
        return digests, dumps


class PlannedRun(Record):
    """A further run that is to come.

    Attributes:
        name: of the run on its axis.
        perform: runs it; None where there is nothing to run.
        facts: those that are known before.
        left_out: why it is not run, "" if it is.
    """

    name: str
    perform: Callable[[], FurtherRun] | None
    facts: RunFacts = field(default_factory=RunFacts)
    left_out: str = ""


class RunAxis(Record):
    """An axis of further runs.

    Attributes:
        name: of the axis.
        runs: plans the runs of a case, in their order; each is performed before the next one is planned.
        ends_case: whether a fault is the case's own.
        is_tolerant: whether a run that cannot be made is left out, and not an error of the case.
        may_hang: whether a run may never end, so that what is known is reported before each.
        explain: may add to the runs of the axis, after all of them; a run may hang here, too.
    """

    name: Axis
    runs: Callable[[CaseRuns], Iterator[PlannedRun]]
    ends_case: bool = False
    is_tolerant: bool = False
    may_hang: bool = False
    explain: Callable[[CaseRuns, Sequence[FurtherRun]], Sequence[FurtherRun]] | None = None


class FurtherRuns(MutableRecord):
    """The further runs of a case, along all axes.

    Attributes:
        before: receives each run that may never end, before it begins: its name, or `schedules.EXPLANATION`.
        done: the runs so far.
        lost_by: the axis of the run that lost the device's context, "" while nothing did.
    """

    runs: CaseRuns
    before: Callable[[str], None]
    done: list[FurtherRun] = field(default_factory=list)
    lost_by: str = ""

    def along(self, axis: RunAxis) -> None:
        """Make the runs of an axis. A fault ends only its own run, unless the device is lost.

        Raises:
            KernelFault: of an axis whose faults are the case's own.
            GpuregressError: a run cannot be made, on an axis that does not tolerate that.
        """
        first = len(self.done)
        for planned in axis.runs(self.runs):
            if axis.may_hang and planned.perform is not None:
                self.before(planned.name)
            self.done.append(self._run(axis, planned))
        if axis.explain is not None and len(self.done) > first:
            self.before(schedules.EXPLANATION)
            self.done[first:] = axis.explain(self.runs, self.done[first:])

    def _run(self, axis: RunAxis, planned: PlannedRun) -> FurtherRun:
        run = FurtherRun(axis.name, planned.name, left_out=planned.left_out, facts=planned.facts)
        if planned.perform is None:
            return run
        # A device without its context refuses every launch.
        if self.lost_by:
            return replace(run, left_out=f"an earlier {self.lost_by} lost the device")
        try:
            run = planned.perform()
        except KernelFault as fault:
            if axis.ends_case:
                raise
            self.runs.is_lost |= fault.sticky
            run = replace(run, fault=f"{fault.kind}: {fault}")
        except GpuregressError as error:
            if not axis.is_tolerant:
                raise
            run = replace(run, left_out=" ".join(str(error).split()))
        if self.runs.is_lost:
            self.lost_by = axis.name
        return run
