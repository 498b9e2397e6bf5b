"""Runs on a real Dask scheduler and real Dask workers on loopback, which share no folder."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.workers import worker_spawn
from gpuregress.foundation.errors import DeviceError, Interrupted, UsageError
from gpuregress.foundation.records import Buffer, Case, Fill, InputFile, PythonFunction, RunSummary, Source
from gpuregress.gpu.records import replace
from gpuregress.session import nightly
from gpuregress.session.events import Event, Started
from gpuregress.session.nightly import NightTerms
from gpuregress.session.run_request import RunRequest
from gpuregress.store import launch_log
from gpuregress.store.project import Project
from gpuregress.store.settings import ClusterSpec, SettingsSpec
from tests import fakes
from tests.execution.cluster import dask_hosts
from tests.execution.cluster.dask_hosts import DaskProcess, Hosts
from tests.session.bench import Bench, words
from tests.waiting import is_running, wait_until


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with dask_hosts.opened(tmp_path_factory.mktemp("hosts")) as opened:
        yield opened


@pytest.fixture(scope="module")
def scheduler(hosts: Hosts) -> DaskProcess:
    return hosts.scheduler()


@pytest.fixture(scope="module")
def pair(hosts: Hosts, scheduler: DaskProcess) -> tuple[DaskProcess, DaskProcess]:
    return hosts.worker(scheduler, host="node1"), hosts.worker(scheduler, host="node2")


@pytest.fixture
def own(hosts: Hosts) -> Iterator[DaskProcess]:
    """A scheduler for one test."""
    made = hosts.scheduler()
    yield made
    made.kill()


def run(bench: Bench, address: str, *cases: Case, **options: Any) -> RunSummary:
    return bench.run(*cases, **{"cluster": address, "jobs": None, **options})


def with_files(folder: Path) -> list[Case]:
    """Cases with an input file, a fill by a user's module with a neighbour, and a reference."""
    (folder / "user").mkdir()
    values = folder / "user" / "values.txt"
    values.write_text("".join(f"{number}.5\n" for number in range(8)))
    (folder / "user" / "neighbour.py").write_text("def half(shape):\n    return [0.5] * shape[0]\n")
    module = folder / "user" / "fills.py"
    module.write_text(
        "import neighbour\n\n"
        "def filled(shape):\n    return neighbour.half(shape)\n\n"
        "def wrong(shape):\n    raise ValueError('no such fill')\n\n"
        "def doubled(inputs, case):\n    return 2 * inputs['x']\n"
    )

    def filled(name: str, fill: Fill, **more: Any) -> Case:
        case = fakes.case("twice", name=f"fake/{name}", **more)
        return replace(case, buffers={**case.buffers, "x": Buffer("x", "float32", (8,), fill)})

    return [
        filled("file", Fill("file", InputFile(str(values)), 1), reference={"out": f"{module}:doubled"}),
        filled("python", Fill("python", PythonFunction(f"{module}:filled"), 1)),
        filled("wrong", Fill("python", PythonFunction(f"{module}:wrong"), 1)),
    ]


def test_a_run_on_a_cluster_is_that_of_one_machine(
    bench: Bench, scheduler: DaskProcess, pair: tuple[DaskProcess, DaskProcess]
) -> None:
    cases = [
        *with_files(bench.project.root),
        *(fakes.case("double", name=f"fake/{number}", count=8 + number) for number in range(4)),
        fakes.case("double", name="fake/large", count=5000),
        fakes.case("crash"),
        fakes.case("sleep", timeout=0.3),
        replace(fakes.case("double", name="fake/broken"), source=Source("/nowhere/broken.cu")),
    ]
    there, here = run(bench, scheduler.address, *cases), bench.run(*cases)
    assert words(there) == words(here)
    assert [one.case for one in there.verdicts] == [one.case for one in here.verdicts]
    for remote, local in zip(there.verdicts, here.verdicts, strict=True):
        assert remote.reason.replace("@node1", "").replace("@node2", "") == local.reason
        if remote.outcome is None or local.outcome is None:
            continue
        assert [dump.digest for dump in remote.outcome.dumps] == [dump.digest for dump in local.outcome.dumps]
        assert [Path(dump.path).read_bytes() for dump in remote.outcome.dumps] == [
            Path(dump.path).read_bytes() for dump in local.outcome.dumps
        ]
    outcomes = [one.outcome for one in there.verdicts if one.outcome is not None and one.status == "new"]
    # The host that sleeps for its case may get no other one.
    assert {outcome.observations.host for outcome in outcomes} <= {"node1", "node2"}
    remote_log, local_log = (launch_log.read(Path(one.folder) / "launch.log") for one in (there, here))
    calls = [
        sorted(
            (event.number, event.case, event.call) for event in log.events if isinstance(event, launch_log.LaunchBegin)
        )
        for log in (remote_log, local_log)
    ]
    assert calls[0] == calls[1]
    devices = {event.device for event in remote_log.events if isinstance(event, launch_log.LaunchBegin)}
    assert devices == {"cpu@node1", "cpu@node2"}
    assert "2 cores on 2 hosts" in remote_log.header["cluster"]


