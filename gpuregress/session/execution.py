"""Third step of a run: cases go to the workers as they are compiled, and are judged as they come back."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import field

from gpuregress.execution.workers.pool import CaseNotCompiled, CaseStarted
from gpuregress.foundation import clock, storage
from gpuregress.foundation.errors import (
    ClusterLost,
    CodeLine,
    DeviceError,
    GpuregressError,
    HarnessError,
    InfeasibleSource,
    Interrupted,
    JobErrors,
    MissingCompiler,
    StorageError,
)
from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import SOURCE_DIGITS, AcceptedBy, Case, Outcome, RunKind, Task, Verdict, to_plain
from gpuregress.foundation.wording import first_names, plural
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.judge import agreement, atomic_updates, verdict
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.judge.judge import Judge, internal_error
from gpuregress.judge.nights import cause_of, extent_of
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.report import case_lines
from gpuregress.session import case_remarks, source_locations
from gpuregress.session.case_remarks import ToleranceRemarks
from gpuregress.session.checking import CheckedRun
from gpuregress.session.compilation import ProgramBuilder
from gpuregress.session.earlier_nights import night_order
from gpuregress.session.events import Compiled, Judged, Started
from gpuregress.session.planning import error_lines, error_location, wrong_job_code
from gpuregress.session.run_context import RunContext
from gpuregress.session.runs import history_entry, run_folders
from gpuregress.session.runs.recording import NOTHING_BEFORE, EarlierPart, Recording, log_header
from gpuregress.session.runs.source_texts import SourceTexts
from gpuregress.session.tasks import TaskFactory, TaskStream
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.launch_log import LaunchLog
from gpuregress.toolchain import cache

if TYPE_CHECKING:
    from gpuregress.judge.judge import Judge


Settled = tuple[Verdict, Task | None]
"""A verdict that is final, with the task that it is of; None where nothing ran."""
GroupJudge = Callable[[Sequence[Task], Sequence[Verdict], int], Sequence[Verdict]]
"""Tasks in the order of the plan, their own verdicts and the number of planned cases → the verdicts with the agreement.
The order in which cases end does not show in the verdicts."""


class _Group(MutableRecord):
    """A group; infeasible cases do not count among the planned ones, because no other case waits for them."""

    planned: int = 0
    open: set[str] = field(default_factory=set)
    held: list[tuple[Verdict, Task]] = field(default_factory=list)


class AgreementGroups:
    """The groups of a run.

    Args:
        judge: judges the cases of one group against each other.
    """

    def __init__(self, cases: Iterable[Case], judge: GroupJudge) -> None:
        self._judge = judge
        self._groups: dict[tuple[str, ...], _Group] = {}
        self._of_case: dict[str, tuple[str, ...]] = {}
        self._positions: dict[str, int] = {}
        for position, case in enumerate(cases):
            self._positions[case.name] = position
            key = case.agreement_group
            if key is not None:
                self._of_case[case.name] = key
                group = self._groups.setdefault(key, _Group())
                group.open.add(case.name)
                group.planned += 1

    def settle(self, reached: Verdict, task: Task | None) -> list[Settled]:
        """Take a verdict, and return those that are final now.

        Args:
            reached: the verdict on one case by itself.
            task: what ran; None where nothing did.
        """
        key = self._of_case.get(reached.case)
        if key is None:
            return [(reached, task)]
        settled: list[Settled] = []
        group = self._groups[key]
        group.open.discard(reached.case)
        if reached.infeasible:
            group.planned -= 1
        if task is not None and reached.status in ("pass", "new"):
            group.held.append((reached, task))
        else:
            settled.append((reached, task))
        if not group.open:
            settled += self._judged(group)
        return settled

    def close(self, *, judged: bool) -> list[Settled]:
        """Return the verdicts that are still held, for the run ends before their groups are whole.

        Args:
            judged: whether they are compared with each other; else they are as they were reached.
        """
        settled: list[Settled] = []
        for group in self._groups.values():
            if judged:
                settled += self._judged(group)
            else:
                settled += group.held
                group.held = []
        return settled

    def _judged(self, group: _Group) -> list[Settled]:
        if not group.held:
            return []
        held = sorted(group.held, key=lambda pair: self._positions[pair[0].case])
        group.held = []
        tasks = [task for _, task in held]
        verdicts = self._judge(tasks, [reached for reached, _ in held], group.planned)
        return list(zip(verdicts, tasks, strict=True))


AT_NIGHT = 3
"""Timeouts of one kernel at night, where neither job nor project say."""

_Kernel = tuple[str, str]


class RepeatedTimeouts:
    """The kernels that timed out in a run.

    Args:
        kind: of the run: an attended run has no limit of its own.
        limit: that the request sets; 0: none.
    """

    def __init__(self, kind: RunKind, limit: int = 0) -> None:
        self._default = limit
        if kind != "run" and not limit:
            self._default = AT_NIGHT
        self._cases: defaultdict[_Kernel, list[str]] = defaultdict(list)

    def note(self, case: Case, outcome: Outcome | None) -> None:
        """Count the timeout of a case.

        Args:
            case: that timed out.
            outcome: names the launch. Where it is none of the case's own, a case of one kernel counts for that.
        """
        kernels = _kernels(case)
        if outcome is not None and outcome.fault is not None:
            position = outcome.fault.position
            if position is not None and position < len(kernels):
                kernels = [kernels[position]]
        if len(set(kernels)) == 1:
            self._cases[kernels[0]].append(case.name)

    def reason(self, case: Case) -> str:
        """Say why a case should not run; "" where it should."""
        limit = case.limits.timeouts or self._default
        if not limit:
            return ""
        for source, kernel in _kernels(case):
            cases = self._cases.get((source, kernel), [])
            if len(cases) >= limit:
                times = plural(len(cases), "time")
                return f"not run: {kernel} timed out {times}, in {first_names(cases)} (limits: {{timeouts: {limit}}})"
        return ""


def _kernels(case: Case) -> list[_Kernel]:
    """The kernel of each launch, with its source."""
    return [(case.sources[launch.source].path, launch.kernel) for launch in case.launches]


ALONE = "alone"


def debugger_command(task: Task, run: Path, environment: Mapping[str, str]) -> str:
    """Save the case and name the command that debugs it; "" where it cannot be saved.

    Args:
        task: of the run, whose kernel failed.
        run: the run's folder.
        environment: what the worker was given, which GPU it sees.
    """
    path = run / ALONE / f"{task.case.name}.json"
    try:
        storage.write_atomic(path, json.dumps(to_plain(task.alone())).encode())
    except StorageError:
        return ""
    settings = [f"{name}={value}" for name, value in environment.items()]
    program = ["cuda-gdb", "--args", sys.executable, "-m", "gpuregress.execution.workers.alone", str(path)]
    return "to debug this case alone: " + shlex.join(["env", *settings, *program])


_TROUBLE = (DeviceError.__name__, HarnessError.__name__)
"""What a worker, or the watch over it, calls trouble that is not the kernel's."""


