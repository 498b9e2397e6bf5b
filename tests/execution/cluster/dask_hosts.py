"""A Dask scheduler and Dask workers on loopback, each a process forked from one that has loaded Dask.

    python -m tests.execution.cluster.dask_hosts

It reads a JSON object a line, forks a process for it, and writes what that process tells: an address and its number.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import is_running, wait_until

ROOT = Path(__file__).parents[3]
INLINE_BYTES = 2000
PIECE = 1000
"""Small, so that tests of large files need none."""
_PR_SET_PDEATHSIG = 1


@dataclass
class DaskProcess:
    """A scheduler, a worker or a client that was started."""

    pid: int
    address: str = ""

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not is_running(self.pid))


class Hosts:
    """The processes that a test session starts; each worker has a cache and a folder of its own, as a host has.

    Args:
        folder: for what they write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made = 0
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.execution.cluster.dask_hosts"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "GPUREGRESS_CPU_THREADS": "1"},
        )

    def scheduler(self) -> DaskProcess:
        return self._start(do="scheduler")

    def worker(self, scheduler: DaskProcess, name: str = "", **options: Any) -> DaskProcess:
        """Options: resources, threads, host (its name), version, cache (of another worker)."""
        self._made += 1
        folder = self.folder / f"{self._made}{name}"
        cache = options.pop("cache", str(folder / "cache"))
        return self._start(do="worker", scheduler=scheduler.address, folder=str(folder), cache=cache, **options)

    def client(self, function: str, *arguments: str) -> DaskProcess:
        """Call `module:function` in a process that dies without a word."""
        return self._start(do="client", function=function, arguments=arguments)

    def close(self) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(60)
        self._server.stdout.close()

    def _start(self, **request: Any) -> DaskProcess:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return DaskProcess(**json.loads(self._server.stdout.readline()))


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Hosts]:
    hosts = Hosts(folder)
    try:
        yield hosts
    finally:
        hosts.close()


def _serve() -> None:
    for module in (
        "distributed",
        "gpuregress.execution.cluster.host",
        "gpuregress.execution.cluster.pool",
        "gpuregress.execution.runner",
    ):
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(2, 1)
            try:
                _become(json.loads(line), writer)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            sys.stdout.write(answer.readline())
            sys.stdout.flush()


def _become(request: dict[str, Any], told: int) -> None:
    if request["do"] == "client":
        module, _, name = request["function"].partition(":")
        _tell(told, "")
        getattr(importlib.import_module(module), name)(*request["arguments"])
        return
    logging.disable(logging.CRITICAL)
    asyncio.run(_scheduler(told) if request["do"] == "scheduler" else _worker(request, told))


def _tell(told: int, address: str) -> None:
    os.write(told, json.dumps({"pid": os.getpid(), "address": address}).encode() + b"\n")
    os.close(told)


async def _scheduler(told: int) -> None:
    from distributed import Scheduler  # noqa: PLC0415 - the parent starts sooner without

    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        _tell(told, scheduler.address)
        await scheduler.finished()


async def _worker(request: dict[str, Any], told: int) -> None:
    from distributed import Worker  # noqa: PLC0415 - as above

    from gpuregress.execution.cluster import host, members, messages, replies  # noqa: PLC0415 - as above

    os.environ["GPUREGRESS_CACHE"] = request["cache"]
    replies.INLINE_BYTES, messages.PIECE = INLINE_BYTES, PIECE
    if "host" in request:
        socket.gethostname = lambda: str(request["host"])
    if "version" in request:
        vars(importlib.import_module("gpuregress"))["__version__"] = request["version"]
    if "code" in request:
        vars(members)["code_digest"] = vars(host)["code_digest"] = lambda: request["code"]
    shutil.rmtree(request["folder"], ignore_errors=True)
    Path(request["folder"]).mkdir(parents=True)
    async with Worker(
        request["scheduler"],
        nthreads=request.get("threads", 1),
        resources=request.get("resources"),
        local_directory=request["folder"],
        dashboard=False,
    ) as worker:
        _tell(told, worker.address)
        await worker.finished()


if __name__ == "__main__":
    _serve()
