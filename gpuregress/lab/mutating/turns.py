"""Trials of the mutants of several jobs in turns, with the same compilers and workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.execution.workers.compiler_pool import Crew
from gpuregress.execution.workers.pool import CaseNotCompiled
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Outcome, Task
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.lab.mutating.campaign import Campaign, MutateRequest
from gpuregress.lab.mutating.results import ResultCache
from gpuregress.lab.mutating.trials import MutantTrials, opened_workers
from gpuregress.session.events import Advanced, Listener

SAMPLE = 10
"""Mutants of each job that are tried in equal turns; from then on the job that took the least time has its turn."""
AHEAD = 2
"""Variations for each compiler that are compiled before a worker is free for them."""
_MARK = "~"
"""Between the number of a job and a name of its trials."""


def run(campaigns: Sequence[Campaign], request: MutateRequest, scratch: Path, listen: Listener) -> bool:
    """Try the mutants of jobs in turns; an error ends the turns of its job.

    Args:
        campaigns: one of each job; they get the results, and the error.
        request: when no further variation begins, and whether results are taken from the cache.
        scratch: a folder.
        listen: receives the number of mutants that were tried.

    Returns:
        Whether ^C ended it.
    """

    def tell(text: str) -> None:
        progress = [campaign.progress for campaign in campaigns]
        listen(Advanced(sum(done for done, _ in progress), sum(of for _, of in progress), text))

    for campaign in campaigns:
        campaign.listen = tell
    with StopSignal() as stop, opened_workers(scratch, stop) as workers:
        turns = Turns(campaigns, workers.crew, scratch, workers.user, request)
        try:
            for event in workers.pool.run((), turns):
                if isinstance(event, Outcome):
                    turns.settle(event)
        except Interrupted:
            for campaign in campaigns:
                campaign.interrupted = True
            return True
    return False


class Turns:
    """The trials of several jobs as one feed of the workers.

    Args:
        campaigns: that are not begun.
        crew: of compilers.
        scratch: a folder.
        user: the process for the users' functions.
        request: with the time at which no further variation begins.
    """

    def __init__(
        self, campaigns: Sequence[Campaign], crew: Crew, scratch: Path, user: UserCodeProcess, request: MutateRequest
    ) -> None:
        self._campaigns = campaigns
        self._crew = crew
        self._scratch = scratch
        self._user = user
        self._request = request
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
        return not any(map(_is_going_on, self._campaigns))

    @property
    def is_ready(self) -> bool:
        """Whether a task is ready, or all is over."""
        self._advance()
        return any(trials.has_task for _, trials in self._under_way()) or self.is_over

    def take(self, room: int) -> Iterator[Task | CaseNotCompiled]:
        """The tasks that are ready, at most `room`: one of each job in turn."""
        self._advance()
        while room > 0 and (campaign := self._next_with_task()) is not None:
            assert campaign.trials is not None
            with _blamed(campaign):
                task = campaign.trials.next_task()
                room -= 1
                yield task

    def _next_with_task(self) -> Campaign | None:
        """Return the job whose turn it is among those with a task that is ready; None where there is none."""
        following = [*self._campaigns[self._next_ready :], *self._campaigns[: self._next_ready]]
        for campaign in following:
            if campaign.error is None and campaign.trials is not None and campaign.trials.has_task:
                self._next_ready = self._campaigns.index(campaign) + 1
                return campaign
        return None

    def settle(self, outcome: Outcome) -> None:
        """Give an outcome to the job that it is of."""
        campaign = self._named(outcome.case)
        campaign.spent_s += outcome.seconds
        if campaign.trials is not None and campaign.error is None:
            with _blamed(campaign):
                campaign.trials.settle(outcome)

    # --- turns --------------------------------------------------------------------------------------------------------

    def _named(self, name: str) -> Campaign:
        """Return the job that a task or a program is of."""
        return self._campaigns[int(name.partition(_MARK)[0])]

    def _under_way(self) -> Iterator[tuple[Campaign, MutantTrials]]:
        """The jobs that have begun, and not failed."""
        for campaign in self._campaigns:
            if campaign.trials is not None and campaign.error is None:
                yield campaign, campaign.trials

    def _advance(self) -> None:
        """Take what was compiled, then let variations begin, one of a job and then one of another."""
        for key, result in self._crew.collect():
            trials = self._named(key).trials
            if trials is not None:
                trials.take_compiled(key, result)
        for campaign, trials in self._under_way():
            with _blamed(campaign):
                trials.advance()
        waiting = [campaign for campaign in self._campaigns if _is_going_on(campaign)]
        while waiting and self._has_room():
            campaign = min(waiting, key=_precedence)
            has_begun = False
            with _blamed(campaign):
                has_begun = self._begun_trials(campaign).begin_next()
            if not has_begun:
                waiting.remove(campaign)  # it has nothing that may begin now

    def _begun_trials(self, campaign: Campaign) -> MutantTrials:
        """Return the trials of a job, which begins at its first turn."""
        if campaign.trials is not None:
            return campaign.trials
        number = self._campaigns.index(campaign)
        folder = self._scratch / str(number)
        folder.mkdir(parents=True)
        trials = MutantTrials(
            subject=campaign.subject,
            crew=self._crew,
            scratch=folder,
            user=self._user,
            until=self._request.until,
            mark=f"{number}{_MARK}",
        )
        campaign.begin(trials, ResultCache(campaign.subject), self._request)
        return trials

    def _has_room(self) -> bool:
        compiling = sum(trials.compiling for _, trials in self._under_way())
        return compiling < AHEAD * self._crew.count


def _is_going_on(campaign: Campaign) -> bool:
    if campaign.error is not None:
        return False
    return campaign.trials is None or not campaign.trials.is_over


def _precedence(campaign: Campaign) -> tuple[int, float, int]:
    begun = campaign.trials.begun if campaign.trials is not None else 0
    return min(begun, SAMPLE), campaign.spent_s, begun


@contextlib.contextmanager
def _blamed(campaign: Campaign) -> Iterator[None]:
    """Keep the error of a job; the others go on."""
    try:
        yield
    except Interrupted:
        raise
    except GpuregressError as error:
        campaign.error = error
