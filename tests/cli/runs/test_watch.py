"""`gpuregress watch` in a process of its own: on a terminal with keys, and without one."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuregress.jobs import plan
from gpuregress.jobs.plan import Plan
from gpuregress.session import watched_jobs
from gpuregress.store.project import find
from tests.workshop import JOB, Workshop, accepted

ROOT = Path(__file__).parents[3]


class Watched:
    """A process that watches, and what it has printed.

    Args:
        shop: the project.
        on_terminal: whether stdin and stdout are a terminal.
    """

    def __init__(self, shop: Workshop, *, on_terminal: bool) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "tests.fake_main", "-C", str(shop.root), "watch", "--device", "cpu"]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=theirs if on_terminal else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "CI": "1", "NO_COLOR": "1"},
        )
        os.close(theirs)
        self._text = ""

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def until(self, text: str) -> str:
        """Wait until a text is printed; what was printed up to it since the last one."""
        deadline = time.monotonic() + 30
        while text not in self._text:
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self._text}"
            if select.select([self._ours], [], [], 1)[0]:
                self._text += os.read(self._ours, 1 << 16).decode()
        before, _, self._text = self._text.partition(text)
        return before

    def rest(self) -> str:
        """What else is printed until a second is over in which nothing should be printed."""
        time.sleep(1.0)
        while select.select([self._ours], [], [], 0)[0]:
            self._text += os.read(self._ours, 1 << 16).decode()
        text, self._text = self._text, ""
        return text

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@contextlib.contextmanager
def watching(shop: Workshop, *, on_terminal: bool) -> Iterator[Watched]:
    watched = Watched(shop, on_terminal=on_terminal)
    try:
        yield watched
    finally:
        watched.close()


def replaced(path: Path, text: str) -> None:
    """Save as many editors do: write another file, and rename it."""
    other = path.with_name(f".{path.name}.swp~")
    other.write_text(text)
    other.replace(path)


def test_a_saved_file_runs_its_job_again_and_keys_decide(fake_shop: Workshop) -> None:
    fake_shop.job(name="other")
    job = fake_shop.root / "configs/scale.yaml"
    with watching(fake_shop, on_terminal=True) as watched:
        watched.until("2 cases in")
        watched.until("[a]ccept")
        watched.press("a")
        watched.until("accepted 2 cases: ")
        replaced(job, JOB.replace("{float32: 2.0}", "{float32: 3.0}"))
        assert "\r\nscale.yaml: scale" in watched.until("1 case in")
        watched.press("d")
        watched.until("differ scale/n=100")
        replaced(job, JOB.replace("buffers:", "buffers: ["))
        watched.until("scale.yaml:")
        replaced(job, JOB)
        assert "1 pass" in watched.until("(run ") + watched.until(")")
        job.unlink()
        watched.until("scale is gone")
        fake_shop.job()
        watched.until("1 case in")
        watched.press("r")
        watched.until("2 cases in")
        watched.press("q")
        assert watched.process.wait(30) == 0


def further_runs_of_a_burst(watched: Watched, kernel: Path) -> int:
    """Save a file five times and another one that no job needs; return the number of runs after the first one."""
    for number in range(5):
        kernel.write_text(f"{kernel.read_text()}// {number}\n")
        time.sleep(0.01)
    (kernel.parent / "unused.cuh").write_text("// nobody's\n")
    watched.until("scale.cu: scale")
    watched.until("1 case in")
    text = watched.rest()
    assert "unused" not in text
    return text.count("case in")


@pytest.mark.slow  # seconds of silence, and compilations
def test_without_a_terminal_a_burst_of_saves_is_one_run_and_an_interrupt_ends_it(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    kernel = fake_shop.root / "kernels/scale.cu"
    with watching(fake_shop, on_terminal=False) as watched:
        watched.until("1 case in")
        watched.until(")")
        # A busy machine may let much time pass between two saves: one of three bursts has to be one run.
        further = [further_runs_of_a_burst(watched, kernel) for _ in range(3)]
        assert 0 in further
        watched.process.send_signal(signal.SIGINT)
        assert watched.process.wait(30) == 130


def test_what_cannot_be_watched_is_one_line(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing" in fake_shop.fails(2, "watch", "nothing")
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert "pip install 'gpuregress[watch]'" in fake_shop.fails(2, "watch")


def test_a_save_while_the_jobs_are_planned_is_seen(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fake_shop.root / "kernels/scale.cu"
    for path in fake_shop.root.rglob("*.*"):
        os.utime(path, (1, 1))
    project = find(fake_shop.root)
    make = plan.make

    def saved_meanwhile(*arguments: Any, **options: Any) -> Plan:
        made = make(*arguments, **options)
        kernel.write_text(f"{kernel.read_text()}// saved\n")
        return made

    with monkeypatch.context() as patched:
        patched.setattr(plan, "make", saved_meanwhile)
        first = watched_jobs.watched(project, (), plan.CaseFilter())
        now = first.stamps_now()
        assert first.saved(now) == {kernel}
        second = watched_jobs.watched(project, (), plan.CaseFilter(), now)
    now = second.stamps_now()
    assert second.saved(now) == {kernel}
    third = watched_jobs.watched(project, (), plan.CaseFilter(), now)
    assert third.saved(third.stamps_now()) == frozenset()
