"""Last step of a run: the summary of its verdicts, with the cases that are missing and the exit code."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.errors import Interrupted, NothingToDo
from gpuregress.foundation.records import Case, RunSummary, State, Verdict
from gpuregress.foundation.wording import first_names
from gpuregress.jobs import plan
from gpuregress.judge import parameter_spaces, timing_comparison, verdict
from gpuregress.session import missing_cases
from gpuregress.session.checking import CheckedRun
from gpuregress.session.execution import ExecutedRun
from gpuregress.session.planning import PlannedRun
from gpuregress.session.run_context import RunContext
from gpuregress.store.baselines import BaselineStore

_MOST_NAMED = 10


def summarize(context: RunContext, checked: CheckedRun, executed: ExecutedRun, folder: Path) -> RunSummary:
    """Summarize a run: verdicts in the order of the plan, broken jobs first.

    Args:
        checked: the cases.
        executed: their verdicts; a case without one was interrupted, or left out by `--fail-fast`.
    """
    planned = checked.plan
    unfinished = [case for case in planned.cases if case.name not in executed.verdicts]
    verdicts = dict(executed.verdicts)
    notes = [*planned.notes, *context.pool.notes]
    is_cut = bool(executed.cut and unfinished)
    if is_cut:
        again = "nightly --resume" if context.request.kind == "nightly" else "run --rerun-failed"
        notes.append(
            f"{executed.cut}: {len(unfinished)} of {len(planned.cases)} cases are unfinished: "
            f"{first_names([case.name for case in unfinished], _MOST_NAMED)}; `gpuregress {again}` runs them"
        )
    elif executed.interrupted and unfinished:
        notes.append(f"interrupted: {len(unfinished)} of {len(planned.cases)} cases did not run to their end")
    elif executed.no_turn:
        late = f"the deadline of {context.request.deadline or 'this run'} came first"
        notes.append(f"{late}: {len(executed.no_turn)} of {len(planned.cases)} cases were not started, or were stopped")
        for case in unfinished:
            verdicts[case.name] = verdict.skipped(case, f"not started: {late}")
    else:
        for case in unfinished:
            verdicts[case.name] = verdict.skipped(case, "not run: an earlier case failed (--fail-fast)")
    broken = [reached.case for reached in planned.broken]
    names = [*broken, *(case.name for case in planned.cases)]
    ordered = tuple(verdicts[name] for name in names if name in verdicts)
    infeasible = {name for name, reached in verdicts.items() if reached.infeasible}
    orphans = _orphans(context, planned) if context.request.is_first else []
    absent = missing_cases.find(context.request, (*planned.cases, *planned.others), broken, orphans, infeasible)
    vanished = bool(absent.missing or executed.no_turn or executed.held_back)
    exit_code = verdict.exit_code(ordered, vanished=vanished, has_lost_device=context.request.lost)
    # A shard is one of several: where it has nothing to run and another one has, nothing is wrong.
    if planned.shard is not None and exit_code == NothingToDo.exit_code:
        is_nothing_changed = not planned.cases and not planned.others
        if is_nothing_changed or any(not context.devices.lack(case) for case in planned.others):
            exit_code = 0
    if executed.interrupted:
        exit_code = Interrupted.exit_code
    if is_cut:
        exit_code = verdict.EXIT_CODES["error"]
    remarks = dict.fromkeys((*planned.remarks, *executed.remarks))
    options = context.request.reported
    if planned.overrides:
        options["set"] = list(planned.overrides)
    measured = timing_comparison.false_alarms_of(ordered)
    if measured is not None and measured.cases:
        remarks[timing_comparison.text(measured)] = None
    state: State = "finished"
    if executed.interrupted:
        state = "interrupted"
    elif is_cut:
        state = "cut short"
    return RunSummary(
        run=folder.name,
        folder=str(folder),
        device=context.devices.name,
        started=context.started_text,
        seconds=time.perf_counter() - context.start_s,
        verdicts=ordered,
        notes=(*notes, *executed.notes, *_infeasible_jobs(planned.cases, verdicts), *absent.notes),
        state=state,
        exit_code=exit_code,
        cut=f"when {executed.cut}" if is_cut else "",
        remarks=tuple(remarks),
        missing=absent.missing,
        unfinished=tuple(case.name for case in unfinished),
        spaces=parameter_spaces.summarize(ordered),
        false_alarms=measured,
        options=options,
        shard=planned.shard,
    )


def _infeasible_jobs(cases: Sequence[Case], verdicts: Mapping[str, Verdict]) -> list[str]:
    """A note on each job of which every case was skipped as infeasible."""
    feasible = {case.job for case in cases if case.name not in verdicts or not verdicts[case.name].infeasible}
    count = Counter(case.job for case in cases if case.job not in feasible)
    return [f"{job}: all of its {number} cases are infeasible: nothing of it was run" for job, number in count.items()]


def _orphans(context: RunContext, planned: PlannedRun) -> list[str]:
    """The baselines whose case is gone; a broken job may have theirs."""
    cases = (*planned.cases, *planned.others)
    names, jobs = {case.name for case in cases}, {case.job for case in cases}
    broken = {reached.job for reached in planned.broken}
    accepted = BaselineStore.of(context.project).case_names()
    gone = [name for name in accepted if name not in names and not missing_cases.is_of(name, broken)]
    # A run of some jobs says nothing of the baselines of the others.
    if context.request.takes_all:
        return gone
    gone = [name for name in gone if missing_cases.is_of(name, jobs)]
    if not gone:
        return []
    # Only a part of these jobs may have been selected: what else they have is not gone.
    # Their files may have changed since they were planned.
    there = {case.name for case in plan.make(context.project, sorted(jobs), keep_going=True).cases}
    return [name for name in gone if name not in there]