def _remarks_on_atomics(task: Task) -> tuple[str, ...]:
    """The remarks on a case's atomic operations; a bug in their analysis of the PTX is a remark, too."""
    try:
        return atomic_updates.remarks(task.case, task.programs)
    except Exception as error:  # noqa: BLE001 - a remark must not end the run
        return (
            f"atomic operations were not looked at: {type(error).__name__} inside gpuregress: {one_line(str(error))}",
        )


class ExecutedRun(Record):
    """The verdicts that a run reached.

    Attributes:
        verdicts: case, or broken job → its verdict, in the order in which they were reached.
        remarks: what is worth knowing of cases that passed.
        interrupted: the user asked to stop.
        no_turn: cases that the deadline left without a verdict.
        held_back: cases that were skipped after timeouts of their kernel.
        notes: what must be reported to the user.
        unknown: why the nights before this one are not known.
        cut: why the run ended before its cases, without anybody asking for it; "" for another run.
    """

    verdicts: Mapping[str, Verdict]
    remarks: tuple[str, ...]
    interrupted: bool
    no_turn: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: str = ""
    cut: str = ""


def execute_cases(
    context: RunContext,
    checked: CheckedRun,
    builder: ProgramBuilder,
    recording: Recording,
    part: EarlierPart = NOTHING_BEFORE,
) -> ExecutedRun:
    """Run and judge the cases; those that cannot run get their verdicts first.

    Args:
        checked: the cases.
        builder: compiles the programs that are missing.
        recording: keeps each verdict as it is reached.
        part: of the run that was done before it was cut short.
    """
    running = _Execution(context, checked, recording, part)
    try:
        with contextlib.closing(LaunchLog(recording.folder / run_folders.LAUNCH_LOG)) as log:
            plan = checked.plan
            log.write_header(log_header(plan.runnable, context.devices, checked.programs, plan.overrides))
        running.settle_unrunnable()
        running.run_tasks(builder)
    except Interrupted:
        running.release_groups()
        return running.result(interrupted=True)
    except ClusterLost as error:
        return replace(running.result(interrupted=False), cut=str(error), no_turn=())
    return running.result(interrupted=False)


