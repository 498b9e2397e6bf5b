from __future__ import annotations

import ctypes
import threading

import pytest

from gpuregress.devices.cuda import early


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


def _start(monkeypatch: pytest.MonkeyPatch, status: int) -> tuple[list[str], threading.Event, early.Start]:
    called: list[str] = []
    gate = threading.Event()
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: _Library(status, gate, called))
    return called, gate, early.Start(0)


def test_the_context_is_made_while_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    called, gate, start = _start(monkeypatch, 0)
    assert start.is_under_way()
    assert called == []
    gate.set()
    start.join()
    assert not start.is_under_way()
    made = [name for name in called if name.startswith("cu")]
    assert made == ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"]
    assert "nvmlInit_v2" in called


def test_a_driver_that_does_not_start_is_left_to_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    called, gate, start = _start(monkeypatch, 999)
    gate.set()
    start.join()
    assert [name for name in called if name.startswith("cu")] == ["cuInit"]


def test_no_driver_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    start = early.Start(0)
    start.join()
    assert not start.is_under_way()
