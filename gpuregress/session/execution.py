"""A run from selectors to verdicts. Prints nothing: whoever wants to know listens to its events."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress import plan, revision, toolchain, verdict
from gpuregress.baselines import Store
from gpuregress.errors import GpuregressError, Interrupted, JobError, JobErrors, NothingToDo, RunLocked
from gpuregress.interrupts import StopSignal
from gpuregress.judging import rejections
from gpuregress.judging.accepted import Accepted
from gpuregress.launchlog import LaunchLog
from gpuregress.project import Project
from gpuregress.records import Case, Outcome, RunSummary, State, Verdict
from gpuregress.session import compilation, device_slots, journal, log_header, missing_cases, overrides, run_folders
from gpuregress.session.events import Judged, Listener, Planned, Started
from gpuregress.session.recording import Recording
from gpuregress.session.request import Machinery, Request
from gpuregress.workers.compilers import Compilers
from gpuregress.workers.pool import Begun, Pool, Unbuilt
from gpuregress.workers.task import Task

if TYPE_CHECKING:
    from gpuregress.judging.judge import Judge


@dataclass(slots=True)
class Execution:
    """One run while it goes on.

    Args:
        project: whose jobs, baselines and runs.
        request: what to run.
        listen: told what happens.
        machinery: what a test may replace.
        stop: set when the user asks to stop.
    """

    project: Project
    request: Request
    listen: Listener
    machinery: Machinery
    stop: StopSignal
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    broken: list[Verdict] = field(default_factory=list)
    rejected: dict[tuple[str, str, str], str] = field(default_factory=dict)
    owed: tuple[str, ...] = ()
    began: float = field(default_factory=time.perf_counter)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def execute(self, pool: Pool, choice: device_slots.DeviceSelection) -> RunSummary:
        """Runs what is asked for; see `session.run`.

        Args:
            pool: the workers.
            choice: where they run.
        """
        self.remarks += overrides.check(self.request, choice)
        cases = overrides.adapted(self._plan(), self.request, choice)
        wanted = [case for case in cases if choice.kind in case.devices]
        pool.warm(min(len(wanted), len(choice.slots)))
        return self._run(cases, wanted, pool, choice)

    def _run(
        self, cases: Sequence[Case], wanted: Sequence[Case], pool: Pool, choice: device_slots.DeviceSelection
    ) -> RunSummary:
        begin = partial(Recording.begin, device=choice.name, kind=self.request.kind, started=self.started)
        with self._builder() as builder, begin(self.project, cases, owed=self.owed) as recording:
            with recording.nothing_run():
                compiled, cases, wanted = self._sample(builder, cases, wanted)
            return self._run_sampled(cases, wanted, builder, compiled, recording, pool, choice)

    @contextlib.contextmanager
    def _builder(self) -> Iterator[compilation.Builder]:
        """Who compiles: processes, or what a test put in their place."""
        if self.machinery.compiler is not None:
            yield compilation.Builder(compilation.AtOnce(self.machinery.compiler, self.stop.check), self.listen)
            return
        toolchain.check_folder()
        with Compilers(compilation.at_once(), self.stop) as crew:
            yield compilation.Builder(crew, self.listen, toolchain.find)

    def _sample(
        self, builder: compilation.Builder, cases: Sequence[Case], wanted: Sequence[Case]
    ) -> tuple[compilation.Compiled, Sequence[Case], Sequence[Case]]:
        """Compiles a case of each job, and holds it against its kernels before anything runs.

        Returns:
            The programs, and both sequences without the cases of jobs that contradict their kernels.
        """
        sampled = compilation.samples(wanted)
        compiled = builder.compile(sampled)
        self.remarks += compilation.unset_constants(sampled, compiled)
        contradicting = self._contradicting(sampled, compiled)
        cases, wanted = ([case for case in some if case.path not in contradicting] for some in (cases, wanted))
        self.rejected = rejections.known(self.project.runs)
        return compiled, cases, wanted

    def _run_sampled(
        self,
        cases: Sequence[Case],
        wanted: Sequence[Case],
        builder: compilation.Builder,
        compiled: compilation.Compiled,
        recording: Recording,
        pool: Pool,
        choice: device_slots.DeviceSelection,
    ) -> RunSummary:
        folder = recording.folder
        self.listen(Planned(len(cases) + len(self.broken), folder.name, choice.name, choice.why))
        accepted = Accepted(Store(self.project.baselines), choice.kind)
        interrupted = False
        try:
            with contextlib.closing(LaunchLog(folder / run_folders.LAUNCH_LOG)) as log:
                log.head(log_header.facts(wanted, choice, compiled.programs.values()))
            for found in self.broken:
                self._say(found, len(cases) + len(self.broken))
                recording.add(found)
            self._settle_unrunnable(cases, choice, recording)
            stream = compilation.Stream(builder, wanted, _TaskMaker(self, wanted, folder, accepted))
            self._execute_tasks(stream, len(cases) + len(self.broken), choice, recording, pool, accepted)
        except Interrupted:
            interrupted = True
        summary = self._summary(cases, folder, choice, accepted.store, interrupted=interrupted)
        return recording.leave(summary)

    # --- before -------------------------------------------------------------------------------------------------------

    def _plan(self) -> tuple[Case, ...]:
        request = self.request
        try:
            planned = (self.machinery.planner or plan.make)(
                self.project,
                request.selectors,
                name_glob=request.name_glob,
                tags=request.tags,
                repeat=request.repeat,
                timeout=request.timeout,
                keep_going=request.keeps_going,
            )
        except NothingToDo:
            if not missing_cases.are_expected(self.project, request):
                raise
            planned = plan.Plan(())
        self.remarks += planned.notes
        self.broken += (verdict.broken(job.name, self._told(job.errors)) for job in planned.broken)
        cases = tuple(planned.cases)
        if request.rerun_failed:
            cases = self._again(cases)
        return cases

    def _again(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Of the planned cases those that did not pass in the last run; what else did not is owed by this run, too."""
        last = journal.read(run_folders.find(self.project.runs))
        if last.state == "running":
            raise RunLocked(f"run {last.start.run} is still going on ({last.who}); wait until it ends")
        owed = last.not_passed
        again = tuple(case for case in cases if case.name in set(owed) or case.job in set(owed))  # a broken job
        if not again:
            raise NothingToDo(_nothing_again(owed))
        if not (self.request.selectors or self.request.name_glob or self.request.tags):
            here = {case.name for case in again}
            gone = [name for name in owed if name not in here and name not in {case.job for case in again}]
            self.notes += (f"{name} did not pass in run {last.start.run}, and is no case any more" for name in gone)
            owed = tuple(name for name in owed if name in here)
        self.owed = owed
        return again

    def _contradicting(self, wanted: Sequence[Case], compiled: compilation.Compiled) -> set[str]:
        """The files of the jobs with an argument that does not fit its kernel: they are broken.

        Raises:
            JobErrors: all that contradict, where a wrong job stops the run.
        """
        try:
            compilation.check_arguments(wanted, compiled)
        except JobErrors as wrong:
            if not self.request.keeps_going:
                raise
            jobs, paths = {case.path: case.job for case in wanted}, {str(error.path) for error in wrong.errors}
            for path in sorted(paths):
                errors = [error for error in wrong.errors if str(error.path) == path]
                self.broken.append(verdict.broken(jobs[path], self._told(errors)))
            return paths
        return set()

    def _told(self, errors: Sequence[JobError]) -> list[str]:
        return [str(error).removeprefix(f"{self.project.root}/") for error in errors]

    def _settle_unrunnable(
        self, cases: Sequence[Case], choice: device_slots.DeviceSelection, recording: Recording
    ) -> None:
        for case in cases:
            if choice.kind not in case.devices:
                found = verdict.skipped(case, f"its job runs on {', '.join(case.devices)} only")
                self._say(found, len(cases))
                recording.add(found)

    # --- running ------------------------------------------------------------------------------------------------------

    def _execute_tasks(
        self,
        stream: compilation.Stream,
        total: int,
        choice: device_slots.DeviceSelection,
        recording: Recording,
        pool: Pool,
        accepted: Accepted,
    ) -> None:
        places: dict[str, str] = {}
        if self.request.fail_fast and any(found.exit_code for found in self.verdicts.values()):
            return
        with contextlib.ExitStack() as held:
            judge: Judge | None = None
            for event in pool.run((), stream):
                judge = judge or self._judge(accepted, held)
                if isinstance(event, Begun):
                    places[event.case] = event.slot
                    self.listen(Started(event.case, event.slot))
                    continue
                if isinstance(event, Unbuilt):
                    task, found = None, self._unbuilt(event.case, event.error)
                else:
                    task = stream.tasks.pop(event.case)
                    found = self._remarked(judge.verdict(task.case, task.program, event), task, event)
                    if choice.kind == "cuda" and found.status in ("fault", "timeout"):
                        found = _with_debugger(found, task, recording.folder, choice, places[event.case])
                self._say(found, total)
                recording.add(found, task)
                if self.request.fail_fast and found.exit_code:
                    return

    def _unbuilt(self, case: Case, error: GpuregressError) -> Verdict:
        """The verdict on a case that cannot run, alone of its job or not."""
        if not isinstance(error, JobErrors):
            return verdict.failed(case, error)
        code = verdict.EXIT_CODES["error"] if self.request.keeps_going else error.exit_code
        return verdict.broken(case.job, self._told(error.errors), case, exit_code=code)

    def _judge(self, accepted: Accepted, held: contextlib.ExitStack) -> Judge:
        """Who judges the outcomes: loaded, as all that follows, once the first case is on its way."""
        from gpuregress.judging.judge import Judge  # noqa: PLC0415 - as above
        from gpuregress.judging.user_code import UserCode  # noqa: PLC0415 - as above
        from gpuregress.session import history_entry, results  # noqa: PLC0415, F401 - see above

        user = held.enter_context(UserCode(self.stop))
        return Judge(accepted, self.rejected, user)

    def _remarked(self, found: Verdict, task: Task, outcome: Outcome) -> Verdict:
        """The verdict with what was asked about the case; where its details are not shown, the run's notes tell it."""
        remarks = overrides.remarks(task.case, outcome)
        if found.status in ("pass", "new"):
            changed = (f"changed since the baseline: {change}" for change in found.changes)
            self.remarks += (
                f"{found.case}: {remark}" for remark in (*remarks, *(changed if found.status == "pass" else ()))
            )
        return dataclasses.replace(found, notes=(*found.notes, *remarks))

    def _say(self, found: Verdict, total: int) -> None:
        self.verdicts[found.case] = found
        self.listen(Judged(found, len(self.verdicts), total))

    # --- after --------------------------------------------------------------------------------------------------------

    def _summary(
        self,
        cases: Sequence[Case],
        folder: Path,
        choice: device_slots.DeviceSelection,
        store: Store,
        *,
        interrupted: bool,
    ) -> RunSummary:
        left = [case for case in cases if case.name not in self.verdicts]
        if interrupted and left:
            self.notes.append(f"interrupted: {len(left)} of {len(cases)} cases did not run to their end")
        elif left:
            for case in left:
                self.verdicts[case.name] = verdict.skipped(case, "not run: an earlier case failed (--fail-fast)")
        names = (*(found.case for found in self.broken), *(case.name for case in cases))
        ordered = tuple(self.verdicts[name] for name in names if name in self.verdicts)
        absent = missing_cases.find(self.request, names, self._orphans(cases, store))
        self.notes += absent.notes
        code = Interrupted.exit_code if interrupted else verdict.exit_code(ordered, vanished=bool(absent.missing))
        state: State = "interrupted" if interrupted else "finished"
        return RunSummary(
            run=folder.name,
            folder=str(folder),
            device=choice.name,
            started=f"{self.started:%Y-%m-%dT%H:%M:%SZ}",
            seconds=time.perf_counter() - self.began,
            verdicts=ordered,
            notes=tuple(self.notes),
            state=state,
            exit_code=code,
            remarks=tuple(self.remarks),
            missing=absent.missing,
            unfinished=tuple(case.name for case in left),
        )

    def _orphans(self, cases: Sequence[Case], store: Store) -> list[str]:
        """Baselines whose case is gone; those of a broken job may have theirs."""
        here = {case.name for case in cases}
        jobs = {case.job for case in cases}
        broken = [found.job for found in self.broken]
        gone = [name for name in store.case_names() if name not in here and not missing_cases.is_of(name, broken)]
        if not self.request.takes_all:
            gone = [name for name in gone if missing_cases.is_of(name, jobs)]
            gone = self._gone_from(jobs, gone) if gone else []
        return gone

    def _gone_from(self, jobs: set[str], names: Sequence[str]) -> list[str]:
        planned = (self.machinery.planner or plan.make)(self.project, sorted(jobs))
        there = {case.name for case in planned.cases}
        return [name for name in names if name not in there]


