from __future__ import annotations

import types
from pathlib import Path

import pytest

from gpuregress.execution.cluster import host
from gpuregress.execution.cluster.messages import HostFacts
from gpuregress.foundation import storage
from gpuregress.foundation.records import from_json
from gpuregress.toolchain import cache


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


def test_a_worker_tells_what_it_is(worker: types.SimpleNamespace) -> None:
    facts = from_json(HostFacts, host.hello(worker))
    assert (facts.worker, facts.code, facts.architectures) == ("Worker-1", cache.code_digest(), ())
    assert facts.store == from_json(HostFacts, host.hello(worker)).store


def test_files_arrive_in_pieces(worker: types.SimpleNamespace) -> None:
    file = "/client/x", storage.digest_text(b"abcd"), 4
    assert host.missing([file], worker) == (file[1],)
    host.add_piece(file, "run", 0, b"ab", worker)
    host.add_piece(file, "run", 2, b"cd", worker)
    assert host.missing([file], worker) == ()


def test_gpus_are_a_resource() -> None:
    assert host.gpu_count({}) == 0
    assert host.gpu_count({"GPU": 2.0, "sm_90": 2.0}) == 2
