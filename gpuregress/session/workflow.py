"""Sequence of steps of a run: plan, check against the kernels, execute and judge, summarize, keep.

Each step takes the context and the record of the step before it, and returns a frozen record. Nothing is printed.
"""

from __future__ import annotations

import functools

from gpuregress import __version__
from gpuregress.foundation import git
from gpuregress.foundation.background import Background
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import RunSummary, checks_named
from gpuregress.gpu.records import replace
from gpuregress.judge.nights import LeftOut
from gpuregress.session import earlier_nights
from gpuregress.session.checking import check_kernels
from gpuregress.session.compilation import open_builder
from gpuregress.session.events import Planned
from gpuregress.session.execution import execute_cases
from gpuregress.session.planning import PlannedRun, plan_cases
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import RunRequest
from gpuregress.session.runs import disk_space, journal, results
from gpuregress.session.runs.recording import EarlierPart, Recording, earlier_part
from gpuregress.session.summary import summarize


@float_environment.default()
def execute(context: RunContext) -> RunSummary:
    """Run all steps; see `session.run`.

    A run whose kernels cannot be checked leaves no folder: until then nothing was run.
    """
    # git runs while the jobs are planned, and workers start while kernels are compiled.
    checkout = Background(functools.partial(git.work_tree_state, context.project.root), "git")
    planned = plan_cases(context)
    context.pool.warm(min(len(planned.runnable), len(context.devices.slots)))
    part = earlier_part(context.request.resumes, planned.cases, checkout.result().commit)
    start = _journal_start(context, planned, checkout.result())
    notes = disk_space.require(context.project, [case for case in planned.runnable if case.name not in part.kept])
    with open_builder(context) as builder, _recording(context, start, part) as recording:
        recording.notes += notes
        with recording.discarded_on_error():
            checked = check_kernels(context, planned, builder)
        devices = context.devices
        context.listen(Planned(checked.plan.total, recording.folder.name, devices.name, devices.why))
        executed = execute_cases(context, checked, builder, recording, part)
        summary = summarize(context, checked, executed, recording.folder)
        summary = replace(
            summary,
            commit=recording.start.commit,
            dirty=recording.start.dirty,
            started=recording.start.started,
            seconds=summary.seconds + sum(reached.seconds for reached in part.kept.values()),
        )
        if part.note:
            summary = replace(summary, notes=(part.note, *summary.notes))
        left_out = LeftOut(executed.no_turn, executed.held_back, context.request.lacking)
        summary = earlier_nights.with_changes(context, summary, planned.cases, left_out, executed.unknown)
        return recording.finish(summary)


def _recording(context: RunContext, start: journal.JournalStart, part: EarlierPart) -> Recording:
    """Begin a run, or continue one that was cut short."""
    if part.journal is None:
        return Recording.begin(context.project, start, context.started)
    compilers = results.compilers(part.journal.entries).split(", ")
    began, folder = part.journal.start, part.journal.path.parent
    start = replace(start, run=began.run, started=began.started, night=began.night, owed=began.owed)
    return Recording.resume(context.project, folder, start, compilers)


def _judging_options(request: RunRequest) -> tuple[str, ...]:
    """The options that decide how strictly the cases are judged, as `--check races`."""
    values = {
        "--repeat": str(request.repeat or ""),
        "--poison": request.poison or "",
        "--sanitize": request.sanitize or "",
        "--check": ",".join(checks_named(request.checks, "--check")),
        "--schedules": ",".join(request.schedules),
    }
    return tuple(f"{option} {value}" for option, value in values.items() if value)


def _journal_start(context: RunContext, planned: PlannedRun, checkout: git.WorkTreeState) -> journal.JournalStart:
    return journal.JournalStart(
        version=journal.VERSION,
        run="",
        started=context.started_text,
        device=context.devices.name,
        kind=context.request.kind,
        gpuregress=__version__,
        process=journal.process(),
        cases=tuple(case.name for case in planned.cases),
        owed=planned.owed,
        commit=checkout.commit,
        branch=checkout.branch,
        dirty=checkout.is_dirty,
        night=context.request.night,
        overrides=planned.overrides,
        shard=planned.shard,
        options=_judging_options(context.request),
    )
