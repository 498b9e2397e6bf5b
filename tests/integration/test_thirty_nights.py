"""Thirty nights of a small project over its git history: the first line of each morning, its exit code, no change."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuregress.foundation import clock
from gpuregress.session import session
from gpuregress.session.run_request import Machinery
from gpuregress.store.dumps import run_names
from tests import preloaded
from tests.execution.cluster import dask_hosts
from tests.execution.cluster.dask_hosts import Hosts
from tests.workshop import Workshop

ROOT = Path(__file__).parents[2]
KERNEL = """\
extern "C" __global__ void NAME(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
"""
JOB = """\
source: ../kernels/NAME.cu
parameters: {n: [32]}
buffers:
  x: {dtype: float32, shape: [n], fill: arange}
  out: {dtype: float32, shape: [n]}
launches: [{kernel: NAME, grid: [1], block: [32], args: [out, x, {int32: n}]}]
"""
RIGHT = "2.0f * x[i]"
TENTH = "0.2f * x[i]"
TOO_FAR = "2.0f * x[i + 1000]"
LOOP = "if (i < n) for (int k = 0; k < 9 * n; ++k) out[i] = 2.0f * x[i];"
FILLS = """\
import os, signal, time
from pathlib import Path

WEATHER = Path("WEATHER")

def ones(shape):
    weather = WEATHER.read_text()
    if weather == "storm":  # the process that started this one dies, once
        WEATHER.write_text("")
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)  # this one dies with it
    return [2.0 if weather == "rain" else 1.0] * shape[0]
"""
NO_DEVICE = """
from gpuregress.foundation.errors import DeviceError
from gpuregress.execution.workers import child

def broken(name):
    raise DeviceError("the device fell off the bus")

child.serve_and_leave(broken)
"""

NO_SPACE = """
import errno, os
from gpuregress.foundation import storage
from gpuregress.store.dumps import writer
from gpuregress.execution.workers import child

