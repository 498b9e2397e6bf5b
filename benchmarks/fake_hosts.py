"""10,000 cases on 100 hosts that are not there: what of the client limits a cluster.

    python -m benchmarks.fake_hosts [HOSTS [CASES [SECONDS]]]

Each host is an entry in a queue of this process. It answers a batch when its cases would have ended, if they took
SECONDS each (0.005). Requests and replies are encoded and decoded as they travel. The client's processor is that of the
pool and its messages. Judging is the same as on one machine, and comes on top. Dask and the work of the hosts are not
counted.
"""

from __future__ import annotations

import heapq
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from gpuregress.execution.cluster import messages
from gpuregress.execution.cluster.link import BatchReplied, CaseResult, LinkEvent, MembersChanged
from gpuregress.execution.cluster.members import ClusterMember
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, HostFacts
from gpuregress.execution.cluster.pool import ClusterPool, PoolOptions
from gpuregress.execution.cluster.replies import ReplyFiles
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Outcome
from tests import fakes


class FakeHosts:
    """A link to hosts that only wait."""

    def __init__(self, hosts: int, case_s: float) -> None:
        self.hosts_s, self.batches, self.busy_s = 0.0, 0, 0.0
        self._case_s = case_s
        self._ends: list[tuple[float, int, list[bytes]]] = []
        self._reader, self._writer = os.pipe()
        members = []
        for number in range(hosts):
            facts = HostFacts(worker=f"w{number}", host=f"node{number}", store=f"s{number}", code="")
            members.append(ClusterMember(f"tcp://node{number}:1", facts))
        self._inbox: list[LinkEvent] = [MembersChanged(tuple(members))]
        self._free: dict[str, float] = {}
        self._changed = threading.Condition()
        os.write(self._writer, b"!")
        threading.Thread(target=self._wait, daemon=True).start()

    def __call__(self, *_arguments: Any) -> FakeHosts:
        return self

    def fileno(self) -> int:
        return self._reader

    def submit(self, ticket: int, requests: Sequence[CaseRequest], member: ClusterMember) -> None:
        data = [messages.encode(request) for request in requests]
        began = time.thread_time()
        cases = [messages.request_of(request).case for request in data]
        outcomes = [Outcome(case, "done", seconds=self._case_s) for case in cases]
        answers = [messages.encode(CaseReply("done", outcome)) for outcome in outcomes]
        self.hosts_s += time.thread_time() - began
        self.batches += 1
        with self._changed:
            start = max(time.monotonic(), self._free.get(member.address, 0.0))
            self._free[member.address] = end = start + self._case_s * len(answers)
            self.busy_s += end - start
            heapq.heappush(self._ends, (end, ticket, answers))
            self._changed.notify()

    def _wait(self) -> None:
        while True:
            with self._changed:
                left_s = self._ends[0][0] - time.monotonic() if self._ends else None
                if left_s is None or left_s > 0:
                    self._changed.wait(left_s)
                    continue
            os.write(self._writer, b"!")
            time.sleep(0.001)

    def events(self) -> list[LinkEvent]:
        os.read(self._reader, 1 << 16)
        happened, self._inbox = self._inbox, []
        ended = []
        with self._changed:
            while self._ends and self._ends[0][0] <= time.monotonic():
                ended.append(heapq.heappop(self._ends))
        for _, ticket, answers in ended:
            results = tuple(CaseResult(messages.reply_of(answer), ReplyFiles()) for answer in answers)
            happened.append(BatchReplied(ticket, results))
        return happened

    def close(self) -> None:
        """Nothing is open that the end of the process does not close."""


def main(hosts: int = 100, cases: int = 10_000, case_s: float = 0.005) -> None:
    link = FakeHosts(hosts, case_s)
    with (
        tempfile.TemporaryDirectory() as name,
        StopSignal() as stop,
        mock.patch("gpuregress.execution.cluster.pool.ClusterLink", link),
        ClusterPool("tcp://s:1", "run", Path(name), PoolOptions(), stop) as pool,
    ):
        tasks = [fakes.task(fakes.case("double", name=f"fake/{at}"), Path(name), at) for at in range(cases)]
        began, began_s = time.monotonic(), time.thread_time()
        ended = sum(isinstance(event, Outcome) for event in pool.run(tasks))
        wall_s, client_s = time.monotonic() - began, time.thread_time() - began_s - link.hosts_s
    assert ended == cases
    print(f"{cases} cases of {1e3 * case_s:g} ms on {hosts} hosts: {wall_s:.2f} s, {link.batches} batches")
    share = link.busy_s / wall_s / hosts
    print(f"client: {1e3 * client_s / cases:.3f} ms of processor a case; hosts are busy {share:.0%} of the time")


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, int, float), sys.argv[1:], strict=False)))
