"""First step of a run: the cases that are meant, with the overrides of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.execution.cuda import sanitizer
from gpuregress.foundation.errors import (
    DumpError,
    JobError,
    JobErrors,
    NothingToDo,
    RunLocked,
    StorageError,
    UsageError,
)
from gpuregress.foundation.escapes import first_names
from gpuregress.foundation.records import Case, SourceLocation, Verdict, checks_named
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedules import FORWARD
from gpuregress.jobs import plan
from gpuregress.judge import verdict
from gpuregress.session import missing_cases
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import RunRequest
from gpuregress.session.runs import journal, results, run_folders
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
    warnings = check_overrides(context.request, context.devices)
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
    ignored = dropped_settings(run.cases, context.request, context.devices)
    run = replace(run, remarks=(*run.remarks, *ignored))
    cases = apply_overrides(run.cases, context.request, context.devices)
    runnable = tuple(case for case in cases if not context.devices.lack(case) and case.settings.refused is None)
    return _verify_inputs(context, replace(run, cases=cases, runnable=runnable))


def _verify_inputs(context: RunContext, planned: PlannedRun) -> PlannedRun:
    """Leave out the cases whose inputs are damaged dumps of earlier runs."""
    runs = context.project.earlier_runs or context.project.runs
    damaged: dict[str, Verdict] = {}
    for case in planned.runnable:
        try:
            results.verify_inputs(case, runs)
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
    if request.planned is not None:
        return request.planned
    try:
        return plan.make(
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
    return (
        f"{first_names(owed, 1)} did not pass in the last run, but nothing of what is asked for: nothing to run again"
    )


def wrong_job_code(request: RunRequest) -> int:
    """The exit code of a wrong job whose neighbours run; a night has one code for all that could not run."""
    return verdict.EXIT_CODES["error"] if request.kind == "nightly" else JobErrors.exit_code


def error_lines(project: Project, errors: Sequence[JobError]) -> list[str]:
    """One line for each error, its file relative to the project's root."""
    return [str(error).removeprefix(f"{project.root}/") for error in errors]


def error_location(errors: Sequence[JobError]) -> SourceLocation:
    """The line of the first of a job's errors."""
    return SourceLocation(str(errors[0].path), errors[0].line or 0)


_COUNTED_SLOWER = 4
"""Times as long that a case may take whose costs are counted."""
_NO_SCHEDULE = "--schedule and --schedules are for the cpu device: on a GPU the hardware decides the order"
_NO_COVERAGE = "--coverage is for the cpu device, which counts what a kernel executes: say --device cpu"


def check_overrides(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    """Check the overrides of a request before the run begins.

    Returns:
        Remarks on overrides that have no effect.

    Raises:
        UsageError: no such tool, or no such dynamic check.
        DeviceError: compute-sanitizer is asked for and missing.
    """
    is_gpu = devices.kind == "cuda"
    remarks = ((_NO_COVERAGE, request.coverage), (_NO_SCHEDULE, bool(request.schedules)))
    return (
        *(text for text, asked in remarks if asked and is_gpu),
        *_check_dynamic(request, devices),
        *_check_sanitizer(request, devices),
    )


def _check_dynamic(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    wanted = checks_named(request.checks, "--check")
    if wanted and devices.kind == "cuda":
        return (f"--check {','.join(wanted)} is for the cpu device: a GPU has --sanitize",)
    return ()


def _check_sanitizer(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    if request.sanitize is None:
        return ()

    if request.sanitize not in sanitizer.TOOLS:
        raise UsageError(f"no tool is called {request.sanitize!r}: say {', '.join(sanitizer.TOOLS)}")
    if devices.kind != "cuda":
        return (f"--sanitize {request.sanitize} is for GPUs: the cpu device checks every access itself",)
    if not devices.is_remote:
        sanitizer.find()
    return ()


def dropped_settings(cases: Sequence[Case], request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    """Tell which settings of jobs a run leaves out: dynamic checks on a GPU, and the time of code that is watched.

    Args:
        cases: as they were planned.
        request: the run's.
        devices: those that it runs on.
    """
    checked = dict.fromkeys(case.job for case in cases if case.settings.instruments.checks)
    timed = sum(case.settings.timing is not None for case in cases)
    remarks = []
    if checked and devices.kind == "cuda":
        remarks.append(f"checks: {{device: …}} of {', '.join(checked)}: for the cpu device only; a GPU has --sanitize")
    schedule = next(iter(request.schedules), FORWARD) if devices.kind == "cpu" else FORWARD
    if timed and not request.costs and not _is_timed(request, schedule):
        asked = {"--check": request.checks, "--coverage": request.coverage}
        names = [name for name, value in asked.items() if value] or ["--schedule"]
        remarks.append(f"{timed} case{'s' if timed > 1 else ''} not timed: {' and '.join(names)} runs other code")
    return tuple(remarks)


def _is_timed(request: RunRequest, schedule: str) -> bool:
    """Whether the code that a run executes is the usual one, where a schedule makes the dumps."""
    return schedule == FORWARD and not (request.coverage or request.costs or request.checks)


def apply_overrides(cases: Sequence[Case], request: RunRequest, devices: DeviceSelection) -> tuple[Case, ...]:
    """Apply the overrides, and compile for the GPU's own architecture where the job names none."""
    sanitize = request.sanitize if devices.kind == "cuda" else None
    if devices.kind == "cuda":
        request = replace(request, schedules=())
    applied = []
    for planned in cases:
        case = _with_request(_with_other_twins(planned, devices.kind), request, sanitize, devices.kind)
        needs_arch = bool(devices.arch) and case.settings.arch is None
        applied.append(_compiled_for(case, devices.arch) if needs_arch else case)
    return tuple(applied)


def _with_other_twins(case: Case, kind: str) -> Case:
    """Return a case whose twins are devices other than the run's own."""
    if case.settings.twins is None:
        return case
    return case.with_settings(twins=tuple(twin for twin in case.settings.twins if twin != kind))


def _with_request(case: Case, request: RunRequest, sanitize: str | None, kind: str) -> Case:
    """Return a case with the settings that a request asks for."""
    case = case.with_settings(schedules=request.schedules or case.settings.schedules)
    settings, schedule = case.settings, case.settings.main_schedule
    checks = checks_named((*settings.instruments.checks, *request.checks), "--check") if kind == "cpu" else ()
    counts_costs = (request.costs or bool(settings.cost)) and schedule == FORWARD
    instruments = replace(settings.instruments, checks=checks, coverage=request.coverage, costs=counts_costs)
    if counts_costs and kind == "cpu":
        case = replace(case, limits=replace(case.limits, timeout=_COUNTED_SLOWER * case.limits.timeout))
    return case.with_settings(
        poison=request.poison,
        sanitize=sanitize,
        dump_every_launch=True if request.dump_every_launch else None,
        timing=settings.timing if _is_timed(request, schedule) else None,
        instruments=instruments,
    )


def _compiled_for(case: Case, arch: str) -> Case:
    """Return a case all of whose sources are compiled for an architecture: its own, its references', its variants'."""
    first, *others = (replace(source, arch=arch) for source in case.sources)
    kernels = {
        buffer: replace(kernel, source=replace(kernel.source, arch=arch))
        for buffer, kernel in case.reference_kernels.items()
    }
    variants = case.variants
    if variants is not None:
        sources = {
            name: tuple(replace(source, arch=arch) for source in combination)
            for name, combination in variants.sources.items()
        }
        variants = replace(variants, sources=sources)
    return replace(case, source=first, other_sources=tuple(others), reference_kernels=kernels, variants=variants)
