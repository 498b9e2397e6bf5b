"""Second step of a run: check one case of each job against its compiled kernels.

A wrong job is found before anything runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpuregress.foundation.errors import InfeasibleSource, JobError, JobErrors, UnknownNames
from gpuregress.foundation.records import Case, Program, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import rejections, verdict
from gpuregress.session.compilation import Built, CasePrograms, ProgramBuilder, sources_of
from gpuregress.session.planning import PlannedRun, error_lines, wrong_job_code
from gpuregress.session.run_context import RunContext


class CheckedRun(Record):
    """A plan whose jobs agree with their kernels.

    Attributes:
        plan: without the cases of jobs that contradict their kernels; those jobs are among its broken ones.
        programs: what was compiled for the check.
        rejected: case, buffer and digest of what was rejected → who, when and why.
    """

    plan: PlannedRun
    programs: tuple[Program, ...]
    rejected: Mapping[tuple[str, str, str], str]


def check_kernels(context: RunContext, planned: PlannedRun, builder: ProgramBuilder) -> CheckedRun:
    """Check the arguments of one case of each job and set of kernels.

    Raises:
        JobErrors: all contradictions, unless the request keeps going.
        Interrupted: the user asked to stop.
        StorageError: the list of rejected results is damaged.
    """
    samples, compiled = compiled_samples(
        planned.runnable, functools.partial(builder.compile, until=context.request.until)
    )
    remarks = (*_unset_constants(samples, compiled), *untyped(samples, compiled))
    broken = _contradicting_jobs(context, samples, compiled)
    checked = replace(
        planned,
        cases=tuple(case for case in planned.cases if case.path not in broken),
        runnable=tuple(case for case in planned.runnable if case.path not in broken),
        broken=(*planned.broken, *broken.values()),
        remarks=(*planned.remarks, *remarks),
    )
    programs: list[Program] = []
    for built in compiled.values():
        if isinstance(built, CasePrograms):
            programs += built.programs
    return CheckedRun(checked, tuple(programs), rejections.known(context.project.runs))


def _contradicting_jobs(
    context: RunContext, cases: Sequence[Case], compiled: Mapping[str, Built]
) -> dict[str, Verdict]:
    """Job file → the verdict on a job with an argument that does not fit its kernel."""
    try:
        check_arguments(cases, compiled)
    except JobErrors as contradictions:
        wrong = {str(error.path) for error in contradictions.errors}
        # Nothing is run where every job is wrong; a night reports them all the same.
        is_none_left = wrong >= {case.path for case in cases} and not context.request.is_unattended
        if is_none_left or not context.request.keeps_going:
            raise
        jobs = {case.path: case.job for case in cases}
        code = wrong_job_code(context.request)
        broken = {}
        for path in sorted(wrong):
            errors = [error for error in contradictions.errors if str(error.path) == path]
            broken[path] = verdict.broken(jobs[path], error_lines(context.project, errors), exit_code=code)
        return broken
    return {}


_ATTEMPTS = 8
"""Cases of one set of kernels that are compiled to find one that is feasible."""


def compiled_samples(
    cases: Iterable[Case], compile_cases: Callable[[Sequence[Case]], Mapping[str, Built]]
) -> tuple[tuple[Case, ...], dict[str, Built]]:
    """Compile one case of each job and of each set of kernels that it launches: enough to check the job.

    Another case stands in for one that its own source refuses, where that is skipped.

    Args:
        cases: of all jobs.
        compile_cases: cases → case's name → its programs, or why there are none; without an entry for a case that was
            not compiled in time, which is not checked.

    Returns:
        The samples, and their programs.
    """
    waiting = list(_by_kernels(cases).values())
    chosen: list[Case] = []
    compiled: dict[str, Built] = {}
    for attempt in range(_ATTEMPTS):
        compiled.update(compile_cases([alike[attempt] for alike in waiting]))
        refused = []
        for alike in waiting:
            case = alike[attempt]
            if case.name not in compiled:
                continue
            is_skipped = case.settings.infeasible is not None and isinstance(compiled[case.name], InfeasibleSource)
            if not is_skipped:
                chosen.append(case)
            elif len(alike) > attempt + 1:
                refused.append(alike)
        waiting = refused
        if not waiting:
            break
    return tuple(chosen), compiled


def _by_kernels(cases: Iterable[Case]) -> dict[tuple[object, ...], list[Case]]:
    """Job and kernels that are launched → the cases that launch them."""
    alike: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        launched = [
            (source.path, source.name, source.kernels, source.symbols, source.harness) for source in sources_of(case)
        ]
        alike.setdefault((case.path, case.job, *launched), []).append(case)
    return alike


def check_arguments(cases: Sequence[Case], compiled: Mapping[str, Built]) -> None:
    """Check every case against its programs.

    Raises:
        JobErrors: all contradictions, each once.
    """
    errors: list[JobError] = []
    for case in cases:
        errors += contradictions(case, compiled[case.name])
    if errors:
        raise JobErrors(tuple(errors))


def contradictions(case: Case, built: Built) -> tuple[JobError, ...]:
    """Errors of a case's kernel names and arguments."""
    if not isinstance(built, CasePrograms):
        if isinstance(built, UnknownNames):
            return plan.unknown_names(case, built.messages, built.source)
        return ()
    errors = plan.check_programs(case, built.programs)
    for buffer, program in built.references.items():
        errors += plan.check_reference(case, buffer, program)
    return errors


def untyped(cases: Sequence[Case], compiled: Mapping[str, Built]) -> tuple[str, ...]:
    """Remarks on structures that could not be compared with the compiler's, one for each job and source."""
    remarks: dict[str, None] = {}
    for case in cases:
        built = compiled[case.name]
        if isinstance(built, CasePrograms):
            for name in built.untyped:
                layouts = f"the structures in {name} were not compared: the compiler does not tell their layouts"
                remarks[f"{case.job}: {layouts}"] = None
    return tuple(remarks)


def _unset_constants(cases: Sequence[Case], compiled: Mapping[str, Built]) -> tuple[str, ...]:
    """Remarks on `__constant__` variables that no buffer fills, one for each job."""
    remarks: dict[str, None] = {}
    for case in cases:
        built = compiled[case.name]
        if isinstance(built, CasePrograms):
            remarks |= dict.fromkeys(plan.unset_constants(case, built.programs))
    return tuple(remarks)
