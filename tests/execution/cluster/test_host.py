from __future__ import annotations

import contextlib
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.cluster import host, messages, replies
from gpuregress.execution.cluster.host import HostAgent, case_folder
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, HostFacts
from gpuregress.execution.cluster.sent_files import ContentStore, TaskFiles
from gpuregress.foundation import storage
from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.records import Case, from_json, to_json
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache
from tests import fakes
from tests.session.bench import FAKE
from tests.waiting import wait_until


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """The part of a Dask worker that its functions use."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(host, "AGENTS", {})
    return types.SimpleNamespace(
        id="Worker-1",
        local_directory=str(tmp_path / "dask"),
        status=types.SimpleNamespace(name="running"),
        state=types.SimpleNamespace(total_resources={"A": 1.0}, tasks={}),
    )


def test_a_worker_tells_what_it_is(worker: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = from_json(HostFacts, host.hello(worker))
    assert (facts.worker, facts.code, facts.architectures) == ("Worker-1", cache.code_digest(), ())
    assert facts.store == from_json(HostFacts, host.hello(worker)).store
    assert facts.cpu_lack == ""
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert "needs llvmlite" in from_json(HostFacts, host.hello(worker)).cpu_lack


def test_files_arrive_in_pieces(worker: types.SimpleNamespace) -> None:
    file = "/client/x", storage.digest_text(b"abcd"), 4
    assert host.missing([file], worker) == (file[1],)
    host.add_piece(file, "run", 0, b"ab", worker)
    host.add_piece(file, "run", 2, b"cd", worker)
    assert host.missing([file], worker) == ()


def test_gpus_are_a_resource() -> None:
    assert host.gpu_count({}) == 0
    assert host.gpu_count({"GPU": 2.0, "sm_90": 2.0}) == 2


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostAgent]:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    with contextlib.closing(made(tmp_path)) as agent:
        yield agent


def made(folder: Path, cards: int = 0) -> HostAgent:
    return HostAgent("me", folder / "host", ContentStore(folder / "cache" / "cluster"), cards)


def request(folder: Path, case: Case, **changes: Any) -> CaseRequest:
    task = fakes.task(case, folder / "client")
    plain = CaseRequest(
        "run",
        "me",
        case.name,
        to_json(task),
        str(folder / "client"),
        "cpu",
        "cpu@node",
        command=FAKE,
        files=TaskFiles().of(task),
    )
    return replace(plain, **changes)


def reply(agent: HostAgent, request: CaseRequest) -> CaseReply:
    return agent.run_case(request, lambda: True)[0]


def test_a_case_runs_and_its_dumps_come_back(agent: HostAgent, tmp_path: Path) -> None:
    replied, contents = agent.run_case(request(tmp_path, fakes.case("double")), lambda: True)
    assert replied.kind == "done"
    assert replied.outcome is not None
    assert replied.outcome.dumps[0].path == str(tmp_path / "client" / "dumps" / "fake" / "double" / "out.1.4")
    assert {file.digest for file in replied.files} == contents.keys()
    assert replied.log.startswith("begin 1 ")


def test_one_worker_process_takes_case_after_case_and_a_crash_costs_one(agent: HostAgent, tmp_path: Path) -> None:
    def last(name: str) -> str:
        case = fakes.case("count", name=name)
        outcome = reply(agent, request(tmp_path, case)).outcome
        assert outcome is not None
        return outcome.dumps[0].digest

    first, second = last("fake/1"), last("fake/2")
    assert first != second
    crashed = reply(agent, request(tmp_path, fakes.case("crash"))).outcome
    assert crashed is not None
    assert crashed.fault is not None
    assert crashed.fault.kind == "crash"
    assert last("fake/3") == first


def test_a_batch_keeps_what_ended_before_and_after_a_crash_and_blames_the_case_that_ran(
    agent: HostAgent, tmp_path: Path
) -> None:
    kinds = ("double", "double", "crash", "double")
    requests = [request(tmp_path, fakes.case(kind, name=f"fake/{at}")) for at, kind in enumerate(kinds)]
    given = list(agent.run_cases([messages.encode(one) for one in requests], lambda: True))
    outcomes = [one.outcome for one, _ in given if one.outcome is not None]
    assert [(one.case, one.state) for one in outcomes] == [
        ("fake/0", "done"),
        ("fake/1", "done"),
        ("fake/2", "fault"),
        ("fake/3", "done"),
    ]
    assert all(one.dumps for one in outcomes if one.state == "done")


def test_a_batch_that_takes_long_begins_no_further_case(
    agent: HostAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "LONGEST_BATCH_S", 0.0)
    requests = [request(tmp_path, fakes.case("double", name=f"fake/{at}")) for at in range(3)]
    given = list(agent.run_cases([messages.encode(one) for one in requests], lambda: True))
    assert [one.outcome.case for one, _ in given if one.outcome is not None] == ["fake/0"]


def test_a_request_for_the_worker_that_had_the_address_before_is_refused(agent: HostAgent, tmp_path: Path) -> None:
    assert reply(agent, request(tmp_path, fakes.case("double"), worker="another")).kind == "stale"


def test_files_that_are_missing_are_named_until_they_are_sent(agent: HostAgent, tmp_path: Path) -> None:
    module = tmp_path / "user" / "refs.py"
    module.parent.mkdir()
    module.write_text("def f(inputs, case):\n    return 2 * inputs['x']\n")
    asked = request(tmp_path, fakes.case("twice", reference={"out": f"{module}:f"}))
    (file,) = asked.files
    assert reply(agent, asked).missing == (file.digest,)
    agent.store.add_piece(file, "run", 0, module.read_bytes())
    module.unlink()
    outcome = reply(agent, asked).outcome
    assert outcome is not None
    assert outcome.observations.reference.dumps.keys() == {"out"}


def test_a_case_that_nobody_wants_any_more_is_ended(agent: HostAgent, tmp_path: Path) -> None:
    wanted = threading.Event()
    wanted.set()
    threading.Timer(0.5, wanted.clear).start()
    with pytest.raises(Interrupted):
        agent.run_case(request(tmp_path, fakes.case("sleep")), wanted.is_set)
    assert reply(agent, request(tmp_path, fakes.case("double"))).kind == "done"


def test_the_end_of_a_run_ends_its_cases_and_removes_its_files(agent: HostAgent, tmp_path: Path) -> None:
    def end() -> None:
        wait_until(lambda: any(path.stat().st_size for path in (tmp_path / "host").rglob("launch.log")))
        agent.end_run("run")

    ending = threading.Thread(target=end)
    ending.start()
    with pytest.raises(Interrupted):
        reply(agent, request(tmp_path, fakes.case("sleep")))
    ending.join()
    assert not list((tmp_path / "host").rglob("*.log"))


def test_the_dumps_of_finished_cases_are_bounded(
    agent: HostAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "KEPT_BYTES", 600)
    names = [f"fake/{number}" for number in range(4)]
    for name in names:
        reply(agent, request(tmp_path, fakes.case("double", name=name)))
    there = [(tmp_path / "host" / "run-1" / case_folder(name)).exists() for name in names]
    assert there[0] is False
    assert there[-1] is True


def test_a_dump_is_read_in_pieces_and_dropped(agent: HostAgent, tmp_path: Path) -> None:
    replied, contents = agent.run_case(request(tmp_path, fakes.case("double")), lambda: True)
    name = f"{case_folder('fake/double')}/{replied.files[0].path}"
    pieces = [agent.piece("run", name, offset, 10) for offset in range(0, replied.files[0].size, 10)]
    assert replies.expanded(contents[replied.files[0].digest]) == b"".join(pieces)


def test_each_gpu_has_one_case_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    with contextlib.closing(made(tmp_path, cards=1)) as agent:
        asked = request(tmp_path, fakes.case("double"), device="cuda:0", label="cuda:0@node")
        assert reply(agent, asked).kind == "done"
        with agent._card("cuda:0") as card:
            assert card == 0
            failed = reply(agent, asked)
    assert (failed.kind, failed.message) == (
        "failed",
        "cuda:0@node: it has no GPU left for this case: declare only those that it has, as in GPU=1",
    )


def test_a_full_disk_is_an_answer(agent: HostAgent, tmp_path: Path) -> None:
    (tmp_path / "host").write_text("in the way")
    failed = reply(agent, request(tmp_path, fakes.case("double")))
    assert failed.kind == "failed"
    assert "cpu@node: " in failed.message


def test_a_process_is_ready_before_its_first_case(agent: HostAgent, tmp_path: Path) -> None:
    agent.warm(request(tmp_path, fakes.case("double")))
    (idle,) = next(iter(agent._idle.values()))
    assert reply(agent, request(tmp_path, fakes.case("double"))).kind == "done"
    assert next(iter(agent._idle.values())) == [idle]


def test_a_device_that_cannot_be_opened_is_no_fault_of_the_case(agent: HostAgent, tmp_path: Path) -> None:
    unusable = reply(agent, request(tmp_path, fakes.case("double"), device="none"))
    assert (unusable.kind, unusable.message) == ("unusable", "no such device: none")
    assert reply(agent, request(tmp_path, fakes.case("double"))).kind == "done"
