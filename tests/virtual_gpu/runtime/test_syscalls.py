"""System calls, called as compiled code calls them: by number, with packed arguments."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gpuregress.virtual_gpu.runtime import device_heap, syscalls
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_HOST, SYSTEM_CALLS, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.syscalls import Syscalls


class _Caller:
    def __init__(self) -> None:
        self.machine, self.space = Machine(), AddressSpace()
        self.calls = Syscalls(self.machine, self.space, 0, BulkCopies(self.machine, self.space, (), ()))

    def call(self, name: str, *values: int) -> int:
        arguments = (ctypes.c_uint64 * 5)(*values)
        return int(self.calls.callback(SYSTEM_CALLS.index(name), ctypes.addressof(arguments), 0))

    def text(self, text: bytes) -> int:
        region = self.space.allocate("text", len(text) + 1, zeros=True)
        region.write(np.frombuffer(text, np.uint8))
        return region.address


def test_printf_returns_the_number_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = _Caller()
    values = caller.space.allocate("values", 8)
    values.write(np.array([7, 9], np.int32).view(np.uint8))
    assert caller.call("vprintf", caller.text(b"%d and %d\n"), values.address) == 2
    assert caller.calls.output == "7 and 9\n"
    monkeypatch.setattr(syscalls, "OUTPUT_LIMIT", 10)
    caller.call("vprintf", caller.text(b"four"), 0)
    assert caller.calls.output == "7 and 9\nfo\n[2 bytes more were printed and not kept]\n"


def test_an_assertion_is_a_fault() -> None:
    caller = _Caller()
    names = (caller.text(b"n > 0"), caller.text(b"/src/k.cu"), 12, caller.text(b"void f(int)"))
    caller.call("__assertfail", *names)
    assert caller.calls.failure == ("assert", "assertion `n > 0` failed in void f(int), k.cu:12")
    assert caller.machine.fault_kind == FAULT_HOST


def test_the_heap_is_given_memory_where_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = _Caller()
    assert caller.call("malloc", 3) == 1
    monkeypatch.setattr(device_heap, "reserve", _no_memory)
    assert caller.call("malloc", 4) == 0
    assert caller.calls.failure is None


def _no_memory(size: int) -> None:
    raise OSError(f"no {size} bytes")


def test_a_string_outside_of_memory_is_a_fault() -> None:
    caller = _Caller()
    caller.call("vprintf", 0, 0)
    assert caller.calls.failure is not None
    assert caller.calls.failure[0] == "out-of-bounds"
