"""The pool against a scripted link; `tests/integration/test_cluster.py` runs it on a real cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.cluster import pool as pool_module
from gpuregress.execution.cluster.link import (
    BatchLost,
    BatchReplied,
    CaseResult,
    ClusterLost,
    LinkEvent,
    MembersChanged,
)
from gpuregress.execution.cluster.members import ClusterMember
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, HostFacts
from gpuregress.execution.cluster.pool import ClusterPool, PoolOptions
from gpuregress.execution.cluster.replies import ReplyFiles
from gpuregress.execution.workers.pool import CaseStarted
from gpuregress.foundation import errors
from gpuregress.foundation.errors import DeviceError, Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Outcome
from gpuregress.gpu.records import replace
from tests import fakes

Answer = Callable[["ScriptedLink", int, CaseRequest, ClusterMember], None]


class ScriptedLink:
    """A link whose cluster is the test's: `answer` is called for each request."""

    def __init__(self, answer: Answer, *members: ClusterMember, **refused: str) -> None:
        self.answer = answer
        self.requests: list[tuple[str, str]] = []
        self.batches: list[tuple[CaseRequest, ...]] = []
        self.warmed: list[str] = []
        self._inbox: list[LinkEvent] = []
        self._reader, self._writer = os.pipe()
        self.post(MembersChanged(members, refused))

    def __call__(self, *_arguments: Any) -> ScriptedLink:
        return self

    def fileno(self) -> int:
        return self._reader

    def post(self, event: LinkEvent) -> None:
        self._inbox.append(event)
        os.write(self._writer, b"!")

    def events(self) -> list[LinkEvent]:
        happened, self._inbox = self._inbox, []
        if happened:
            os.read(self._reader, 1 << 12)
        return happened

    def submit(self, ticket: int, requests: Sequence[CaseRequest], member: ClusterMember) -> None:
        self.requests += [(request.case, member.host) for request in requests]
        self.batches.append(tuple(requests))
        self.answer(self, ticket, requests[0], member)

    def reply(self, ticket: int, *replies: CaseReply, failed: bool = False) -> None:
        self.post(BatchReplied(ticket, tuple(CaseResult(reply, ReplyFiles()) for reply in replies), failed=failed))

    def warm(self, request: CaseRequest, member: ClusterMember) -> None:
        self.warmed.append(request.label)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


def member(host: str, number: int = 0, threads: int = 1) -> ClusterMember:
    return ClusterMember(f"tcp://{host}:{number}", HostFacts(f"{host}-{number}", host, "store", "code"), threads)


def done(link: ScriptedLink, ticket: int, _request: CaseRequest, _member: ClusterMember) -> None:
    link.reply(ticket, *(ended(request, seconds=10.0) for request in link.batches[-1]))


def quickly_done(link: ScriptedLink, ticket: int, *_: Any) -> None:
    link.reply(ticket, *(ended(request, seconds=0.001) for request in link.batches[-1]))


def ended(request: CaseRequest, seconds: float) -> CaseReply:
    return CaseReply("done", Outcome(request.case, "done", seconds=seconds))


def lost(link: ScriptedLink, ticket: int, _request: CaseRequest, _member: ClusterMember) -> None:
    link.post(BatchLost(ticket))


@pytest.fixture
def stop() -> Iterator[StopSignal]:
    with StopSignal() as stop:
        yield stop


def opened(patch: pytest.MonkeyPatch, link: ScriptedLink, stop: StopSignal, **options: Any) -> ClusterPool:
    patch.setattr(pool_module, "ClusterLink", link)
    return ClusterPool("tcp://s:1", "run", Path("/nowhere"), PoolOptions(**{"wait_s": 0.2, **options}), stop)


def run(pool: ClusterPool, folder: Path, *cases: Case, **more: Any) -> tuple[list[CaseStarted], dict[str, Outcome]]:
    events = list(pool.run([fakes.task(case, folder, 100 * at, **more) for at, case in enumerate(cases, 1)]))
    outcomes = [event for event in events if isinstance(event, Outcome)]
    assert sorted(outcome.case for outcome in outcomes) == sorted(case.name for case in cases)
    return [event for event in events if isinstance(event, CaseStarted)], {one.case: one for one in outcomes}


def several(count: int) -> list[Case]:
    return [fakes.case("double", name=f"fake/{number}") for number in range(count)]