class _TaskMaker:
    """Makes a case's task once its programs are there.

    Args:
        execution: the run.
        wanted: its cases, which number the launches.
        folder: the run's.
        accepted: the baselines.
    """

    def __init__(self, execution: Execution, wanted: Sequence[Case], folder: Path, accepted: Accepted) -> None:
        self._execution, self._folder, self._accepted = execution, folder, accepted
        launches = itertools.accumulate((case.launch_numbers for case in wanted), initial=1)
        self._first = {case.name: number for case, number in zip(wanted, launches, strict=False)}
        self._labels: set[tuple[str, str, str]] = set()
        project = execution.project
        self._recorded = functools.cache(partial(revision.recorded, project.baselines, project.runs))

    def __call__(self, case: Case, built: compilation.Built) -> Task:
        """The task of a case; its revision is on record from here on."""
        case, note = plan.of_program(case, built.program, self._recorded)
        remarks = self._execution.remarks
        if note and note not in remarks:
            remarks.append(note)
        label = (case.job, case.revision, case.source_digest)
        if label not in self._labels:
            revision.record(self._execution.project.runs, {label})
            self._labels.add(label)
        known = {}
        with contextlib.suppress(GpuregressError):  # a damaged baseline is said when the case is judged
            known = self._accepted.known(case)
        log, dumps = str(self._folder / run_folders.LAUNCH_LOG), str(self._folder / "dumps")
        return Task(case, built.program, log, self._first[case.name], dumps, known, references=built.references)


def _with_debugger(
    found: Verdict, task: Task, folder: Path, choice: device_slots.DeviceSelection, place: str
) -> Verdict:
    """The verdict on a kernel that failed on a GPU, with the command that puts a debugger in front of it."""
    from gpuregress.session import debugger_hint  # noqa: PLC0415 - for faults only

    slot = next(slot for slot in choice.slots if slot.label == place)
    hint = debugger_hint.command(task, folder, slot.environment)
    return dataclasses.replace(found, notes=(*found.notes, hint)) if hint else found


def _nothing_again(failed: Sequence[str]) -> str:
    if not failed:
        return "every case of the last run passed: there is nothing to run again"
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"{failed[0]}{more} did not pass in the last run, but nothing of what is asked for: nothing to run again"
