"""Mutation testing of several jobs at once, which share the compilers and the workers and take turns."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.execution.workers.compiler_pool import Crew
from gpuregress.execution.workers.pool import CaseNotCompiled
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Outcome, Program, Source, Task
from gpuregress.gpu.records import replace
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.lab.mutating import mutants, trials
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating.mutate import Campaign, MutateRequest, MutationReport
from gpuregress.lab.mutating.results import ResultCache
from gpuregress.lab.mutating.subject import Subject
from gpuregress.lab.mutating.trials import MutantTrials, opened_workers
from gpuregress.session.events import Advanced, Listener

SAMPLE = 10
"""Mutants of each job that are tried in equal turns; from then on the job that took the least time has its turn."""
_MARK = "~"
"""Between the number of a job and a name of its trials."""


@dataclasses.dataclass(slots=True)
class JobTurns:
    """A job whose mutants are tried with those of others.

    Attributes:
        subject: unchanged.
        total: the number of its mutants.
        campaign: of these mutants.
        trials: of the campaign, None before its first turn.
        spent_s: seconds of the workers.
        error: why it ended.
    """

    subject: Subject
    total: int
    campaign: Campaign
    trials: MutantTrials | None = None
    spent_s: float = 0.0
    error: GpuregressError | None = None


def of_subject(subject: Subject, seed: int, listen: Listener, limit: int | None = None) -> JobTurns:
    """Find the mutants of a subject, ordered so that the first ones tell most.

    Args:
        subject: unchanged.
        seed: of the order.
        listen: receives the events.
        limit: the most that are tried; None: all.

    Raises:
        UsageError: there is no source to change.
    """
    found, texts = subjects.mutants(subject)
    return JobTurns(subject, len(found), Campaign(subject, mutants.spread(found, seed)[:limit], texts, listen))


def run(jobs: Sequence[JobTurns], until: float, scratch: Path, listen: Listener, *, fresh: bool = False) -> bool:
    """Try the mutants of jobs in turns; an error ends the turns of its job.

    Args:
        jobs: the results go to their campaigns.
        until: when no further variation begins, seconds of time.monotonic; results that are known are still taken.
        scratch: a folder.
        listen: receives the number of mutants that were tried.
        fresh: take no results from the cache.

    Returns:
        Whether ^C ended it.
    """
    with StopSignal() as stop, opened_workers(scratch, stop) as workers:
        turns = Turns(jobs, workers.crew, scratch, workers.user, MutateRequest(until=until, fresh=fresh))
        try:
            for event in workers.pool.run((), turns):
                if isinstance(event, Outcome):
                    turns.settle(event)
                    listen(Advanced(sum(len(job.campaign.results) for job in jobs), sum(job.total for job in jobs), ""))
        except Interrupted:
            return True
    return False


def report(job: JobTurns, seed: int, *, interrupted: bool) -> MutationReport:
    """Sum up the results of a job."""
    job.campaign.interrupted = interrupted
    return job.campaign.report(job.total, seed, job.spent_s, ())


class Turns:
    """The trials of several jobs as one feed of the workers.

    Args:
        jobs: their campaigns are not begun.
        crew: of compilers.
        scratch: a folder.
        user: the process for the users' functions.
        request: with the time at which no further variation begins.
    """

    def __init__(
        self, jobs: Sequence[JobTurns], crew: Crew, scratch: Path, user: UserCodeProcess, request: MutateRequest
    ) -> None:
        self.jobs = jobs
        self._crew = crew
        self._scratch = scratch
        self._user = user
        self._request = request
        self._views = [_CrewView(crew, number) for number in range(len(jobs))]
        self._turn = -1
        self._begun = 0
        self._next_ready = 0

    # --- the feed of the workers --------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """A descriptor that becomes readable when a program is compiled."""
        return self._crew.fileno()

    @property
    def deadline(self) -> float | None:
        """The latest time at which a program is compiled."""
        return self._crew.deadline

    @property
    def is_over(self) -> bool:
        """Whether every job has tried all of its mutants, or has no time for more."""
        return not any(map(self._is_going_on, range(len(self.jobs))))

    @property
    def is_ready(self) -> bool:
        """Whether a task is ready, or all is over."""
        self._advance_all()
        return any(job.trials.has_task for job in self.jobs if job.trials is not None) or self.is_over

    def take(self, room: int) -> Iterator[Task | CaseNotCompiled]:
        """The tasks that are ready, at most `room`: one of each job, then of the next."""
        self._advance_all()
        count = len(self.jobs)
        for number in [(self._next_ready + step) % count for step in range(count)]:
            job = self.jobs[number]
            if room <= 0:
                return
            if job.trials is None or job.error is not None or not job.trials.has_task:
                continue
            with self._blamed(job):
                for task in job.trials.take(1):
                    assert isinstance(task, Task)
                    room -= 1
                    self._next_ready = number + 1
                    yield replace(task, case=replace(task.case, name=f"{number}{_MARK}{task.case.name}"))

    def settle(self, outcome: Outcome) -> None:
        """Give an outcome to the job that it is of."""
        prefix, _, name = outcome.case.partition(_MARK)
        job = self.jobs[int(prefix)]
        job.spent_s += outcome.seconds
        if job.trials is not None and job.error is None:
            with self._blamed(job):
                job.trials.settle(replace(outcome, case=name))

    # --- turns --------------------------------------------------------------------------------------------------------

    def _is_going_on(self, number: int) -> bool:
        job = self.jobs[number]
        if job.error is not None:
            return False
        return job.trials is None or not job.trials.is_over

    def _advance_all(self) -> None:
        """Take what was compiled, then let variations begin, one of a job and then one of another."""
        for key, result in self._crew.collect():
            prefix, _, own = key.partition(_MARK)
            self._views[int(prefix)].done.append((own, result))
        for number in range(len(self.jobs)):
            self._advance(number)
        waits = set[int]()
        while self._has_room():
            going_on = [n for n in range(len(self.jobs)) if n not in waits and self._is_going_on(n)]
            if not going_on:
                return
            number = min(going_on, key=self._precedence)
            job = self.jobs[number]
            if job.trials is None:
                self._begin(number)
            self._turn = number
            self._begun = job.trials.begun if job.trials is not None else 0
            self._advance(number)
            self._turn = -1
            if job.trials is None or job.trials.begun == self._begun:
                waits.add(number)  # it has nothing that may begin now

    def _precedence(self, number: int) -> tuple[int, float, int]:
        job = self.jobs[number]
        begun = job.trials.begun if job.trials is not None else 0
        return min(begun, SAMPLE), job.spent_s, begun

    def _begin(self, number: int) -> None:
        """Begin the campaign of a job at its first turn."""
        job = self.jobs[number]
        folder = self._scratch / str(number)
        with self._blamed(job):
            folder.mkdir(parents=True)
            of_job = MutantTrials(
                subject=job.subject,
                crew=self._views[number],
                scratch=folder,
                user=self._user,
                until=self._request.until,
                room=lambda: self._may_begin(number),
            )
            job.trials = job.campaign.begin(of_job, ResultCache(job.subject), self._request)

    def _may_begin(self, number: int) -> bool:
        job = self.jobs[number]
        return self._turn == number and job.trials is not None and job.trials.begun == self._begun

    def _has_room(self) -> bool:
        compiling = sum(job.trials.compiling for job in self.jobs if job.trials is not None and job.error is None)
        return compiling < trials.AHEAD * self._crew.count

    def _advance(self, number: int) -> None:
        job = self.jobs[number]
        if job.trials is not None and job.error is None:
            with self._blamed(job):
                job.trials.advance()

    @staticmethod
    @contextlib.contextmanager
    def _blamed(job: JobTurns) -> Iterator[None]:
        """Keep the error of a job; the others go on."""
        try:
            yield
        except Interrupted:
            raise
        except GpuregressError as error:
            job.error = error


class _CrewView:
    """The crew of compilers as one of several jobs sees it."""

    def __init__(self, crew: Crew, number: int) -> None:
        self._crew, self._number = crew, number
        self.count = crew.count
        self.done: list[tuple[str, Program | GpuregressError]] = []

    @property
    def under_way(self) -> int:
        """The number of sources that are being compiled, of all jobs."""
        return self._crew.under_way

    @property
    def deadline(self) -> float | None:
        """The latest time at which a program is compiled."""
        return self._crew.deadline

    def fileno(self) -> int:
        """A descriptor that becomes readable when a program of any job is compiled."""
        return self._crew.fileno()

    def submit(self, key: str, source: Source) -> None:
        """Start a compilation."""
        self._crew.submit(f"{self._number}{_MARK}{key}", source)

    def dismiss(self) -> None:
        """End the processes that have nothing to do."""
        self._crew.dismiss()

    def wait(self, until: float | None = None) -> None:
        """Wait until a program of any job is compiled."""
        self._crew.wait(until)

    def collect(self) -> list[tuple[str, Program | GpuregressError]]:
        """The results of this job since the last call."""
        done, self.done = self.done, []
        return done
