"""First step of a run: the cases that are meant, with the overrides of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.execution.workers import sanitize
from gpuregress.foundation.errors import (
    DumpError,
    JobError,
    JobErrors,
    NothingChanged,
    NothingToDo,
    RunLocked,
    StorageError,
    UsageError,
)
from gpuregress.foundation.records import Case, ShardPart, Source, SourceLocation, Verdict, checks_named
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedules import FORWARD
from gpuregress.jobs import plan
from gpuregress.jobs.spec.overrides import ParameterOverride, of_texts, texts_of
from gpuregress.judge import verdict
from gpuregress.session import changed_jobs, missing_cases, shards
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import RunRequest
from gpuregress.session.runs import journal, results
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project


class PlannedRun(Record):
    """The cases of a run.

    Attributes:
        cases: in the order of the plan.
        runnable: those whose job runs on the selected devices, without those that no device can launch.
        broken: verdicts on wrong jobs, where the others run nevertheless.
        owed: cases that did not pass in the run which `--rerun-failed` goes on with, planned here or not.
        notes: what must be reported to the user.
        remarks: what is worth knowing.
        others: planned cases that belong to another device's run of the night, or to another shard.
        overrides: the values of `--set`, as `n=4096`: of the request, or of the run whose failures are run again.
        shard: the part of the cases that it has; None: all.
    """

    cases: tuple[Case, ...]
    runnable: tuple[Case, ...]
    broken: tuple[Verdict, ...] = ()
    owed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    others: tuple[Case, ...] = ()
    overrides: tuple[str, ...] = ()
    shard: ShardPart | None = None

    @property
    def total(self) -> int:
        """The number of verdicts that the run will reach."""
        return len(self.cases) + len(self.broken)


def plan_cases(context: RunContext) -> PlannedRun:
    """Plan the cases of the request.

    Raises:
        JobErrors: all jobs are wrong, and somebody watches the run.
        NothingToDo: no case is left.
        UsageError: a selector or an override that means nothing.
        DeviceError: compute-sanitizer is asked for and missing.
        RunLocked: the run whose failures are to be run again is still going on.
        DumpError: a dump of an earlier run that every case takes was changed since, and somebody watches the run.
    """
    if context.request.shard is not None and context.request.rerun_failed:
        raise UsageError("--shard and --rerun-failed exclude each other: each host has a last run of its own")
    warnings = check_overrides(context.request, context.devices)
    overrides = _parameters(context)
    planned = _plan(context, overrides)
    broken = []
    if context.request.is_first:
        code = wrong_job_code(context.request)
        for job in planned.broken:
            lines, location = error_lines(context.project, job.errors), error_location(job.errors)
            broken.append(verdict.broken(job.name, lines, exit_code=code, location=location))
    chosen = planned.cases
    remarks = list(warnings)
    if context.request.changed is not None:
        try:
            selected = changed_jobs.select(context.project, chosen, context.request.changed)
        except NothingChanged as error:
            # The files of a broken job are not known: it counts as changed. And a shard always leaves a run to merge.
            if not planned.broken and context.request.shard is None:
                raise
            chosen = ()
            if not planned.broken:
                remarks.append(str(error))
        else:
            chosen = selected.cases
            remarks.append(selected.remark)
    others: tuple[Case, ...] = ()
    only = context.request.only
    if only is not None:
        chosen = tuple(case for case in planned.cases if case.name in only)
        others = tuple(case for case in planned.cases if case.name not in only)
    shard, notes = None, []
    if context.request.shard is not None:
        part = shards.select(context.project, chosen, *context.request.shard)
        shard, chosen, others = part.part, part.cases, part.others
        if chosen or others:
            notes.append(part.note)
    run = PlannedRun(
        cases=chosen,
        runnable=(),
        broken=tuple(broken),
        notes=tuple(notes),
        remarks=(*remarks, *planned.notes),
        others=others,
        overrides=tuple(texts_of(overrides)),
        shard=shard,
    )
    if context.request.rerun_failed:
        run = _rerun(context, run)
    reported = {wrong.job for wrong in run.broken}
    wrong_jobs = [job for job in planned.broken if job.name in reported or not context.request.is_first]
    # A shard leaves a run also where it has nothing but wrong jobs, for those that it would leave are not missing.
    if wrong_jobs and not run.cases and not context.request.is_unattended and shard is None:
        if len(wrong_jobs) == len(planned.broken):
            _plan(context, overrides, keep_going=False)  # raises a bug of ours as what it is, with its traceback
        raise JobErrors(tuple(error for job in wrong_jobs for error in job.errors))
    ignored = dropped_settings(run.cases, context.request, context.devices)
    run = replace(run, remarks=(*run.remarks, *ignored))
    cases = apply_overrides(run.cases, context.request, context.devices)
    runnable = tuple(case for case in cases if not context.devices.lack(case) and case.settings.refused is None)
    return _verify_inputs(context, replace(run, cases=cases, runnable=runnable))


def _verify_inputs(context: RunContext, planned: PlannedRun) -> PlannedRun:
    """Leave out the cases whose inputs are damaged dumps of earlier runs."""
    runs = context.project.earlier_runs or context.project.runs
    damaged: dict[str, Verdict] = {}
    errors: list[DumpError | StorageError] = []
    for case in planned.runnable:
        try:
            results.verify_inputs(case, runs)
        except (DumpError, StorageError) as error:
            errors.append(error)
            damaged[case.name] = verdict.broken(case.job, [str(error)], case)
    if errors and len(errors) == len(planned.cases) and not context.request.is_unattended:
        raise errors[0]
    return replace(
        planned,
        cases=tuple(case for case in planned.cases if case.name not in damaged),
        runnable=tuple(case for case in planned.runnable if case.name not in damaged),
        broken=(*planned.broken, *damaged.values()),
    )


def _parameters(context: RunContext) -> tuple[ParameterOverride, ...]:
    """The parameters of the request; where failures are run again without any, those of the run that had them.

    Where nothing of that run failed, only cases of earlier runs are owed, which had no such values.
    """
    request = context.request
    if not request.rerun_failed or request.parameters:
        return request.parameters
    last = journal.read(run_names.find(context.project.runs))
    if not last.start.overrides or not _failed(last):
        return ()
    return of_texts(last.start.overrides)


def _failed(last: journal.Journal) -> tuple[str, ...]:
    """The cases, and wrong jobs, that a run had and that did not pass in it."""
    had = {*last.start.cases, *last.judged}
    return tuple(name for name in last.not_passed if name in had)


def _plan(context: RunContext, parameters: tuple[ParameterOverride, ...], *, keep_going: bool = True) -> plan.Plan:
    request = context.request
    if request.planned is not None:
        return request.planned
    try:
        return plan.make(
            context.project,
            request.selectors,
            plan.CaseFilter(request.name_glob, request.tags),
            plan.CaseOverrides(
                repeat=request.repeat,
                timeout=request.timeout,
                parameters=parameters,
                partners=not request.costs,  # a profile compares nothing
            ),
            keep_going=keep_going,
        )
    except NothingToDo:
        if not missing_cases.are_expected(context.project, request):
            raise
        return plan.Plan(())


def _rerun(context: RunContext, planned: PlannedRun) -> PlannedRun:
    """Keep the planned cases that did not pass in the last run; the others that did not pass stay owed."""
    last = journal.read(run_names.find(context.project.runs))
    if last.state == "running":
        raise RunLocked(f"run {last.start.run} is still going on ({last.process}); wait until it ends")
    owed = last.not_passed
    groups = {case.agreement_group for case in planned.cases if case.name in owed} - {None}
    again = []
    for case in planned.cases:
        is_owed = case.name in owed or case.job in owed  # a broken job is owed by its own name
        if is_owed or (case.agreement_group in groups and case.name in last.start.cases):
            again.append(case)
    if not again and not any(job.case in owed for job in planned.broken):
        raise NothingToDo(_nothing_to_rerun(owed))
    request = context.request
    if planned.overrides and not request.parameters:
        # The values of the last run may be wrong for jobs that it did not have.
        had = {name.partition("/")[0] for name in (*last.start.cases, *owed)}
        planned = replace(planned, broken=tuple(wrong for wrong in planned.broken if wrong.job in had))
    is_part = bool(request.selectors or request.name_glob or request.tags or request.changed is not None)
    if is_part or planned.overrides:  # what is not planned may nevertheless be a case
        return replace(planned, cases=tuple(again), owed=owed)
    names = {case.name for case in again}
    jobs = {case.job for case in again} | {wrong.job for wrong in planned.broken}
    owed_here, notes = [], []
    for name in owed:
        if name in names:
            owed_here.append(name)
        elif name not in jobs:
            notes.append(f"{name} did not pass in run {last.start.run}, and is not a case any more")
    return replace(planned, cases=tuple(again), owed=tuple(owed_here), notes=tuple(notes))


def _nothing_to_rerun(owed: Sequence[str]) -> str:
    if not owed:
        return "every case of the last run passed: there is nothing to run again"
    return f"{first_names(owed, 1)} did not pass in the last run, but none of the selected cases: nothing to run again"


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
    remarks = []
    checks = checks_named(request.checks, "--check")
    if devices.kind == "cuda":
        if request.coverage:
            remarks.append(_NO_COVERAGE)
        if request.schedules:
            remarks.append(_NO_SCHEDULE)
        if checks:
            remarks.append(f"--check {','.join(checks)} is for the cpu device: a GPU has --sanitize")
    return (*remarks, *_check_sanitizer(request, devices))


def _check_sanitizer(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    if request.sanitize is None:
        return ()
    if request.sanitize not in sanitize.TOOLS:
        raise UsageError(f"no tool is called {request.sanitize!r}: say {', '.join(sanitize.TOOLS)}")
    if devices.kind != "cuda":
        return (f"--sanitize {request.sanitize} is for GPUs: the cpu device checks every access itself",)
    if not devices.is_remote:
        sanitize.find()
    return ()


def dropped_settings(cases: Sequence[Case], request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    """Tell what a run leaves out: dynamic checks on a GPU, the time of code that is watched, programs in a cluster.

    Args:
        cases: as they were planned.
        devices: those that it runs on.
    """
    checked = dict.fromkeys(case.job for case in cases if case.settings.instruments.checks)
    timed = sum(case.settings.timing is not None for case in cases)
    remarks = []
    if checked and devices.kind == "cuda":
        remarks.append(f"checks: {{device: …}} of {', '.join(checked)}: for the cpu device only; a GPU has --sanitize")
    programs = dict.fromkeys(case.job for case in cases if case.program is not None)
    options = _not_for_programs(request)
    if programs and devices.is_remote:
        remedy = "run them on this machine, with --cluster none"
        remarks.append(f"{', '.join(programs)}: skipped: hosts of a cluster have no files of whole programs; {remedy}")
    elif programs and options:
        remarks.append(f"{', '.join(options)}: not for {', '.join(programs)}: a whole program is run as it is")
    schedule = FORWARD
    if request.schedules and devices.kind == "cpu":
        schedule = request.schedules[0]
    if timed and not request.costs and not _is_timed(request, schedule):
        options = []
        if request.checks:
            options.append("--check")
        if request.coverage:
            options.append("--coverage")
        why = " and ".join(options) or "--schedule"
        remarks.append(f"{timed} case{'s' if timed > 1 else ''} not timed: {why} runs other code")
    return tuple(remarks)


def _not_for_programs(request: RunRequest) -> list[str]:
    """The options of a request that change or watch launches, which a whole program does not have."""
    given = {
        "--poison": request.poison is not None,
        "--coverage": request.coverage,
        "--dump-every-launch": request.dump_every_launch,
    }
    return [option for option, is_given in given.items() if is_given]


def _is_timed(request: RunRequest, schedule: str) -> bool:
    """Whether the code that a run executes is the usual one, where a schedule makes the dumps."""
    return schedule == FORWARD and not (request.coverage or request.costs or request.checks)


def apply_overrides(cases: Sequence[Case], request: RunRequest, devices: DeviceSelection) -> tuple[Case, ...]:
    """Apply the overrides, and compile for the GPU's own architecture where the job names none."""
    sanitize = request.sanitize if devices.kind == "cuda" else None
    if devices.kind == "cuda":
        # The hardware decides the order of blocks and warps.
        request = replace(request, schedules=())
    applied = []
    for planned in cases:
        case = _with_request(planned, request, sanitize, devices.kind)
        if devices.arch and case.settings.arch is None:
            case = _compiled_for(case, devices.arch)
        applied.append(case)
    return tuple(applied)