def test_cases_go_to_all_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal) -> None:
    link = ScriptedLink(done, member("a", threads=2), member("b"))
    with opened(monkeypatch, link, stop) as pool:
        pool.warm(2)
        started, outcomes = run(pool, tmp_path, *several(4))
        assert pool.notes == ()
    assert link.warmed == ["cpu@a", "cpu@a"]
    assert [event.slot for event in started][:3] == ["cpu@a", "cpu@a", "cpu@b"]
    assert {one.observations.host for one in outcomes.values()} == {"a", "b"}


def test_no_more_cases_at_a_time_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    under_way: list[int] = []

    def answer(link: ScriptedLink, ticket: int, request: CaseRequest, where: ClusterMember) -> None:
        under_way.append(pool._busy_slots)
        done(link, ticket, request, where)

    with opened(monkeypatch, ScriptedLink(answer, member("a", threads=4)), stop, jobs=2) as pool:
        run(pool, tmp_path, *several(5))
    assert max(under_way) == 2


def test_a_lost_case_goes_elsewhere_and_not_to_the_same_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    def answer(link: ScriptedLink, ticket: int, request: CaseRequest, where: ClusterMember) -> None:
        (lost if where.address == "tcp://a:0" else done)(link, ticket, request, where)

    link = ScriptedLink(answer, member("a", 0), member("a", 1), member("b", 2))
    with opened(monkeypatch, link, stop, jobs=1) as pool:
        _, outcomes = run(pool, tmp_path, *several(1))
        assert pool.notes == ("a (tcp://a:0) was lost during the run; its launch logs are lost with it: fake/0",)
    assert link.requests == [("fake/0", "a"), ("fake/0", "b")]
    assert outcomes["fake/0"].observations.lost_hosts == ("a (tcp://a:0)",)
    assert outcomes["fake/0"].observations.host == "b"


def test_a_case_whose_only_host_came_back_runs_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    def answer(link: ScriptedLink, ticket: int, request: CaseRequest, where: ClusterMember) -> None:
        if where.address == "tcp://a:0":
            link.post(MembersChanged(()))
            link.post(BatchLost(ticket))
            link.post(MembersChanged((member("a", 1),)))
        else:
            done(link, ticket, request, where)

    with opened(monkeypatch, ScriptedLink(answer, member("a")), stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(2))
    assert [one.state for one in outcomes.values()] == ["done", "done"]


def test_a_case_lost_twice_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal) -> None:
    link = ScriptedLink(lost, member("a"), member("b"), member("c"))
    with opened(monkeypatch, link, stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(1))
    assert len(link.requests) == 2
    assert outcomes["fake/0"].state == "error"
    assert "its host was lost each time it ran: a (tcp://a:0) and then b (tcp://b:0)" in outcomes["fake/0"].message


def test_a_lost_cluster_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal) -> None:
    def answer(link: ScriptedLink, *_: Any) -> None:
        link.post(ClusterLost("the scheduler is gone"))

    with (
        opened(monkeypatch, ScriptedLink(answer, member("a")), stop) as pool,
        pytest.raises(errors.ClusterLost, match="the scheduler is gone"),
    ):
        run(pool, tmp_path, *several(3))


def test_a_cluster_without_workers_ends_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    def answer(link: ScriptedLink, ticket: int, *_: Any) -> None:
        link.post(MembersChanged(()))
        link.post(BatchLost(ticket))

    with (
        opened(monkeypatch, ScriptedLink(answer, member("a")), stop) as pool,
        pytest.raises(errors.ClusterLost, match="all workers of the cluster are gone"),
    ):
        run(pool, tmp_path, *several(2))


def test_a_case_whose_architecture_left_the_cluster_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    newer = replace(member("b"), gpus=1, arch="sm_90")
    older = replace(member("a", threads=2), gpus=2, arch="sm_80")  # the run's, for cases that name none

    def answer(link: ScriptedLink, ticket: int, request: CaseRequest, asked: ClusterMember) -> None:
        if asked is newer:
            done(link, ticket, request, asked)
            return
        link.post(MembersChanged((newer,)))
        link.post(BatchLost(ticket))

    cases = [fakes.case("double", name=f"fake/{arch}").with_settings(arch=arch) for arch in ("sm_80", "sm_90", None)]
    with opened(monkeypatch, ScriptedLink(answer, older, newer), stop) as pool:
        _, outcomes = run(pool, tmp_path, *cases)
    assert outcomes["fake/sm_90"].state == "done"
    for name in ("fake/sm_80", "fake/None"):
        assert outcomes[name].state == "error"
        assert outcomes[name].message == "no worker of the cluster at tcp://s:1 has sm_80 any more"


