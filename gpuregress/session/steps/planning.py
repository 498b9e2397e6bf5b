"""First step of a run: the cases that are meant, with the overrides of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.errors import DumpError, JobError, JobErrors, NothingToDo, RunLocked, StorageError
from gpuregress.foundation.records import Case, SourceLocation, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import verdict
from gpuregress.session import missing_cases, overrides
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import RunRequest
from gpuregress.session.runs import dump_verification, journal, run_folders
from gpuregress.store.project import Project


class PlannedRun(Record):
    """The cases of a run.

    Attributes:
        cases: in the order of the plan.
        runnable: those whose job runs on the selected devices, without those that no device can launch.
        broken: verdicts on wrong jobs, where the others run nevertheless.
        owed: cases that did not pass in the run which `--rerun-failed` goes on with, planned here or not.
        notes: what the user must be told.
        remarks: what is worth knowing.
        others: planned cases that belong to another device's run of the night, or that the night did not plan.
    """

    cases: tuple[Case, ...]
    runnable: tuple[Case, ...]
    broken: tuple[Verdict, ...] = ()
    owed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    others: tuple[Case, ...] = ()

    @property
    def total(self) -> int:
        """The number of verdicts that the run will reach."""
        return len(self.cases) + len(self.broken)


def plan_cases(context: RunContext) -> PlannedRun:
    """Plan the cases of the request.

    Raises:
        JobErrors: a job is wrong, unless the request keeps going.
        NothingToDo: no case is left.
        UsageError: a selector or an override that means nothing.
        DeviceError: compute-sanitizer is asked for and missing.
        RunLocked: the run whose failures are to be run again is still going on.
        DumpError: a dump of an earlier run that a case takes was changed since, unless the request keeps going.
    """
    warnings = overrides.check(context.request, context.devices)
    planned = _plan(context)
    if planned.broken and not planned.cases and context.request.kind != "nightly":
        raise JobErrors(tuple(error for job in planned.broken for error in job.errors))
    code = wrong_job_code(context.request)
    broken = tuple(
        verdict.broken(
            job.name,
            error_lines(context.project, job.errors),
            exit_code=code,
            location=error_location(job.errors),
        )
        for job in (planned.broken if context.request.is_first else ())
    )
    only = context.request.only
    chosen = tuple(case for case in planned.cases if only is None or case.name in only)
    others = tuple(case for case in planned.cases if only is not None and case.name not in only)
    run = PlannedRun(chosen, (), broken, remarks=(*warnings, *planned.notes), others=others)
    if context.request.rerun_failed:
        run = _rerun(context, run)
    ignored = overrides.dropped(run.cases, context.request, context.devices)
    run = replace(run, remarks=(*run.remarks, *ignored))
    cases = overrides.apply(run.cases, context.request, context.devices)
    runnable = tuple(case for case in cases if not context.devices.lack(case) and case.settings.refused is None)
    return _verify_inputs(context, replace(run, cases=cases, runnable=runnable))


def _verify_inputs(context: RunContext, planned: PlannedRun) -> PlannedRun:
    """Leave out the cases whose inputs are damaged dumps of earlier runs."""
    runs = context.project.earlier_runs or context.project.runs
    damaged: dict[str, Verdict] = {}
    for case in planned.runnable:
        try:
            dump_verification.verify_inputs(case, runs)
        except (DumpError, StorageError) as error:
            if not context.request.keeps_going:
                raise
            damaged[case.name] = verdict.broken(case.job, [str(error)], case)
    return replace(
        planned,
        cases=tuple(case for case in planned.cases if case.name not in damaged),
        runnable=tuple(case for case in planned.runnable if case.name not in damaged),
        broken=(*planned.broken, *damaged.values()),
    )


def _plan(context: RunContext) -> plan.Plan:
    request = context.request
    try:
        return (context.machinery.planner or plan.make)(
            context.project,
            request.selectors,
            plan.CaseFilter(request.name_glob, request.tags),
            plan.CaseOverrides(request.repeat, request.timeout),
            keep_going=request.keeps_going,
        )
    except NothingToDo:
        if not missing_cases.are_expected(context.project, request):
            raise
        return plan.Plan(())


def _rerun(context: RunContext, planned: PlannedRun) -> PlannedRun:
    """Keep the planned cases that did not pass in the last run; the others that did not pass stay owed."""
    last = journal.read(run_folders.find(context.project.runs))
    if last.state == "running":
        raise RunLocked(f"run {last.start.run} is still going on ({last.process}); wait until it ends")
    owed = last.not_passed
    groups = {case.agreement_group for case in planned.cases if case.name in owed} - {None}
    again = tuple(
        case
        for case in planned.cases
        if case.name in owed
        or case.job in owed  # a broken job
        or (case.agreement_group in groups and case.name in last.start.cases)
    )
    if not again:
        raise NothingToDo(_nothing_to_rerun(owed))
    request = context.request
    if request.selectors or request.name_glob or request.tags:
        return replace(planned, cases=again, owed=owed)
    names, jobs = {case.name for case in again}, {case.job for case in again}
    gone = [name for name in owed if name not in names | jobs]
    notes = tuple(f"{name} did not pass in run {last.start.run}, and is not a case any more" for name in gone)
    return replace(planned, cases=again, owed=tuple(name for name in owed if name in names), notes=notes)


def _nothing_to_rerun(owed: Sequence[str]) -> str:
    if not owed:
        return "every case of the last run passed: there is nothing to run again"
    more = f" and {len(owed) - 1} more" if len(owed) > 1 else ""
    return f"{owed[0]}{more} did not pass in the last run, but nothing of what is asked for: nothing to run again"


def wrong_job_code(request: RunRequest) -> int:
    """The exit code of a wrong job whose neighbours run; a night has one code for all that could not run."""
    return verdict.EXIT_CODES["error"] if request.kind == "nightly" else JobErrors.exit_code


def error_lines(project: Project, errors: Sequence[JobError]) -> list[str]:
    """One line for each error, its file relative to the project's root."""
    return [str(error).removeprefix(f"{project.root}/") for error in errors]


def error_location(errors: Sequence[JobError]) -> SourceLocation:
    """The line of the first of a job's errors."""
    return SourceLocation(str(errors[0].path), errors[0].line or 0)
