"""Functions that Dask calls on a host of the cluster.

`run_case` is the only task. The others are short and are called outside of Dask's queue of tasks. Their argument
`dask_worker` is filled in by Dask.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from gpuregress.execution.cluster import messages, packing
from gpuregress.execution.cluster.content_store import ContentStore
from gpuregress.execution.cluster.host_agent import HostAgent
from gpuregress.execution.cluster.messages import HostFacts, SentFile
from gpuregress.foundation.records import to_json
from gpuregress.toolchain import cache
from gpuregress.toolchain.cache import code_digest

AGENTS: dict[str, HostAgent] = {}
_LOCK = threading.Lock()
_RUNS = ("executing", "long-running")
"""States of a task of a Dask worker that is still wanted."""
_ALIVE = ("running", "paused", "closing_gracefully")


def hello(dask_worker: Any) -> dict[str, Any]:
    """Return the facts of a Dask worker and its host, as JSON."""
    import socket  # noqa: PLC0415 - Dask has loaded it

    agent = _agent(dask_worker)
    architectures: tuple[str, ...] = ()
    if gpu_count(dask_worker.state.total_resources):
        from gpuregress.execution.cuda import prerequisites  # noqa: PLC0415 - asks the driver, on hosts with GPUs only

        architectures = tuple(prerequisites.architectures().values())
    facts = HostFacts(agent.identity, socket.gethostname(), agent.store.identity, code_digest(), architectures)
    plain: dict[str, Any] = to_json(facts)
    return plain


def run_case(request: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Run a case; the task of Dask.

    Args:
        request: an encoded `CaseRequest`.

    Returns:
        The encoded `CaseReply`, and compressed files by digest.
    """
    from distributed import get_worker  # noqa: PLC0415 - an extra; only Dask calls this

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in _RUNS

    reply, contents = _agent(worker).run_case(messages.request_of(request), is_wanted)
    return messages.encode(reply), contents


def warm(request: bytes, dask_worker: Any) -> None:
    """Start a worker process before there is a case for it.

    Args:
        request: an encoded `CaseRequest`, of which the device counts.
        dask_worker: from Dask.
    """
    _agent(dask_worker).warm(messages.request_of(request))


def missing(files: list[tuple[str, str, int]], dask_worker: Any) -> tuple[str, ...]:
    """Return the digests of files that the host lacks; each is given by path, digest and size."""
    return _agent(dask_worker).store.missing(SentFile(*file) for file in files)


def add_piece(file: tuple[str, str, int], sender: str, offset: int, data: bytes, dask_worker: Any) -> None:
    """Take a piece of a file; see `ContentStore.add_piece`."""
    _agent(dask_worker).store.add_piece(SentFile(*file), sender, offset, data)


def piece(run: str, path: str, offset: int, dask_worker: Any) -> bytes:
    """Return a compressed piece of a dump that was not sent with its reply."""
    return packing.compressed(_agent(dask_worker).piece(run, path, offset, messages.PIECE))


def drop_case(run: str, case: str, dask_worker: Any) -> None:
    """Forget the dumps of a case."""
    _agent(dask_worker).drop_case(run, case)


def end_run(run: str, dask_worker: Any) -> None:
    """End the processes of a run on this host, and remove its files."""
    _agent(dask_worker).end_run(run)


def gpu_count(resources: dict[str, float]) -> int:
    """Count the GPUs that a Dask worker declares."""
    return int(resources.get("GPU", 0))


def _agent(worker: Any) -> HostAgent:
    with _LOCK:
        if worker.id not in AGENTS:
            folder = Path(worker.local_directory) / "gpuregress"
            cards = gpu_count(worker.state.total_resources)
            store = ContentStore(cache.folder() / "cluster")
            AGENTS[worker.id] = HostAgent(worker.id, folder, store, cards, lambda: worker.status.name in _ALIVE)
        return AGENTS[worker.id]