def _with_request(case: Case, request: RunRequest, sanitize: str | None, kind: str) -> Case:
    """Return a case with the settings that a request asks for; the run's own device is no twin."""
    if case.program is not None:
        checks = checks_named((*case.settings.instruments.checks, *request.checks), "--check")
        instruments = replace(case.settings.instruments, checks=checks)
        return case.with_settings(instruments=instruments, schedules=request.schedules or case.settings.schedules)
    if case.settings.twins is not None:
        case = case.with_settings(twins=tuple(twin for twin in case.settings.twins if twin != kind))
    case = case.with_settings(schedules=request.schedules or case.settings.schedules)
    settings, schedule = case.settings, case.settings.main_schedule
    counts_costs = (request.costs or bool(settings.cost)) and schedule == FORWARD
    checks = ()
    if kind == "cpu":
        checks = checks_named((*settings.instruments.checks, *request.checks), "--check")
        if counts_costs:
            case = replace(case, limits=replace(case.limits, timeout=_COUNTED_SLOWER * case.limits.timeout))
    instruments = replace(settings.instruments, checks=checks, coverage=request.coverage, costs=counts_costs)
    return case.with_settings(
        poison=request.poison,
        sanitize=sanitize,
        dump_every_launch=True if request.dump_every_launch else None,
        timing=settings.timing if _is_timed(request, schedule) else None,
        instruments=instruments,
    )


def _compiled_for(case: Case, arch: str) -> Case:
    """Return a case all of whose sources are compiled for an architecture: its own, its references', its variants'."""

    def compiled(source: Source) -> Source:
        return replace(source, arch=arch)

    first, *others = map(compiled, case.sources)
    kernels = {}
    for buffer, kernel in case.reference_kernels.items():
        kernels[buffer] = replace(kernel, source=compiled(kernel.source))
    variants = case.variants
    if variants is not None:
        sources = {}
        for name, combination in variants.sources.items():
            sources[name] = tuple(map(compiled, combination))
        variants = replace(variants, sources=sources)
    return replace(case, source=first, other_sources=tuple(others), reference_kernels=kernels, variants=variants)