def full(*paths, **more):
    with storage.disk_errors(paths[-1], "write"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

os.link = writer.atomic = full
child.serve_and_leave()
"""


@dataclass
class Nights:
    """The project, its repository and its calendar.

    Attributes:
        shop: the project.
        weather: the file outside of the project that its fill reads.
        patch: sets the clock.
        day: of November 2026.
    """

    shop: Workshop
    weather: Path
    patch: pytest.MonkeyPatch
    day: int = 0

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.shop.root), "-c", "user.name=N", "-c", "user.email=e@x", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def edit(self, *changes: tuple[str, str], name: str = "scale", commit: bool = True) -> str:
        """Write a kernel with some of its text replaced, and commit it; returns the commit."""
        text = KERNEL.replace("NAME", name)
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.shop.write(f"kernels/{name}.cu", text)
        return self.commit(f"Change {name}") if commit else ""

    def job(self, name: str, *changes: tuple[str, str], more: str = "") -> None:
        text = JOB.replace("NAME", name)
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.shop.write(f"configs/{name}.yaml", text + more)

    def commit(self, subject: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "--short=7", "HEAD")

    def accept(self, *cases: str) -> str:
        run = self.shop.call("run", "--device", "cpu", *cases)
        assert run.exit_code in (0, 1), run.output
        accepted = self.shop.call("accept", *cases, "-m", "right")
        assert accepted.exit_code == 0, accepted.output
        return self.commit("Accept")

    def next(self) -> int:
        """The clock goes on to the next night."""
        self.day += 1
        self.patch.setenv(clock.VARIABLE, f"2026-11-{self.day:02}T02:00:00+00:00")
        return self.day

    def morning(self, first_line: str, code: int, *more: str) -> str:
        """Run the next night; check its first line and that it changed nothing. Returns what it printed."""
        self.next()
        return self.rest_of_night(first_line, code, *more)

    @property
    def head(self) -> str:
        """The abbreviated commit of the last night."""
        return self.git("rev-parse", "--short=7", "HEAD")

    def rest_of_night(self, first_line: str, code: int, *more: str) -> str:
        done = self.shop.call("nightly", "--device", "cpu", *more)
        told = (done.stdout or done.stderr).partition("\n")[0]
        if first_line.endswith("…"):
            told = f"{told[: len(first_line) - 1]}…"
        assert (told, done.exit_code) == (first_line, code), f"{self.day} Nov:\n{done.output}"
        assert "Traceback" not in done.output
        assert self.git("status", "--porcelain") == ""
        return done.output


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """Five jobs of six cases, accepted and committed on the evening before the first night."""
    weather = tmp_path / "weather"
    weather.write_text("")
    made = Nights(Workshop(tmp_path / "project"), weather, monkeypatch)
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(clock.VARIABLE, "2026-10-31T18:00:00+00:00")
    for name in ("scale", "work", "near", "random", "later"):
        made.edit(name=name, commit=False)
        made.job(name)
    made.job("scale", ("[32]", "[32, 31]"))
    made.job("near", more="compare: {out: {rtol: 1.0e-3}}\n")
    made.shop.write("configs/fills.py", FILLS.replace('WEATHER")', f'{weather}")'))
    made.job("random", ("fill: arange", "fill: {python: 'fills.py:ones'}"))
    made.git("init", "-q", "-b", "trunk")
    made.accept()
    return made


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with dask_hosts.opened(tmp_path / "hosts") as opened:
        yield opened


@pytest.mark.slow
def test_thirty_nights(nights: Nights, monkeypatch: pytest.MonkeyPatch, hosts: Hosts) -> None:
    nights.morning("", 0)
    nights.commit("Say more in the readme")
    nights.morning("", 0)
    a_bug_comes_goes_and_comes_back(nights)
    assert nights.day == 9
    a_slow_down_and_a_tolerance(nights)
    assert nights.day == 13
    a_case_vanishes(nights)
    assert nights.day == 16
    a_known_failure_passes(nights)
    assert nights.day == 19
    a_night_is_killed(nights)
    assert nights.day == 20
    the_disk_fills_and_the_device_dies(nights, monkeypatch)
    assert nights.day == 24
    a_host_is_lost(nights, hosts)
    assert nights.day == 25
    a_case_is_flaky_and_a_job_is_broken(nights)
    assert nights.day == 30
    assert len(nights.shop.call("history", "--last", "100").stdout.splitlines()) > 30


def a_bug_comes_goes_and_comes_back(nights: Nights) -> None:
    good = nights.head
    bug = nights.edit((RIGHT, TENTH))
    told = nights.morning(f"2 new failures: scale — 1 commit since {good}", 1)
    assert "scale/n=32" in told
    assert "all are 1/10 of what they should be" in told
    assert f"  suspects: {bug} Change scale (" in told
    told = nights.morning(f"2 still failing: scale (since 3 Nov, {good}..{bug})", 1)
    assert f"(since 3 Nov, {good}..{bug}; 2 nights)" in told
    nights.edit()
    assert f"(failed 2 nights, since 3 Nov, {good}..{bug})" in nights.morning("2 fixed: scale", 0)
    nights.morning("", 0)
    good = nights.head
    bug = nights.edit((RIGHT, TENTH))
    nights.morning(f"2 new failures: scale — 1 commit since {good}", 1)
    nights.edit((RIGHT, TOO_FAR))
    told = nights.morning("2 failing differently: scale", 3)
    assert "out-of-bounds" in told
    nights.edit()
    assert f"(failed 2 nights, since 7 Nov, {good}..{bug})" in nights.morning("2 fixed: scale", 0)


def a_slow_down_and_a_tolerance(nights: Nights) -> None:
    slow = nights.edit(("if (i < n) out[i] = 2.0f * x[i];", LOOP), name="work")
    nights.morning("1 slower: work", 0)
    near = nights.edit((RIGHT, "2.0018f * x[i]"), name="near")
    told = nights.morning("1 slower: work; 1 near its tolerance", 0)
    assert re.search(rf"slower   work/n=32 .* times as many, since 10 Nov, at {slow}", told)
    assert "near     near/n=32  90 % of its tolerance is used, 0 % on the last night" in told
    assert near not in told
    nights.morning("", 0)
    nights.edit(name="near")
    nights.accept("work")
    nights.morning("", 0)


def a_case_vanishes(nights: Nights) -> None:
    good = nights.head
    nights.job("scale")
    gone = nights.commit("Forget a case")
    nights.morning(f"1 new failure: scale — 1 commit since {good}", 1)
    told = nights.morning(f"1 still failing: scale (since 14 Nov, {good}..{gone})", 1)
    assert "scale/n=31 vanished" in told
    assert nights.shop.call("accept", "--prune").exit_code == 0
    nights.commit("Prune")
    nights.morning("", 0)


def a_known_failure_passes(nights: Nights) -> None:
    nights.job("later", more="known_failing: {until: 2026-12-24, why: a new driver}\n")
    nights.edit((RIGHT, TENTH), name="later")
    nights.morning("", 0)
    nights.edit(name="later")
    told = nights.morning("1 new failure: …", 1)
    assert "known_failing" in told
    nights.job("later")
    nights.commit("It is well")
    nights.morning("1 fixed: later", 0)


def a_night_is_killed(nights: Nights) -> None:
    nights.next()
    nights.weather.write_text("storm")
    command = ("-m", "gpuregress", "-C", str(nights.shop.root), "nightly", "--device", "cpu")
    code, printed, _ = preloaded.run(command, ROOT, os.environ, 300.0)
    assert (code, printed) == (-signal.SIGKILL, "")
    assert nights.git("status", "--porcelain") == ""
    runs = run_names.every(nights.shop.root / "runs")
    told = nights.rest_of_night("nothing new", 0, "--resume")
    assert "this night was cut short and continued: " in told
    assert run_names.every(nights.shop.root / "runs") == runs


def the_disk_fills_and_the_device_dies(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    statvfs = os.statvfs

    def full(path: str) -> os.statvfs_result:
        values = list(statvfs(path))
        values[3] = values[4] = 0  # free blocks
        return os.statvfs_result(values)

    with monkeypatch.context() as before:
        before.setattr(os, "statvfs", full)
        told = nights.morning("gpuregress: too little space on the disk of …", 4)
        assert "nothing was run" in told
    with workers(monkeypatch, NO_SPACE):
        told = nights.morning("5 new failures: …", 4)
        assert "no space is left on the disk; free some" in told
    with workers(monkeypatch, NO_DEVICE):
        told = nights.morning("5 failing differently: …", 4)
        assert "the device fell off the bus" in told
    nights.morning("5 fixed: …", 0)


@contextlib.contextmanager
def workers(monkeypatch: pytest.MonkeyPatch, program: str) -> Iterator[None]:
    """Let the workers of a night run another program."""
    machinery = Machinery((sys.executable, "-c", program))
    with monkeypatch.context() as changed:
        changed.setattr(session, "MACHINERY", machinery)
        yield


def a_host_is_lost(nights: Nights, hosts: Hosts) -> None:
    scheduler = hosts.scheduler()
    for number in range(2):
        hosts.worker(scheduler, host=f"node{number}")
    nights.weather.write_text("storm")
    told = nights.morning("nothing new", 0, "--cluster", scheduler.address)
    assert re.search(r"node[01] \(tcp://\S+\) was lost during the run; its launch logs are lost with it: random", told)


def a_case_is_flaky_and_a_job_is_broken(nights: Nights) -> None:
    nights.weather.write_text("rain")
    nights.morning("1 new failure: random — no commit since …", 1)
    nights.weather.write_text("")
    nights.morning("1 fixed: random", 0)
    assert "no case is flaky" in nights.shop.call("flaky").stdout
    nights.weather.write_text("rain")
    told = nights.morning("1 flaky: random", 1)
    assert "its verdict changes, and its code does not" in told
    listed = nights.shop.call("flaky")
    assert listed.exit_code == 1
    assert re.fullmatch(r"random/\S+  cpu  revision \S+  (pass )*pass differ pass differ\n", listed.stdout)
    nights.weather.write_text("")
    nights.edit((";", ""), name="work")
    told = nights.morning("1 new failure: work — …", 3)
    assert "work.cu:4: error" in told
    nights.edit(name="work")
    nights.weather.write_text("rain")
    nights.morning("1 fixed: work; 1 flaky", 0)
