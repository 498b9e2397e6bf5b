"""Check of `agree`: its parameters, and whether any two cases can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpuregress.foundation.document.problems import Problems, suggestion
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.load import JobFile


def with_tuning(file: JobFile, names: Sequence[str]) -> JobFile:
    """Demand that results do not depend on the configuration, unless the job says otherwise or has a reference.

    Args:
        file: the job.
        names: the parameters that come from configurations of an autotuner.
    """
    job = file.job
    if not names or job.agree is not None or job.reference or job.expect is not None:
        return file
    return replace(file, model=msgspec.structs.replace(job, agree=list(names)))


def check(file: JobFile, cases: Sequence[Case], problems: Problems, tuned: Sequence[str] = ()) -> tuple[str, ...]:
    """Report unknown parameters, and an agreement that can never fail.

    Args:
        file: the job.
        cases: all that it has.
        problems: collects the errors.
        tuned: the parameters that come from configurations of an autotuner.

    Returns:
        Notes on buffers that are not compared, because their shape or dtype depends on the parameters.
    """
    job = file.job
    names = job.agree or []
    known = (*job.parameters, *tuned)
    if job.agree == [] and not tuned:
        problems.add(("agree",), "expected at least 1, got none")
    for position, name in enumerate(names):
        if name not in known and not file.is_broken("parameters"):
            problems.add(("agree", position), f"unknown parameter {name!r}{suggestion(name, known)}")
        elif name in names[:position]:
            problems.add(("agree", position), f"duplicate entry {name!r}")
    if not names or len(problems) or not cases:
        return ()
    if job.expect is not None:
        problems.add(("agree",), "can never fail: the job expects a fault, so no results are compared")
        return ()
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(case.agreement_group or (), []).append(case)
    listed = ", ".join(names)
    if max(map(len, groups.values())) < 2 and set(names) <= set(tuned):
        return ()  # one configuration is left
    if max(map(len, groups.values())) < 2:
        problems.add(("agree",), f"can never fail: no two cases differ in {listed} alone")
        return ()
    differing = [name for name in cases[0].dump if any(not _are_alike(alike, name) for alike in groups.values())]
    if len(differing) == len(cases[0].dump):
        problems.add(("agree",), f"can never fail: the shape or dtype of every dumped buffer depends on {listed}")
        return ()
    return tuple(
        f"{cases[0].job}: agree leaves out {name}: its shape or dtype depends on {listed}" for name in differing
    )


def _are_alike(cases: Sequence[Case], buffer: str) -> bool:
    return len({(case.buffers[buffer].dtype, case.buffers[buffer].shape) for case in cases}) == 1
