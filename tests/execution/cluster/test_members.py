from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from gpuregress import __version__
from gpuregress.execution.cluster import members
from gpuregress.execution.cluster.members import ClusterMember, Devices, member_of, select
from gpuregress.execution.cluster.messages import HostFacts
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.foundation.records import CaseSettings
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache
from tests import fakes


def member(
    name: str = "node",
    threads: int = 2,
    architectures: tuple[str, ...] = (),
    status: str = "running",
    cpu_lack: str = "",
    **resources: float,
) -> ClusterMember:
    facts = HostFacts(f"id-{name}", name, "store", "code", architectures, cpu_lack)
    info: dict[str, Any] = {"nthreads": threads, "resources": resources, "status": status}
    return member_of(f"tcp://{name}:1", info, facts)


def test_a_worker_that_declares_nothing_is_for_the_cpu() -> None:
    plain, cards = member(), member(threads=4, GPU=2, sm_90=2)
    assert (plain.slots("cpu"), plain.slots("cuda"), plain.arch) == (2, 0, "")
    assert (cards.slots("cpu"), cards.slots("cuda"), cards.arch) == (0, 2, "sm_90")


def test_a_host_without_the_cpu_device_has_no_slots_for_it() -> None:
    lack = "the CPU device needs llvmlite, which is not installed"
    with pytest.raises(DeviceError, match=lack):
        member(cpu_lack=lack)
    assert member(cpu_lack=lack, GPU=1).slots("cuda") == 1


def test_no_more_cases_than_threads_or_gpus() -> None:
    assert member(threads=1, GPU=8).slots("cuda") == 1
    assert member(threads=8, GPU=1).slots("cuda") == 1


def test_an_architecture_is_declared_or_found() -> None:
    assert member(architectures=("sm_80",), GPU=1).arch == "sm_80"
    assert member(architectures=("sm_80",), GPU=1, sm_90=1).arch == "sm_90"


def test_declarations_that_cannot_be() -> None:
    with pytest.raises(DeviceError, match="it declares sm_90 and no GPU: start it with --resources 'GPU=1,sm_90=1'"):
        member(sm_90=1)
    with pytest.raises(DeviceError, match="it declares sm_80 and sm_90: start one worker for each"):
        member(GPU=2, sm_80=1, sm_90=1)


def test_a_worker_that_leaves_takes_no_case() -> None:
    assert not member(status="closing_gracefully").is_ready
    assert not member().as_told({"status": "paused"}).is_ready
    assert member(status="paused").as_told({"status": "running"}).is_ready


def test_auto_takes_gpus_where_there_are_some() -> None:
    cluster = [member("a"), member("b", GPU=1, sm_90=1)]
    assert select("auto", cluster, "tcp://s:1").kind == "cuda"
    assert select("auto", cluster[:1], "tcp://s:1").kind == "cpu"
    assert select("cpu", cluster, "tcp://s:1").why == "2 cores on 1 host of the cluster at tcp://s:1"
    assert select("cuda", cluster, "tcp://s:1").why == "1 GPU on 1 host of the cluster at tcp://s:1"


@pytest.mark.parametrize(
    ("device", "cluster", "error", "text"),
    [
        ("cuda", [member()], DeviceError, "declares a GPU: start it with --resources 'GPU=1,sm_90=1'"),
        ("cpu", [member(GPU=1)], DeviceError, "is for the CPU: all usable ones declare GPUs"),
        ("cuda:1", [member(GPU=1)], UsageError, "on a cluster say --device cuda"),
        ("tpu", [member()], UsageError, "no device is called 'tpu'"),
    ],
)
def test_devices_that_are_not_there(
    device: str, cluster: list[ClusterMember], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        select(device, cluster, "tcp://s:1")


def test_a_job_that_names_its_architecture_runs_on_such_gpus() -> None:
    old, new = member("old", GPU=1, sm_80=1), member("new", GPU=2, sm_90=2)
    devices = select("cuda", [old, new], "tcp://s:1")
    assert devices.arch == "sm_90"
    assert "jobs that name no architecture run on sm_90 only, not on sm_80" in devices.why
    plain = fakes.case("double")
    for_old = replace(plain, settings=CaseSettings(arch="sm_80"))
    for_none = replace(plain, settings=CaseSettings(arch="sm_75"))
    accepted = [[devices.accept(one, case) for one in (old, new, member())] for case in (plain, for_old, for_none)]
    assert accepted == [[False, True, False], [True, False, False], [False, True, False]]
    assert Devices("cpu").accept(member(), plain)


HERE = {"python": f"{sys.version_info.major}.{sys.version_info.minor}", "gpuregress": __version__}


def test_the_question_is_answered_by_a_plain_python() -> None:
    code = f"print(eval({members.QUESTION!r}))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.strip() == str(HERE)
    bare = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'gpuregress': ''" in bare


def test_equal_versions_are_no_problem() -> None:
    assert members.version_problem(HERE) == ""
    assert members.code_problem(cache.code_digest()) == ""


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"python": "2.7"}, "it has Python 2.7, and this is Python 3"),
        ({"gpuregress": ""}, "gpuregress is not installed there: pip install 'gpuregress[cluster]'"),
        ({"gpuregress": "0.0.1"}, "it has gpuregress 0.0.1, and this is"),
    ],
)
def test_other_versions_are_named(told: dict[str, str], problem: str) -> None:
    assert problem in members.version_problem({**HERE, **told})


def test_other_code_of_one_version_is_named() -> None:
    assert "has other code (0123)" in members.code_problem("0123")
