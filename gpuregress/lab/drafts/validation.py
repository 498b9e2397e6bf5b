"""Validation of drafted jobs before they are written, by what `gpuregress check` does.

A draft is a guess where the host code is silent. A job that `check` refuses is worse than none: it stops the run of the
project, and stands in the way of a better draft. So each draft is planned and held against its compiled kernel first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation.errors import (
    CompileError,
    CompilerStopped,
    GpuregressError,
    JobError,
    JobErrors,
    MissingCompiler,
)
from gpuregress.foundation.records import Case
from gpuregress.jobs.plan import case_planning
from gpuregress.jobs.plan.job_plan import CaseOverrides
from gpuregress.jobs.spec import load
from gpuregress.session import checking, compilation
from gpuregress.session.compilation import Built, CasePrograms
from gpuregress.store.project import Project


def refusals(project: Project, drafts: Mapping[Path, str]) -> dict[Path, str]:
    """Find the drafts that `check` would refuse.

    Args:
        project: that gets the jobs.
        drafts: job file, which need not exist → its text.

    Returns:
        Job file → the reason, in a line.

    Raises:
        Interrupted: the user asked to stop.
    """
    refused: dict[Path, str] = {}
    cases: dict[Path, tuple[Case, ...]] = {}
    for path, text in drafts.items():
        try:
            cases[path] = case_planning.of_file(load.load_text(text, path), project, CaseOverrides()).cases
        except JobErrors as wrong:
            refused[path] = _line(wrong.errors[0])
    # One sample of each draft: its cases differ in sizes alone, and its name may be that of another draft's case.
    samples = {path: of_job[0] for path, of_job in cases.items() if of_job}
    compiled = compilation.compile_cases(list(samples.values()))
    for path, case in samples.items():
        reason = _contradiction(case, compiled[case.name])
        if reason:
            refused[path] = reason
    return refused


def _contradiction(case: Case, built: Built) -> str:
    """Say why a draft does not fit its compiled kernel; "" where it does, or where there is no compiler here."""
    for error in checking.contradictions(case, built):
        return _line(error)
    if isinstance(built, CasePrograms) or not is_wrong_source(built):
        return ""
    return f"it does not compile: {str(built).partition(chr(10))[0]}"


def is_wrong_source(error: GpuregressError) -> bool:
    """Tell whether an error of a compilation is the source's own; else the source may be right."""
    return isinstance(error, CompileError) and not isinstance(error, (CompilerStopped, MissingCompiler))


def _line(error: JobError) -> str:
    return f"{error.key}: {error.message}".partition("\n")[0].removeprefix(": ")