def test_the_cases_of_a_lost_host_run_again_elsewhere_and_say_so(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    doomed = hosts.worker(own, host="doomed")
    started: dict[str, str] = {}

    def listen(event: Event) -> None:
        if isinstance(event, Started) and not started:
            started[event.case] = event.slot
            hosts.worker(own, host="stays")
            doomed.kill()

    cases = [fakes.case("nap", name=f"fake/{number}") for number in range(3)]
    summary = run(bench, own.address, *cases, listen=listen)
    assert started == {"fake/0": "cpu@doomed"}
    assert set(words(summary).values()) == {"new"}
    observed = {one.case: one.outcome.observations for one in summary.verdicts if one.outcome is not None}
    assert {case: one.host for case, one in observed.items()} == {case.name: "stays" for case in cases}
    name = f"doomed ({doomed.address})"
    assert observed["fake/0"].lost_hosts == (name,)
    assert observed["fake/1"].lost_hosts == ()
    assert f"{name} was lost during the run; its launch logs are lost with it: fake/0" in summary.notes
    assert any("ran again on stays" in remark for remark in summary.remarks)
    log = launch_log.read(Path(summary.folder) / "launch.log")
    assert log.header["lost log of fake/0"] == f"{name} was lost, and its log with it"
    assert log.unfinished == ()


def test_a_case_that_loses_two_hosts_is_an_error(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    workers = [hosts.worker(own, host=f"node{number}") for number in range(3)]
    by_slot = {f"cpu@node{number}": worker for number, worker in enumerate(workers)}
    killed: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Started) and event.case == "fake/nap":
            killed.append(event.slot)
            by_slot[event.slot].kill()

    summary = run(bench, own.address, fakes.case("nap"), fakes.case("double"), listen=listen)
    assert len(killed) == len(set(killed)) == 2
    assert words(summary) == {"fake/nap": "error", "fake/double": "new"}
    reason = next(one.reason for one in summary.verdicts if one.case == "fake/nap")
    assert "its host was lost each time it ran: node" in reason
    assert "does the case take its host down?" in reason


def patient(project: Project, wait: float) -> Project:
    return replace(project, settings=SettingsSpec(cluster=ClusterSpec(wait=wait)))


def test_nothing_waits_for_workers_that_are_all_gone(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    worker = hosts.worker(own, host="only")
    bench.project = patient(bench.project, 0.5)

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            worker.kill()

    cases = [fakes.case("nap", name=f"fake/{number}") for number in range(3)]
    summary = run(bench, own.address, *cases, listen=listen)
    assert len(summary.verdicts) + len(summary.unfinished) == 3
    assert set(summary.unfinished) == {case.name for case in cases}
    assert any("all workers of the cluster are gone" in note for note in summary.notes)
    assert summary.exit_code == 4


def test_a_night_whose_scheduler_dies_is_resumed(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    worker = hosts.worker(own, host="node")
    bench.project = patient(bench.project, 1.0)

    def listen(event: Event) -> None:
        if isinstance(event, Started) and event.case == "fake/nap":
            own.kill()

    cases = [fakes.case("double", name="fake/first"), fakes.case("nap"), fakes.case("double")]
    summary = run(bench, own.address, *cases, listen=listen, kind="nightly")
    assert words(summary) == {"fake/first": "new"}
    assert summary.unfinished == ("fake/nap", "fake/double")
    assert (summary.state, summary.exit_code) == ("cut short", 4)
    lost = f"the connection to the Dask scheduler at {own.address} was lost: 2 of 3 cases are unfinished: fake/nap, "
    assert any(note.startswith(lost) and "`gpuregress nightly --resume` runs them" in note for note in summary.notes)
    assert not any("was lost during the run" in note for note in summary.notes)
    wait_until(lambda: not children(worker.pid))
    bench.cases = tuple(cases)
    with bench.machinery():
        again = nightly.run(bench.project, RunRequest(device="cpu", jobs=1), NightTerms(resume=True))
    assert (again.run, again.state) == (summary.run, "finished")
    assert words(again) == {"fake/first": "new", "fake/nap": "new", "fake/double": "new"}


def test_a_scheduler_that_is_not_there_is_one_line(bench: Bench) -> None:
    bench.project = patient(bench.project, 0.3)
    with pytest.raises(DeviceError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 within 0.3 s: is"):
        run(bench, "tcp://127.0.0.1:9", fakes.case("double"))
    assert not bench.project.runs.exists()


def test_a_cluster_without_workers_is_one_line(bench: Bench, own: DaskProcess) -> None:
    bench.project = patient(bench.project, 0.3)
    with pytest.raises(DeviceError, match=r"has no worker, and none came within 0.3 s: start one with `dask worker`"):
        run(bench, own.address, fakes.case("double"))


def test_workers_of_other_versions_are_refused_by_name(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    old = hosts.worker(own, version="0.0.9")
    with pytest.raises(DeviceError, match=rf"{old.address}: it has gpuregress 0.0.9, and this is"):
        run(bench, own.address, fakes.case("double"))
    hosts.worker(own, host="good")
    edited = hosts.worker(own, code="0123456789ab")
    summary = run(bench, own.address, fakes.case("double"))
    assert words(summary) == {"fake/double": "new"}
    assert any(edited.address in note and "has other code (0123456789ab)" in note for note in summary.notes)


def test_gpus_are_resources_of_workers(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    hosts.worker(own, host="plain", threads=2)
    with pytest.raises(DeviceError, match="declares a GPU: start it with --resources 'GPU=1,sm_90=1'"):
        run(bench, own.address, fakes.case("double"), device="cuda")
    with pytest.raises(UsageError, match="on a cluster say --device cuda"):
        run(bench, own.address, fakes.case("double"), device="cuda:1")
    hosts.worker(own, host="cards", threads=4, resources={"GPU": 2, "sm_90": 2})
    slots: dict[str, str] = {}

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            slots[event.case] = event.slot

    cases = [fakes.case("nap", name=f"fake/{number}") for number in range(3)]
    summary = run(bench, own.address, *cases, device="auto", listen=listen)
    assert set(words(summary).values()) == {"new"}
    assert set(slots.values()) == {"cuda:0@cards", "cuda:1@cards"}
    run(bench, own.address, *cases, device="cpu", listen=listen)
    assert set(slots.values()) == {"cpu@plain"}
    bench.cases = cases[:1]
    request = RunRequest(cluster=own.address)
    with bench.machinery():
        night = nightly.run(bench.project, request, nightly.NightTerms(every_device=True))
    assert [(one.case, one.outcome.observations.host) for one in night.verdicts if one.outcome] == [("fake/0", "cards")]


def test_the_settings_name_the_cluster_of_run(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    hosts.worker(own, host="cards", resources={"GPU": 1, "sm_90": 1})
    bench.project = replace(bench.project, settings=SettingsSpec(cluster=ClusterSpec(scheduler=own.address)))
    worker_spawn.begin("cpu", 1)  # as a command does that was given no cluster
    assert worker_spawn.WAITING
    summary = bench.run(fakes.case("double"), cluster=None, device="cuda")
    assert not worker_spawn.WAITING, "a worker on this host lives through a run on a cluster"
    (outcome,) = (one.outcome for one in summary.verdicts)
    assert outcome is not None
    assert outcome.observations.host == "cards"
    (outcome,) = (one.outcome for one in bench.run(fakes.case("double"), cluster="").verdicts)
    assert outcome is not None
    assert outcome.observations.host == ""


def children(pid: int) -> list[int]:
    """The worker processes of a Dask worker."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, path.read_text().split())
    return [child for child in found if is_running(child)]


def test_an_interrupted_run_leaves_no_process_on_a_host(bench: Bench, hosts: Hosts, own: DaskProcess) -> None:
    worker = hosts.worker(own, host="node")

    def listen(event: Event) -> None:
        if isinstance(event, Started):
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    summary = run(bench, own.address, fakes.case("sleep"), fakes.case("double"), listen=listen)
    assert summary.interrupted
    assert summary.exit_code == Interrupted.exit_code
    wait_until(lambda: not children(worker.pid))
    assert words(run(bench, own.address, fakes.case("double"))) == {"fake/double": "new"}


def endless_run(address: str, folder: str) -> None:
    """A client that waits for a case that does not end."""
    root = Path(folder)
    bench = Bench(Project(root, root / "configs", root / "baselines", root / "runs"))
    run(bench, address, fakes.case("sleep"))


def test_a_client_that_is_killed_leaves_no_process_on_a_host(tmp_path: Path, hosts: Hosts, own: DaskProcess) -> None:
    worker = hosts.worker(own, host="node")
    before = set(hosts.folder.rglob("launch.log"))  # of other tests: the case must have begun here
    client = hosts.client(f"{__name__}:endless_run", own.address, str(tmp_path))
    wait_until(lambda: children(worker.pid))
    wait_until(lambda: any(path.stat().st_size for path in {*hosts.folder.rglob("launch.log")} - before))
    client.kill()
    wait_until(lambda: not children(worker.pid))
