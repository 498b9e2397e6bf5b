"""Second step of a run: check one case of each job against its kernels.

First the names are looked for in the text, then the kernels are compiled. A wrong job is found before anything runs. It
is an error of its own, and the others run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpuregress.foundation.errors import InfeasibleSource, JobError, JobErrors, UnknownNames
from gpuregress.foundation.records import Case, Program, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import rejections, verdict
from gpuregress.session.compilation import Built, CasePrograms, ProgramBuilder, source_key, sources_of
from gpuregress.session.planning import PlannedRun, error_lines, error_location, wrong_job_code
from gpuregress.session.run_context import RunContext
from gpuregress.toolchain import programs


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
    """Check the names and arguments of one case of each job and set of kernels.

    Raises:
        JobErrors: all contradictions, where every job is wrong and somebody watches the run.
        Interrupted: the user asked to stop.
        StorageError: the list of rejected results is damaged.
    """
    errors = _unwritten_names(planned.runnable)
    misnamed = {str(error.path) for error in errors}
    # A name that is not in the text is reported without waiting for the compiler.
    named = [case for case in planned.runnable if case.path not in misnamed]
    samples, compiled = compiled_samples(named, functools.partial(builder.compile, until=context.request.until))
    remarks = (*_unset_constants(samples, compiled), *untyped(samples, compiled))
    for case in samples:
        errors += contradictions(case, compiled[case.name])
    broken = _contradicting_jobs(context, planned, errors)
    checked = replace(
        planned,
        cases=tuple(case for case in planned.cases if case.path not in broken),
        runnable=tuple(case for case in planned.runnable if case.path not in broken),
        broken=(*planned.broken, *broken.values()),
        remarks=(*planned.remarks, *remarks),
    )
    compiled_programs: list[Program] = []
    for built in compiled.values():
        if isinstance(built, CasePrograms):
            compiled_programs += built.programs
    return CheckedRun(checked, tuple(compiled_programs), rejections.known(context.project.runs))


def _unwritten_names(cases: Iterable[Case]) -> list[JobError]:
    """Errors of kernels and variables that the texts of their sources do not hold, in one case of each job."""
    errors: list[JobError] = []
    known: dict[str, dict[str, str]] = {}
    for case, *_ in _by_kernels(cases).values():
        for source in (*case.sources, *(kernel.source for kernel in case.reference_kernels.values())):
            key = source_key(source)
            if key not in known:
                known[key] = programs.unwritten_names(source)
            errors += plan.unknown_names(case, known[key], source.path)
    return errors


def _contradicting_jobs(context: RunContext, planned: PlannedRun, errors: Sequence[JobError]) -> dict[str, Verdict]:
    """Job file → the verdict on a job with a name or an argument that does not fit its kernels.

    Raises:
        JobErrors: every job is wrong, and nothing is run; a night reports them all the same.
    """
    jobs = {case.path: case.job for case in planned.runnable}
    by_path: dict[str, list[JobError]] = {}
    for error in dict.fromkeys(errors):
        by_path.setdefault(str(error.path), []).append(error)
    is_none_left = by_path.keys() >= jobs.keys() and not planned.broken  # whose errors are reported by the run
    if errors and is_none_left and not context.request.is_unattended:
        raise JobErrors(tuple(errors))
    code = wrong_job_code(context.request)
    broken = {}
    for path, of_job in sorted(by_path.items()):
        lines, location = error_lines(context.project, of_job), error_location(of_job)
        broken[path] = verdict.broken(jobs[path], lines, exit_code=code, location=location)
    return broken


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
                layouts = f"the structures in {name} were not compared: the compiler does not report their layouts"
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