def test_a_host_that_cannot_run_a_case_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    def answer(link: ScriptedLink, ticket: int, *_: Any) -> None:
        link.reply(ticket, CaseReply("failed", message="cpu@a: no space"))

    with opened(monkeypatch, ScriptedLink(answer, member("a")), stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(1))
    assert (outcomes["fake/0"].state, outcomes["fake/0"].message) == ("error", "cpu@a: no space")


def test_a_file_that_is_gone_is_the_error_of_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    wrong = fakes.case("double", name="fake/wrong", reference_files={"out": str(tmp_path / "gone.npy")})
    with opened(monkeypatch, ScriptedLink(done, member("a")), stop) as pool:
        _, outcomes = run(pool, tmp_path, wrong, *several(1))
    assert "gone.npy" in outcomes["fake/wrong"].message
    assert outcomes["fake/0"].state == "done"


def test_refused_workers_are_notes_and_all_refused_is_an_error(
    monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    with opened(monkeypatch, ScriptedLink(done, member("a"), **{"tcp://b:0": "it is old"}), stop) as pool:
        assert pool.notes == ("tcp://b:0 of the cluster is not used: it is old",)
    with pytest.raises(DeviceError, match="can be used: tcp://b:0: it is old"):
        opened(monkeypatch, ScriptedLink(done, **{"tcp://b:0": "it is old"}), stop)
    with pytest.raises(DeviceError, match=r"declares a GPU.*; tcp://b:0 of the cluster is not used: it is old"):
        opened(monkeypatch, ScriptedLink(done, member("a"), **{"tcp://b:0": "it is old"}), stop, device="cuda")
    with pytest.raises(DeviceError, match=r"has no worker, and none came within 0.2 s"):
        opened(monkeypatch, ScriptedLink(done), stop)


def test_a_stop_ends_the_wait_for_the_cluster_and_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    with (
        opened(monkeypatch, ScriptedLink(lambda *_: stop.set(), member("a")), stop) as pool,
        pytest.raises(Interrupted),
    ):
        run(pool, tmp_path, *several(1))
    with pytest.raises(Interrupted):
        opened(monkeypatch, ScriptedLink(done), stop)


def test_the_task_travels_without_its_accepted_dumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    seen: list[CaseRequest] = []

    def answer(link: ScriptedLink, ticket: int, request: CaseRequest, where: ClusterMember) -> None:
        seen.append(replace(request))
        done(link, ticket, request, where)

    with opened(monkeypatch, ScriptedLink(answer, member("a")), stop) as pool:
        run(pool, tmp_path, *several(1), known={"out": {"00ff": "/baselines/out.1"}})
    assert seen[0].known == {"out": ("00ff",)}
    assert seen[0].task["known"] == {}
    assert seen[0].folder == str(tmp_path)


def test_a_deadline_ends_the_run_whatever_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    with opened(monkeypatch, ScriptedLink(lambda *_: None, member("a")), stop) as pool:
        tasks = [fakes.task(case, tmp_path) for case in several(2)]
        events = list(pool.run(tasks, until=time.monotonic() + 0.1))
    assert [type(event) for event in events] == [CaseStarted]


def test_a_task_runs_again_and_others_are_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    link = ScriptedLink(done, member("a"))
    with opened(monkeypatch, link, stop) as pool:
        tasks = [fakes.task(case, tmp_path) for case in several(4)]
        for event in pool.run(tasks):
            if isinstance(event, Outcome) and len(link.requests) == 2:
                pool.again(tasks[0], "the device failed")
                withdrawn = pool.withdraw(lambda case: case.name == "fake/3")
                assert [task.case.name for task in withdrawn] == ["fake/3"]
    assert [case for case, _ in link.requests] == ["fake/0", "fake/1", "fake/2", "fake/0"]


def test_a_host_with_a_broken_device_gets_no_further_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    members: tuple[ClusterMember, ...] = (member("a"), member("b"))

    def answer(link: ScriptedLink, ticket: int, request: CaseRequest, where: ClusterMember) -> None:
        if where.host == "b":
            done(link, ticket, request, where)
        else:
            link.reply(ticket, CaseReply("unusable", message="cpu@a is lost"))
            link.post(MembersChanged(members))

    link = ScriptedLink(answer, *members)
    with opened(monkeypatch, link, stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(4))
        assert pool.notes == ("tcp://a:0 of the cluster is not used: cpu@a is lost",)
    assert [one.state for one in outcomes.values()] == ["done"] * 4
    assert [host for _, host in link.requests].count("a") == 1
    members = members[:1]
    with (
        opened(monkeypatch, ScriptedLink(answer, *members), stop) as pool,
        pytest.raises(errors.ClusterLost, match="can be used: tcp://a:0: cpu@a is lost"),
    ):
        run(pool, tmp_path, *several(2))


def test_short_cases_travel_in_batches_and_long_ones_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    link = ScriptedLink(quickly_done, member("a"), member("b"))
    with opened(monkeypatch, link, stop) as pool:
        run(pool, tmp_path, *several(400))
    assert max(map(len, link.batches)) > 20
    assert len(link.batches) < 40
    assert max(map(len, link.batches[-2:])) < 20  # what is left is divided, so that both end together
    link = ScriptedLink(done, member("a"))
    with opened(monkeypatch, link, stop) as pool:
        run(pool, tmp_path, *several(10))
    assert set(map(len, link.batches)) == {1}


def test_of_a_lost_batch_only_the_case_that_loses_hosts_alone_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    hosts = [member(f"node{number}") for number in range(4)]

    def answer(link: ScriptedLink, ticket: int, _request: CaseRequest, where: ClusterMember) -> None:
        if "fake/17" not in {request.case for request in link.batches[-1]}:
            quickly_done(link, ticket)
            return
        hosts.remove(where)
        link.post(MembersChanged(tuple(hosts)))
        lost(link, ticket, _request, where)

    link = ScriptedLink(answer, *hosts)
    with opened(monkeypatch, link, stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(60))
    assert [case for case, one in outcomes.items() if one.state != "done"] == ["fake/17"]
    assert "its host was lost each time it ran" in outcomes["fake/17"].message
    with_it = [len(batch) for batch in link.batches if "fake/17" in {request.case for request in batch}]
    assert with_it[0] > 1
    assert with_it[1:] == [1, 1]
    again = [case for case, one in outcomes.items() if one.observations.lost_hosts]
    assert len(again) == with_it[0]


def test_a_batch_behind_one_that_is_lost_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    held: list[int] = []

    def answer(link: ScriptedLink, ticket: int, _request: CaseRequest, where: ClusterMember) -> None:
        if where.address != "tcp://a:0" or len(link.batches) == 1:
            link.reply(ticket, *(ended(request, seconds=0.03) for request in link.batches[-1]))
            return
        held.append(ticket)
        if len(held) == 2:
            link.post(MembersChanged((member("b"),)))
            for one in held:
                link.post(BatchLost(one))

    link = ScriptedLink(answer, member("a"))
    with opened(monkeypatch, link, stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(3))
        assert pool._losses == {"fake/1": 1, "fake/2": 0}
    assert {one.state for one in outcomes.values()} == {"done"}


def test_cases_that_a_host_has_not_begun_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: StopSignal
) -> None:
    def answer(link: ScriptedLink, ticket: int, *_: Any) -> None:
        requests = link.batches[-1]
        if "fake/9" in {request.case for request in requests} and len(requests) > 1:  # it breaks its batch
            begun = [request.case for request in requests].index("fake/9")
            replies = [ended(request, seconds=0.001) for request in requests[:begun]]
            link.reply(ticket, *replies, failed=True)
        elif requests[0].case == "fake/9":
            link.reply(ticket, CaseReply("failed", message="no such file"))
        else:  # a host that begins no more than three
            link.reply(ticket, *(ended(request, seconds=0.001) for request in requests[:3]))

    link = ScriptedLink(answer, member("a"))
    with opened(monkeypatch, link, stop) as pool:
        _, outcomes = run(pool, tmp_path, *several(30))
    assert [case for case, one in outcomes.items() if one.state != "done"] == ["fake/9"]
    assert not any(one.observations.lost_hosts for one in outcomes.values())
