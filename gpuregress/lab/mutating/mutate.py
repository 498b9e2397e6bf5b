"""Mutation testing: the share of small mistakes in a kernel that its job notices.

Nothing of the user's source is written to: changed files are in a scratch folder, and so are the programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, Interrupted, JobErrors
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.lab import experiment
from gpuregress.lab.mutating import mutants, turns
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.campaign import Campaign, MutateRequest, MutationReport
from gpuregress.session.events import Listener, ignore
from gpuregress.session.planning import error_lines
from gpuregress.store.project import Project


def mutate(
    project: Project,
    cases: Sequence[Case],
    request: MutateRequest,
    *,
    listen: Listener = ignore,
) -> MutationReport:
    """Try the mutants of a job's kernels on the CPU device.

    Args:
        project: whose; nothing is left in its folders.
        cases: of one job.
        request: how many mutants.
        listen: receives the events.

    Raises:
        UsageError: the unchanged kernel does not pass, or one that does nothing does.
        Interrupted: ^C before the first mutant.
        GpuregressError: the errors of `session.run`.
    """
    start = time.monotonic()
    experiment.require_launches(cases, "mutate")
    with storage.scratch() as scratch:
        subject = subjects.prepare(project, cases, scratch, listen)
        all_mutants, texts = subjects.mutants(subject)
        chosen = mutants.sample(all_mutants, request.limit, request.seed)
        campaign = Campaign(subject, chosen, texts)
        tolerance: tuple[str, ...] = ()
        with StopSignal():  # ^C between the two loses no results
            turns.run([campaign], request, scratch, listen)
            if campaign.error is not None:
                raise campaign.error
            if not campaign.interrupted:
                tolerance = campaign.tolerance(listen)
    return campaign.report(len(all_mutants), request.seed, time.monotonic() - start, tolerance)


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


def mutate_each(
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
        progress: shows the events of a job until its results are reported.

    Raises:
        GpuregressError: the selectors mean nothing, or there is one job alone, and it cannot be tried.
        Interrupted: ^C before the first mutant of a job.
    """
    planned = plan.make(project, selectors, keep_going=True)
    jobs = experiment.by_job(planned.cases)
    is_only = len(jobs) + len(planned.broken) == 1
    for wrong in planned.broken:
        if is_only:
            raise JobErrors(wrong.errors)
        yield RefusedJob(wrong.name, "\n".join(error_lines(project, wrong.errors)), JobErrors.exit_code)
    for job, cases in jobs.items():
        try:
            with progress() as listen:
                report = mutate(project, cases, request, listen=listen)
        except Interrupted:
            raise
        except GpuregressError as error:
            if is_only:
                raise
            yield RefusedJob(job, str(error), error.exit_code)
            continue
        yield report
        if report.interrupted:
            return
