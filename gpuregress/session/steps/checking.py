"""Second step of a run: check one case of each job against its compiled kernels.

A wrong job is found before anything runs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Program, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import rejections, verdict
from gpuregress.session.compilation import kernel_arguments
from gpuregress.session.compilation.builder import Built, CasePrograms, ProgramBuilder
from gpuregress.session.run_context import RunContext
from gpuregress.session.steps.planning import PlannedRun, error_lines, wrong_job_code


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
    samples, compiled = kernel_arguments.compiled_samples(
        planned.runnable, functools.partial(builder.compile, until=context.request.until)
    )
    remarks = (*kernel_arguments.unset_constants(samples, compiled), *kernel_arguments.untyped(samples, compiled))
    broken = _contradicting_jobs(context, samples, compiled)
    checked = replace(
        planned,
        cases=tuple(case for case in planned.cases if case.path not in broken),
        runnable=tuple(case for case in planned.runnable if case.path not in broken),
        broken=(*planned.broken, *broken.values()),
        remarks=(*planned.remarks, *remarks),
    )
    programs = tuple(one for built in compiled.values() if isinstance(built, CasePrograms) for one in built.programs)
    return CheckedRun(checked, programs, rejections.known(context.project.runs))


def _contradicting_jobs(
    context: RunContext, cases: Sequence[Case], compiled: Mapping[str, Built]
) -> dict[str, Verdict]:
    """Job file → the verdict on a job with an argument that does not fit its kernel."""
    try:
        kernel_arguments.check(cases, compiled)
    except JobErrors as contradictions:
        if not context.request.keeps_going or _is_none_left(context, cases, contradictions):
            raise
        jobs, errors = {case.path: case.job for case in cases}, contradictions.errors
        lines = {
            path: error_lines(context.project, [error for error in errors if str(error.path) == path])
            for path in sorted({str(error.path) for error in errors})
        }
        code = wrong_job_code(context.request)
        return {path: verdict.broken(jobs[path], of_job, exit_code=code) for path, of_job in lines.items()}
    return {}


def _is_none_left(context: RunContext, cases: Sequence[Case], contradictions: JobErrors) -> bool:
    """Tell whether every job of a run that is no night's is wrong: then nothing is run."""
    wrong = {str(error.path) for error in contradictions.errors}
    return context.request.kind != "nightly" and wrong >= {case.path for case in cases}
