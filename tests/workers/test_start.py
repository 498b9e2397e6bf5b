from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpuregress.workers import start
from gpuregress.workers.start import ContextStart


class _Library:
    """Every function answers `status`, once the gate is open."""

    def __init__(self, status: int, gate: threading.Event, called: list[str]) -> None:
        self._status, self._gate, self._called = status, gate, called

    def __getattr__(self, name: str) -> object:
        def function(*_arguments: object) -> int:
            self._gate.wait(10)
            self._called.append(name)
            return self._status

        return function


def _start(monkeypatch: pytest.MonkeyPatch, status: int) -> tuple[list[str], threading.Event, ContextStart]:
    called: list[str] = []
    gate = threading.Event()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: _Library(status, gate, called))
    return called, gate, ContextStart(0)


def test_the_context_is_made_while_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    called, gate, begun = _start(monkeypatch, 0)
    assert called == []
    gate.set()
    begun.join()
    assert called == ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"]


def test_a_driver_that_does_not_start_is_left_to_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    called, gate, begun = _start(monkeypatch, 999)
    gate.set()
    begun.join()
    assert called == ["cuInit"]


def test_no_driver_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    ContextStart(0).join()


def test_the_worker_is_the_one_of_the_module_and_says_what_is_missing() -> None:
    """Run by its path and without `site`, it finds gpuregress and its dependencies, however they were installed."""
    code = (
        "import socket, subprocess, sys\n"
        "ours, theirs = socket.socketpair()\n"
        "command = [sys.executable, '-S', '-P', sys.argv[1], '--channel', str(theirs.fileno()), 'cuda:99']\n"
        "child = subprocess.Popen(command, pass_fds=(theirs.fileno(),))\n"
        "theirs.close()\n"
        "print(ours.makefile().read())\n"
        "sys.exit(child.wait())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(start.__file__))], check=False, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert '"say":"refused"' in done.stdout
    assert "cuda" in done.stdout
    assert done.stderr == ""
