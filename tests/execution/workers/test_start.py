from __future__ import annotations

import ctypes
import threading

import pytest

from gpuregress.execution.cuda.context_start import ContextStart


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
