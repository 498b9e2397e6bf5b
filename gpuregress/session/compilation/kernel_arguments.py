"""Check of kernel names and arguments against the compiled kernels' own signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuregress import plan
from gpuregress.errors import JobError, JobErrors, UnknownNames
from gpuregress.records import Case
from gpuregress.session.compilation.builder import Built, CasePrograms, sources_of


def samples(cases: Iterable[Case]) -> tuple[Case, ...]:
    """One case of each job and of each set of kernels that it launches: enough to check the job."""
    chosen: dict[tuple[object, ...], Case] = {}
    for case in cases:
        launched = tuple((source.path, source.kernels, source.symbols) for source in sources_of(case))
        chosen.setdefault((case.path, case.job, *launched), case)
    return tuple(chosen.values())


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
        return plan.unknown_names(case, built.messages) if isinstance(built, UnknownNames) else ()
    errors = plan.check_program(case, built.program)
    for buffer, program in built.references.items():
        errors += plan.check_reference(case, buffer, program)
    return errors


def unset_constants(cases: Sequence[Case], compiled: Mapping[str, Built]) -> tuple[str, ...]:
    """Remarks on `__constant__` variables that no buffer fills, one for each job."""
    programs = ((case, compiled[case.name]) for case in cases)
    return tuple(
        dict.fromkeys(
            remark
            for case, built in programs
            if isinstance(built, CasePrograms)
            for remark in plan.unset_constants(case, built.program)
        )
    )
