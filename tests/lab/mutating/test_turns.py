"""Turns of several jobs: one mutant of each after the other, one job's error, results for the right job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.workers.pool import WorkerPool
from gpuregress.foundation.errors import GpuregressError, Interrupted, UsageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Task
from gpuregress.gpu.records import replace
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.lab.mutating import turns
from gpuregress.lab.mutating.campaign import MutateRequest
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.subject import Subject
from gpuregress.lab.mutating.trials import MutantTrials, TrialResult
from gpuregress.lab.mutating.turns import Turns
from gpuregress.session.events import Advanced, Event, ignore
from tests.lab.mutating import test_trials
from tests.lab.mutating.test_trials import FakeCrew, done

subject = test_trials.subject
_no_files_of_dumps = test_trials._no_files_of_dumps


class FakeCampaign:
    """Tries mutants 0 to count - 1; `error` is raised by its first result."""

    def __init__(self, subject: Subject, count: int, error: UsageError | None = None) -> None:
        self.subject, self.left, self.refusal = replace(subject, cases=subject.cases[:1]), iter(range(count)), error
        self.results: list[TrialResult] = []
        self.trials: MutantTrials | None = None
        self.error: GpuregressError | None = None
        self.spent_s = 0.0
        self.progress = 0, count

    def begin(self, trials: MutantTrials, _results: object, request: MutateRequest) -> None:
        self.trials = trials
        trials.follow(lambda: not request.is_late and self._next(trials))

    def _next(self, trials: MutantTrials) -> bool:
        number = next(self.left, None)
        if number is None:
            return False
        path = next(iter(self.subject.sources.values())).path
        trials.add(Variation(f"m{number}", files={path: f"changed {number}"}), self._take)
        return True

    def _take(self, result: TrialResult) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.results.append(result)


Make = Callable[..., Turns]


@pytest.fixture
def make(subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(turns, "ResultCache", lambda _subject: None)
    with StopSignal() as stop, UserCodeProcess(stop) as user:

        def made(*campaigns: Any, until: float = 1e18) -> Turns:
            return Turns(campaigns, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user, MutateRequest(until=until))

        yield made


def taken(feed: Turns, room: int) -> list[str]:
    tasks: list[str] = []
    for _ in range(3):  # what is asked for is compiled at the next call
        tasks += [task.case.name for task in feed.take(room - len(tasks)) if isinstance(task, Task)]
    return tasks


def test_a_job_alone_gets_all_workers(make: Make, subject: Subject) -> None:
    feed = make(FakeCampaign(subject, 3))
    list(feed.take(2))  # what is asked for is compiled at the next call
    assert len(list(feed.take(2))) == 2


def test_jobs_take_turns_and_get_their_own_results(make: Make, subject: Subject) -> None:
    first, second = FakeCampaign(subject, 2), FakeCampaign(subject, 2)
    feed = make(first, second)
    assert taken(feed, 4) == ["0~m0:job/1", "1~m0:job/1", "0~m1:job/1", "1~m1:job/1"]
    assert not feed.is_over
    for name in ("1~m0:job/1", "1~m1:job/1", "0~m0:job/1"):
        feed.settle(done(name, digest="other"))
    assert not feed.is_ready
    assert (len(first.results), len(second.results)) == (1, 2)
    assert not feed.is_over
    feed.settle(done("0~m1:job/1"))
    assert [feed.is_ready, feed.is_over] == [True, True]


def test_where_one_worker_is_free_the_jobs_take_turns(make: Make, subject: Subject) -> None:
    feed = make(FakeCampaign(subject, 2), FakeCampaign(subject, 2))
    names = [name for _ in range(4) for name in taken(feed, 1)]
    assert [name[0] for name in names] == ["0", "1", "0", "1"]


def test_a_job_that_may_begin_nothing_leaves_the_room_to_others(make: Make, subject: Subject) -> None:
    """It waits for the result of the kernels that do nothing."""

    class Waiting(FakeCampaign):
        def begin(self, trials: MutantTrials, _results: object, _request: MutateRequest) -> None:
            self.trials = trials
            self._next(trials)

    feed = make(Waiting(subject, 1), FakeCampaign(subject, 3))
    names = [*taken(feed, 4), *taken(feed, 4)]
    assert names == ["0~m0:job/1", "1~m0:job/1", "1~m1:job/1", "1~m2:job/1"]


def test_an_interrupt_ends_all_turns(subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_arguments: object) -> Iterator[object]:
        raise Interrupted("interrupted")

    monkeypatch.setattr(WorkerPool, "run", stopped)
    assert turns.run([], MutateRequest(), tmp_path, ignore)
    monkeypatch.setattr(WorkerPool, "run", lambda *_arguments: iter(()))
    assert not turns.run([], MutateRequest(), tmp_path, ignore)


def test_the_progress_is_that_of_all_jobs(subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaigns: Any = FakeCampaign(subject, 2), FakeCampaign(subject, 3)

    def one_result(*_arguments: object) -> Iterator[object]:
        campaigns[1].progress = 1, 3
        campaigns[1].listen("killed: `f` → `g`")
        return iter(())

    monkeypatch.setattr(WorkerPool, "run", one_result)
    events: list[Event] = []
    turns.run(campaigns, MutateRequest(), tmp_path, events.append)
    assert events == [Advanced(1, 5, "killed: `f` → `g`")]


def test_after_the_sample_the_job_that_took_least_is_next(
    make: Make, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SAMPLE", 1)
    campaigns = FakeCampaign(subject, 9), FakeCampaign(subject, 9)
    feed = make(*campaigns)
    names = taken(feed, 4)
    before = [campaign.trials.begun for campaign in campaigns if campaign.trials is not None]
    for name in names:
        feed.settle(done(name, seconds=5.0 if name.startswith("0") else 1.0))
    taken(feed, 4)
    after = [campaign.trials.begun for campaign in campaigns if campaign.trials is not None]
    assert before[0] == before[1] == after[0] < after[1]


def test_the_error_of_one_job_ends_its_turns_alone(make: Make, subject: Subject) -> None:
    first, second = FakeCampaign(subject, 9, UsageError("idle kernels pass")), FakeCampaign(subject, 1)
    feed = make(first, second)
    names = taken(feed, 3)
    for name in names:
        feed.settle(done(name))
    assert all(name.startswith("1") for name in taken(feed, 2)), "it has no turn any more"
    assert str(first.error) == "idle kernels pass"
    assert len(second.results) == 1
    assert feed.is_over


def test_without_time_no_job_begins(make: Make, subject: Subject) -> None:
    feed = make(FakeCampaign(subject, 9), until=time.monotonic() - 1)
    assert taken(feed, 2) == []
    assert feed.is_over