class _Execution:
    """The state of this step: the verdicts so far, and the slot of each case that started."""

    def __init__(self, context: RunContext, checked: CheckedRun, recording: Recording, part: EarlierPart) -> None:
        self._context = context
        self._checked = checked
        self._recording = recording
        self._accepted = AcceptedDumps(BaselineStore.of(context.project), context.devices.kind)
        self._texts = SourceTexts(context.project.runs)
        self._part = part
        self._timeouts = RepeatedTimeouts(context.request.kind, context.request.timeouts)
        self._verdicts: dict[str, Verdict] = dict(part.kept)
        self._remarks: dict[str, None] = {}
        self._slots: dict[str, str] = {}
        self._has_failed = False
        self._judge: Judge | None = None
        self._cases = {case.name: case for case in checked.plan.cases}
        self._retried: dict[str, tuple[str, ...]] = {}
        self._timed: set[str] = set()
        self._began = time.time() - (time.perf_counter() - context.start_s)
        self._is_late = False
        self._unknown = ""
        self._held_back: list[str] = []
        self._notes: list[str] = []
        self._tolerances: ToleranceRemarks | None = None
        pending = [case for case in checked.plan.cases if case.name not in part.kept]
        self._groups = AgreementGroups(pending, self._agreement)
        for case in part.cases:
            if part.kept[case.name].status == "timeout":
                self._timeouts.note(case, part.kept[case.name].outcome)

    def result(self, *, interrupted: bool) -> ExecutedRun:
        no_turn = []
        if self._is_late and not interrupted:
            no_turn = [case.name for case in self._checked.plan.runnable if case.name not in self._verdicts]
        return ExecutedRun(
            verdicts=self._verdicts,
            remarks=tuple(self._remarks),
            interrupted=interrupted,
            no_turn=tuple(no_turn),
            held_back=tuple(self._held_back),
            notes=tuple(self._notes),
            unknown=self._unknown,
        )

    def settle_unrunnable(self) -> None:
        """Report broken jobs, and skip the cases of other devices."""
        for broken in self._checked.plan.broken:
            self._add(broken)
        for case in self._checked.plan.cases:
            if lack := self._context.devices.lack(case):
                self._add(verdict.skipped(case, lack))
            elif case.settings.refused is not None:
                self._add(self._infeasible(case, case.settings.refused))

    def run_tasks(self, builder: ProgramBuilder) -> None:
        pending = tuple(case for case in self._checked.plan.runnable if case.name not in self._part.kept)
        cases, self._unknown = night_order(self._context, pending, self._recording.folder.name)
        factory = TaskFactory(
            project=self._context.project,
            folder=self._recording.folder,
            cases=cases,
            accepted=self._accepted,
            remark=self._remark,
            first=self._part.next_launch,
        )
        stream = TaskStream(builder, cases, factory.make)
        if self._is_stopped():  # a broken job has failed already
            return
        # A continued night knows kernels that timed out before it was cut short.
        self._hold_back(stream)
        with contextlib.ExitStack() as held:
            for event in self._context.pool.run((), stream, self._context.request.until):
                if self._judge is None:
                    self._judge = self._load_judge(held)
                if isinstance(event, CaseStarted):
                    self._slots[event.case] = event.slot
                    self._context.listen(Started(event.case, event.slot))
                elif isinstance(event, CaseNotCompiled):
                    self._add(self._unbuilt(event.case, event.error))
                else:
                    self._on_outcome(self._judge, stream, event)
                if self._is_stopped():
                    break
            until = self._context.request.until
            self._is_late = until is not None and time.monotonic() >= until
            for settled in self._groups.close(judged=True):
                self._keep(*settled)

    def _on_outcome(self, judge: Judge, stream: TaskStream, outcome: Outcome) -> None:
        """Judge an outcome, unless its case is run again; skip other cases of a kernel that timed out too often."""
        task = stream.tasks[outcome.case]
        if self._is_run_again(task, outcome):
            return
        del stream.tasks[outcome.case]
        task = replace(task, case=task.case.with_dumps(outcome.dumps))
        judged = self._judged(judge, task, outcome)
        self._add(judged, task)
        if judged.status == "timeout":
            self._timeouts.note(task.case, outcome)
            self._hold_back(stream)

    def _is_run_again(self, task: Task, outcome: Outcome) -> bool:
        """Run a case again after trouble with its device or worker, if its job says so."""
        before = self._retried.get(task.case.name, ())
        is_trouble = outcome.state == "error" and outcome.observations.error in _TROUBLE
        if not is_trouble or len(before) >= (task.case.settings.retries or 0):
            return False
        why = one_line(outcome.message or "the device or the worker failed")
        self._retried[task.case.name] = (*before, why)
        self._notes.append(f"{task.case.name} was run again: {why}")
        self._context.pool.again(task, why)
        return True

    def _hold_back(self, stream: TaskStream) -> None:
        """Skip the waiting cases of kernels that timed out too often."""

        def is_unwanted(case: Case) -> bool:
            return bool(self._timeouts.reason(case))

        waiting = [task.case for task in self._context.pool.withdraw(is_unwanted)]
        for case in (*waiting, *stream.withdraw(is_unwanted)):
            stream.tasks.pop(case.name, None)
            self._held_back.append(case.name)
            self._add(verdict.skipped(case, self._timeouts.reason(case)))

    def release_groups(self) -> None:
        """Report the cases whose group is not whole, without a comparison: the user asked to stop."""
        text = "interrupted: not compared with the cases that it must agree with"
        for reached, task in self._groups.close(judged=False):
            self._keep(replace(reached, notes=(*reached.notes, text)), task)

    def _agreement(self, tasks: Sequence[Task], reached: Sequence[Verdict], planned: int) -> Sequence[Verdict]:
        members = []
        for task, verdict_reached in zip(tasks, reached, strict=True):
            if verdict_reached.outcome is not None:
                members.append(agreement.GroupMember(task.case, verdict_reached.outcome, verdict_reached))
        user = self._judge.user if self._judge is not None else None
        try:
            return agreement.verdicts(members, planned, user)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - a bug while comparing one group must not lose the others
            return [internal_error(member.case, member.outcome, error) for member in members]

    def _is_stopped(self) -> bool:
        return self._context.request.fail_fast and self._has_failed

    def _load_judge(self, held: contextlib.ExitStack) -> Judge:
        """Make the judge, with the tolerances of earlier nights and the process for functions of users."""
        path = self._context.project.runs / history_entry.FILE
        self._tolerances = held.enter_context(contextlib.closing(ToleranceRemarks(path)))
        user = held.enter_context(UserCodeProcess(self._context.stop))
        timed = sum(case.settings.timing is not None for case in self._checked.plan.runnable)
        return Judge(self._accepted, self._checked.rejected, user, timed)

    def _judged(self, judge: Judge, task: Task, outcome: Outcome) -> Verdict:
        """Judge an outcome; a fault on a GPU gets the command of a debugger."""
        judged = judge.verdict(task.case, task.programs, outcome)
        timing = judged.timing
        if timing is not None and timing.status == "faster" and judged.status != "pass":
            timing = None  # how fast a wrong result was says nothing
        remarks = [
            *case_remarks.of_measurements(task.case, outcome, timing, judged.costs),
            *case_lines.remarks(task.case, judged),
            *case_lines.lines(judged),
        ]
        remarks += case_remarks.of_program(task.case, outcome)
        if judged.status in ("new", "differ"):
            remarks += case_remarks.of_untyped_buffers(task.case, outcome)
        if self._tolerances is not None:
            remarks += self._tolerances.remarks(judged)
        observed = outcome.observations
        if observed.lost_hosts and observed.host:
            remarks.append(f"ran again on {observed.host}: {', '.join(observed.lost_hosts)} was lost")
        is_unwritten = outcome.fault is not None and outcome.fault.kind == "uninitialized"
        if is_unwritten:
            remarks += _remarks_on_atomics(task)
        elif judged.status in ("new", "pass", "differ") and not judged.baseline_revision:
            for remark in _remarks_on_atomics(task):
                self._remark(f"{task.case.job}: {remark}")  # once, not for each case
        # The terminal shows no details of cases that passed, so their remarks are listed apart.
        if judged.status in ("pass", "new"):
            for remark in remarks:
                self._remark(f"{judged.case}: {remark}")
        if judged.status == "pass":
            for change in judged.changes:
                self._remark(f"{judged.case}: changed since the baseline: {change}")
        if self._context.devices.kind == "cuda" and judged.status in ("fault", "timeout"):
            slot = self._context.devices.slot(self._slots[task.case.name])
            hint = debugger_command(task, self._recording.folder, slot.environment)
            if hint:
                remarks.append(hint)
        return replace(judged, notes=(*judged.notes, *remarks))

    def _unbuilt(self, case: Case, error: GpuregressError) -> Verdict:
        """The verdict on a case that cannot run; others of its job may."""
        if case.settings.infeasible and isinstance(error, MissingCompiler):
            return verdict.skipped(case, str(error))
        if case.settings.infeasible and isinstance(error, InfeasibleSource):
            return self._infeasible(case, str(error), error.source_line)
        if not isinstance(error, JobErrors):
            location = source_locations.in_project(error.source_line, case)
            return replace(verdict.failed(case, error), location=location)
        code = wrong_job_code(self._context.request)
        lines, location = error_lines(self._context.project, error.errors), error_location(error.errors)
        return verdict.broken(case.job, lines, case, exit_code=code, location=location)

    def _infeasible(self, case: Case, reason: str, line: CodeLine | None = None) -> Verdict:
        try:
            reached = verdict.infeasible(case, reason, self._accepted.baseline(case))
            if reached.status == "skip":
                return reached
            return replace(reached, location=source_locations.in_project(line, case))
        except GpuregressError as error:  # its baseline is damaged
            return verdict.failed(case, error)

    def _add(self, reached: Verdict, task: Task | None = None) -> None:
        """Report a verdict; one that waits for the cases with which it must agree is reported with them."""
        for settled in self._groups.settle(reached, task):
            self._keep(*settled)

    def _keep(self, reached: Verdict, task: Task | None) -> None:
        if reached.status not in ("pass", "skip") and reached.case in self._cases:
            reached = source_locations.located(reached, self._cases[reached.case])
        case = task.case if task is not None else self._cases.get(reached.case)
        if case is not None and case.settings.known_failing is not None:
            reached = verdict.with_known_failure(reached, case.settings.known_failing, clock.today(), case)
        retried = self._retried.get(reached.case, ())
        reached = replace(reached, cause=cause_of(reached, case), extent=extent_of(reached), retried=retried)
        if case is not None:
            if self._context.request.kind != "experiment":
                self._texts.keep(case)
            reached = replace(reached, source=case.source_digest[:SOURCE_DIGITS], accepted=self._acceptance(case))
        self._verdicts[reached.case] = reached
        # The baselines of 10,000 cases would fill the memory.
        self._accepted.forget(reached.case)
        self._has_failed |= reached.exit_code != 0
        self._tell_compilation(task)
        self._context.listen(Judged(reached, len(self._verdicts)))
        self._recording.add(reached, task)

    def _acceptance(self, case: Case) -> AcceptedBy | None:
        """Who accepted a case's baseline; None without one, or where it is damaged, which its verdict says."""
        with contextlib.suppress(GpuregressError):
            baseline = self._accepted.baseline(case)
            if baseline is not None:
                return baseline.accepted
        return None

    def _tell_compilation(self, task: Task | None) -> None:
        """Report the times of the programs that were compiled for a case, each once."""
        if task is None:
            return
        for source, program in zip(task.case.sources, task.programs, strict=True):
            if program.key in self._timed:
                continue
            self._timed.add(program.key)
            seconds = cache.stages_since(program.key, self._began)
            if seconds:
                self._context.listen(Compiled(Path(source.path).name, seconds))

    def _remark(self, text: str) -> None:
        self._remarks[text] = None
