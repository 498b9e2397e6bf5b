"""Mutation testing of several jobs at once, which share the compilers and the workers and take turns."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.execution.workers.compiler_pool import CompilerPool
from gpuregress.execution.workers.pool import CaseNotCompiled, WorkerPool
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Outcome, Program, Source, Task
from gpuregress.gpu.records import replace
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.lab.mutating import subject as subjects
from gpuregress.lab.mutating import trials
from gpuregress.lab.mutating.mutate import Campaign, MutateRequest, MutationReport
from gpuregress.lab.mutating.results import ResultCache
from gpuregress.lab.mutating.subject import Subject
from gpuregress.lab.mutating.trials import MutantTrials
from gpuregress.lab.mutation import mutants
from gpuregress.session import device_slots
from gpuregress.session.compiler_crew import Crew, process_count
from gpuregress.session.events import Advanced, Listener
from gpuregress.toolchain import cache

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
    slots = device_slots.select("cpu").slots
    with (
        StopSignal() as stop,
        cache.used_folder(scratch / "cache"),
        UserCodeProcess(stop) as user,
        CompilerPool(process_count(), stop) as crew,
        WorkerPool(slots, scratch, stop=stop, tries_slow_code=False, keeps_faulted=True) as pool,
    ):
        turns = Turns(jobs, crew, scratch, user, MutateRequest(until=until, fresh=fresh))
        try:
            for event in pool.run((), turns):
                if isinstance(event, Outcome):
                    turns.settle(event)
                    listen(Advanced(sum(len(one.campaign.results) for one in jobs), sum(one.total for one in jobs), ""))
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
        self.jobs, self._crew, self._scratch, self._user, self._request = jobs, crew, scratch, user, request
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
        return any(one.trials.has_task for one in self.jobs if one.trials is not None) or self.is_over

    def take(self, room: int) -> Iterator[Task | CaseNotCompiled]:
        """The tasks that are ready, at most `room`: one of each job, then of the next."""
        self._advance_all()
        count = len(self.jobs)
        for number in [(self._next_ready + step) % count for step in range(count)]:
            one = self.jobs[number]
            if room <= 0:
                return
            if one.trials is None or one.error is not None or not one.trials.has_task:
                continue
            with self._blamed(one):
                for task in one.trials.take(1):
                    assert isinstance(task, Task)
                    room, self._next_ready = room - 1, number + 1
                    yield replace(task, case=replace(task.case, name=f"{number}{_MARK}{task.case.name}"))

    def settle(self, outcome: Outcome) -> None:
        """Give an outcome to the job that it is of."""
        prefix, _, name = outcome.case.partition(_MARK)
        one = self.jobs[int(prefix)]
        one.spent_s += outcome.seconds
        if one.trials is not None and one.error is None:
            with self._blamed(one):
                one.trials.settle(replace(outcome, case=name))

    # --- turns --------------------------------------------------------------------------------------------------------

    def _is_going_on(self, number: int) -> bool:
        one = self.jobs[number]
        if one.error is not None:
            return False
        return one.trials is None or not one.trials.is_over

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
            one = self.jobs[number]
            if one.trials is None:
                self._begin(number)
            self._turn, self._begun = number, one.trials.begun if one.trials is not None else 0
            self._advance(number)
            self._turn = -1
            if one.trials is None or one.trials.begun == self._begun:
                waits.add(number)  # it has nothing that may begin now

    def _precedence(self, number: int) -> tuple[int, float, int]:
        one = self.jobs[number]
        begun = one.trials.begun if one.trials is not None else 0
        return min(begun, SAMPLE), one.spent_s, begun

    def _begin(self, number: int) -> None:
        """Begin the campaign of a job at its first turn."""
        one, folder = self.jobs[number], self._scratch / str(number)
        with self._blamed(one):
            folder.mkdir(parents=True)
            given = MutantTrials(
                one.subject,
                self._views[number],
                folder,
                self._user,
                self._request.until,
                lambda: self._may_begin(number),
            )
            one.trials = one.campaign.begin(given, ResultCache(one.subject), self._request)

    def _may_begin(self, number: int) -> bool:
        one = self.jobs[number]
        return self._turn == number and one.trials is not None and one.trials.begun == self._begun

    def _has_room(self) -> bool:
        compiling = sum(one.trials.compiling for one in self.jobs if one.trials is not None and one.error is None)
        return compiling < trials.AHEAD * self._crew.count

    def _advance(self, number: int) -> None:
        one = self.jobs[number]
        if one.trials is not None and one.error is None:
            with self._blamed(one):
                one.trials.advance()

    @staticmethod
    @contextlib.contextmanager
    def _blamed(one: JobTurns) -> Iterator[None]:
        """Keep the error of a job; the others go on."""
        try:
            yield
        except Interrupted:
            raise
        except GpuregressError as error:
            one.error = error


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
