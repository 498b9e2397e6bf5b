"""Third step of a run: cases go to the workers as they are compiled, and are judged as they come back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuregress import verdict
from gpuregress.baselines import BaselineStore
from gpuregress.errors import GpuregressError, InfeasibleSource, Interrupted, JobErrors
from gpuregress.judging.accepted import AcceptedDumps
from gpuregress.launch_log import LaunchLog
from gpuregress.records import Case, Outcome, Task, Verdict
from gpuregress.report import accuracy_text, variant_lines
from gpuregress.session import measurement_remarks
from gpuregress.session.agreement_groups import AgreementGroups
from gpuregress.session.compilation.builder import ProgramBuilder
from gpuregress.session.compilation.task_stream import TaskStream
from gpuregress.session.events import Judged, Started
from gpuregress.session.run_context import RunContext
from gpuregress.session.runs import log_header, run_folders
from gpuregress.session.runs.recording import Recording
from gpuregress.session.steps.checking import CheckedRun
from gpuregress.session.steps.planning import error_lines, error_location
from gpuregress.session.steps.tasks import TaskFactory
from gpuregress.workers.pool import CaseNotCompiled, CaseStarted

if TYPE_CHECKING:
    from gpuregress.judging.judge import Judge


@dataclass(frozen=True, slots=True)
class ExecutedRun:
    """The verdicts that a run reached.

    Attributes:
        verdicts: case, or broken job → its verdict, in the order in which they were reached.
        remarks: what is worth knowing of cases that passed.
        interrupted: the user asked to stop.
    """

    verdicts: Mapping[str, Verdict]
    remarks: tuple[str, ...]
    interrupted: bool


def execute_cases(
    context: RunContext, checked: CheckedRun, builder: ProgramBuilder, recording: Recording
) -> ExecutedRun:
    """Run and judge the cases; those that cannot run get their verdicts first.

    Args:
        context: the run's.
        checked: the cases.
        builder: compiles the programs that are missing.
        recording: keeps each verdict as it is reached.
    """
    running = _Execution(context, checked, recording)
    try:
        with contextlib.closing(LaunchLog(recording.folder / run_folders.LAUNCH_LOG)) as log:
            log.write_header(log_header.facts(checked.plan.runnable, context.devices, checked.programs))
        running.settle_unrunnable()
        running.run_tasks(builder)
    except Interrupted:
        running.release_groups()
        return running.result(interrupted=True)
    return running.result(interrupted=False)


class _Execution:
    """The state of this step: the verdicts so far, and the slot of each case that started."""

    def __init__(self, context: RunContext, checked: CheckedRun, recording: Recording) -> None:
        self._context, self._checked, self._recording = context, checked, recording
        self._accepted = AcceptedDumps(BaselineStore(context.project.baselines), context.devices.kind)
        self._verdicts: dict[str, Verdict] = {}
        self._remarks: dict[str, None] = {}
        self._slots: dict[str, str] = {}
        self._has_failed = False
        self._judge: Judge | None = None
        self._cases = {case.name: case for case in checked.plan.cases}
        self._groups = AgreementGroups(checked.plan.cases, self._agreement)

    def result(self, *, interrupted: bool) -> ExecutedRun:
        return ExecutedRun(self._verdicts, tuple(self._remarks), interrupted)

    def settle_unrunnable(self) -> None:
        """Report broken jobs, and skip the cases of other devices."""
        for broken in self._checked.plan.broken:
            self._add(broken)
        for case in self._checked.plan.cases:
            if self._context.devices.kind not in case.devices:
                self._add(verdict.skipped(case, f"its job runs on {', '.join(case.devices)} only"))
            elif case.settings.refused is not None:
                self._add(self._infeasible(case, case.settings.refused))

    def run_tasks(self, builder: ProgramBuilder) -> None:
        cases, project = self._checked.plan.runnable, self._context.project
        factory = TaskFactory(project, self._recording.folder, cases, self._accepted, self._remark)
        stream = TaskStream(builder, cases, factory)
        if self._is_stopped():
            return
        with contextlib.ExitStack() as held:
            for event in self._context.pool.run((), stream):
                judge = self._judge = self._judge or self._load_judge(held)
                if isinstance(event, CaseStarted):
                    self._slots[event.case] = event.slot
                    self._context.listen(Started(event.case, event.slot))
                elif isinstance(event, CaseNotCompiled):
                    self._add(self._unbuilt(event.case, event.error))
                else:
                    task = stream.tasks.pop(event.case)
                    self._add(self._judged(judge, task, event), task)
                if self._is_stopped():
                    break
            for settled in self._groups.close(judged=True):
                self._keep(*settled)

    def release_groups(self) -> None:
        """Report the cases whose group is not whole, without a comparison: the user asked to stop."""
        text = "interrupted: not compared with the cases that it must agree with"
        for reached, task in self._groups.close(judged=False):
            self._keep(dataclasses.replace(reached, notes=(*reached.notes, text)), task)

    def _agreement(self, tasks: Sequence[Task], reached: Sequence[Verdict], planned: int) -> Sequence[Verdict]:
        from gpuregress.judging import agreement  # noqa: PLC0415 - few jobs need it

        pairs = zip(tasks, reached, strict=True)
        members = [agreement.Member(task.case, one.outcome, one) for task, one in pairs if one.outcome is not None]
        return agreement.verdicts(members, planned, self._judge.user if self._judge is not None else None)

    def _is_stopped(self) -> bool:
        return self._context.request.fail_fast and self._has_failed

    def _load_judge(self, held: contextlib.ExitStack) -> Judge:
        """Load the judge, and all that the end of the run needs, while the first case runs."""
        from gpuregress.judging.judge import Judge  # noqa: PLC0415 - see above
        from gpuregress.judging.user_code import UserCodeProcess  # noqa: PLC0415 - as above
        from gpuregress.session.runs import history_entry, results  # noqa: PLC0415, F401 - as above

        return Judge(self._accepted, self._checked.rejected, held.enter_context(UserCodeProcess(self._context.stop)))

    def _judged(self, judge: Judge, task: Task, outcome: Outcome) -> Verdict:
        """Judge an outcome; a fault on a GPU gets the command of a debugger."""
        judged = judge.verdict(task.case, task.programs, outcome)
        remarks = (
            *measurement_remarks.remarks(task.case, outcome),
            *accuracy_text.remarks(task.case, judged),
            *variant_lines.lines(judged),
        )
        if judged.status in ("pass", "new"):  # their details are not shown
            changes = judged.changes if judged.status == "pass" else ()
            for remark in (*remarks, *(f"changed since the baseline: {change}" for change in changes)):
                self._remark(f"{judged.case}: {remark}")
        if self._context.devices.kind == "cuda" and judged.status in ("fault", "timeout"):
            from gpuregress.session import debugger_hint  # noqa: PLC0415 - for faults only

            slot = self._context.devices.slot(self._slots[task.case.name])
            hint = debugger_hint.command(task, self._recording.folder, slot.environment)
            remarks += (hint,) if hint else ()
        return dataclasses.replace(judged, notes=(*judged.notes, *remarks))

    def _unbuilt(self, case: Case, error: GpuregressError) -> Verdict:
        """The verdict on a case that cannot run; others of its job may."""
        if case.settings.infeasible and isinstance(error, InfeasibleSource):
            return self._infeasible(case, str(error))
        if not isinstance(error, JobErrors):
            return verdict.failed(case, error)
        code = verdict.EXIT_CODES["error"] if self._context.request.keeps_going else error.exit_code
        lines, location = error_lines(self._context.project, error.errors), error_location(error.errors)
        return verdict.broken(case.job, lines, case, exit_code=code, location=location)

    def _infeasible(self, case: Case, reason: str) -> Verdict:
        try:
            return verdict.infeasible(case, reason, self._accepted.baseline(case))
        except GpuregressError as error:  # its baseline is damaged
            return verdict.failed(case, error)

    def _add(self, reached: Verdict, task: Task | None = None) -> None:
        """Report a verdict; one that waits for the cases with which it must agree is reported with them."""
        for settled in self._groups.settle(reached, task):
            self._keep(*settled)

    def _keep(self, reached: Verdict, task: Task | None) -> None:
        if reached.status not in ("pass", "skip") and reached.case in self._cases:
            from gpuregress.session import source_locations  # noqa: PLC0415 - for failures only

            reached = source_locations.located(reached, self._cases[reached.case])
        self._verdicts[reached.case] = reached
        self._has_failed |= reached.exit_code != 0
        self._context.listen(Judged(reached, len(self._verdicts)))
        self._recording.add(reached, task)

    def _remark(self, text: str) -> None:
        self._remarks[text] = None
