"""Check of kernel names and arguments against the compiled kernels' own signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from gpuregress.foundation.errors import InfeasibleSource, JobError, JobErrors, UnknownNames
from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.session.compilation.builder import Built, CasePrograms, sources_of

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
        asked = [alike[attempt] for alike in waiting]
        compiled.update(compile_cases(asked))
        waiting = [alike for alike in waiting if alike[attempt].name in compiled]
        tried = [alike[attempt] for alike in waiting]
        refused = [_is_infeasible(case, compiled[case.name]) for case in tried]
        chosen += [case for case, is_refused in zip(tried, refused, strict=True) if not is_refused]
        left = [alike for alike, is_refused in zip(waiting, refused, strict=True) if is_refused]
        waiting = [alike for alike in left if len(alike) > attempt + 1]
        if not waiting:
            break
    return tuple(chosen), compiled


def _is_infeasible(case: Case, built: Built) -> bool:
    return case.settings.infeasible is not None and isinstance(built, InfeasibleSource)


def _by_kernels(cases: Iterable[Case]) -> dict[tuple[object, ...], list[Case]]:
    """Job and kernels that are launched → the cases that launch them."""
    alike: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        launched = tuple(
            (source.path, source.name, source.kernels, source.symbols, source.harness) for source in sources_of(case)
        )
        alike.setdefault((case.path, case.job, *launched), []).append(case)
    return alike


def check(cases: Sequence[Case], compiled: Mapping[str, Built]) -> None:
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
        return plan.unknown_names(case, built.messages, built.source) if isinstance(built, UnknownNames) else ()
    errors = plan.check_programs(case, built.programs)
    for buffer, program in built.references.items():
        errors += plan.check_reference(case, buffer, program)
    return errors


def untyped(cases: Sequence[Case], compiled: Mapping[str, Built]) -> tuple[str, ...]:
    """Remarks on structures that could not be compared with the compiler's, one for each job and source."""
    programs = ((case, compiled[case.name]) for case in cases)
    return tuple(
        dict.fromkeys(
            f"{case.job}: the structures in {name} were not compared: the compiler does not tell their layouts"
            for case, built in programs
            if isinstance(built, CasePrograms)
            for name in built.untyped
        )
    )


def unset_constants(cases: Sequence[Case], compiled: Mapping[str, Built]) -> tuple[str, ...]:
    """Remarks on `__constant__` variables that no buffer fills, one for each job."""
    programs = ((case, compiled[case.name]) for case in cases)
    return tuple(
        dict.fromkeys(
            remark
            for case, built in programs
            if isinstance(built, CasePrograms)
            for remark in plan.unset_constants(case, built.programs)
        )
    )
