"""Mutation testing of the jobs of a command line, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from gpuregress.foundation.errors import GpuregressError, Interrupted, JobErrors
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.lab.mutating import mutate
from gpuregress.lab.mutating.mutate import MutateRequest, MutationReport
from gpuregress.session.events import Listener
from gpuregress.session.steps.planning import error_lines
from gpuregress.store.project import Project


class RefusedJob(Record):
    """A job whose mutants could not be tried.

    Attributes:
        job: its name.
        why: it could not.
        exit_code: of that error.
    """

    job: str
    why: str
    exit_code: int


def each(
    project: Project,
    selectors: Sequence[str],
    request: MutateRequest,
    progress: Callable[[], AbstractContextManager[Listener]],
) -> Iterator[MutationReport | RefusedJob]:
    """Try the mutants of each selected job; an error of one leaves the others alone, ^C ends all.

    Args:
        project: whose.
        selectors: jobs, cases of them, or globs.
        request: for each job.
        progress: shows the events of a job until its results are told.

    Raises:
        GpuregressError: the selectors mean nothing, or there is one job alone, and it cannot be tried.
        Interrupted: ^C before the first mutant of a job.
    """
    planned = plan.make(project, selectors, keep_going=True)
    jobs: dict[str, list[Case]] = {}
    for case in planned.cases:
        jobs.setdefault(case.job, []).append(case)
    is_only = len(jobs) + len(planned.broken) == 1
    for wrong in planned.broken:
        if is_only:
            raise JobErrors(wrong.errors)
        yield RefusedJob(wrong.name, "\n".join(error_lines(project, wrong.errors)), JobErrors.exit_code)
    for job, cases in jobs.items():
        try:
            with progress() as listen:
                done = mutate.mutate(project, cases, request, listen=listen)
        except Interrupted:
            raise
        except GpuregressError as error:
            if is_only:
                raise
            yield RefusedJob(job, str(error), error.exit_code)
            continue
        yield done
        if done.interrupted:
            return
