"""Heap of kernels on a card: its size is set once in a context, and what was allocated goes with the context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.cuda import cooperative
from gpuregress.execution.cuda.device import CudaDevice
from gpuregress.execution.cuda.memory import Heap
from gpuregress.foundation.records import DEFAULT_HEAP, Program
from gpuregress.gpu.records import replace
from tests.execution.cuda.fake_api import FakeApi
from tests.execution.cuda.fake_card import program_in


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []

    def call(name: str, *_arguments: Any) -> None:
        calls.append(name)

    monkeypatch.setattr(cooperative, "call", call)
    return calls


@pytest.fixture
def program(tmp_path: Path) -> Callable[[bool], Program]:
    def made(allocates: bool) -> Program:  # noqa: FBT001 - the only argument
        plain = program_in(tmp_path, "")
        image = tmp_path / f"{allocates}.cubin"
        image.write_bytes(b"\0malloc\0" if allocates else b"\0")
        (tmp_path / "k.ptx").write_text(".entry fill()")
        return replace(plain, cubin=str(image), ptx=str(tmp_path / "k.ptx"))

    return made


def test_the_default_asks_nothing_of_the_card(
    api: FakeApi, device: CudaDevice, resets: list[str], program: Callable[[bool], Program]
) -> None:
    device.limit_heap(DEFAULT_HEAP)
    device.load(program(False))
    device.free_all()
    device.load(program(False))
    assert (api.limits, resets) == ([], [])


def test_a_size_is_set_before_the_first_program_is_loaded(
    api: FakeApi, device: CudaDevice, resets: list[str], program: Callable[[bool], Program]
) -> None:
    device.limit_heap(64 << 20)
    device.load(program(False))
    device.load(program(False))
    device.free_all()
    device.limit_heap(DEFAULT_HEAP)
    device.load(program(False))
    assert api.limits == [("heap", 64 << 20), ("heap", DEFAULT_HEAP)]
    assert resets == []


def test_a_heap_that_was_used_is_emptied_with_its_context(
    api: FakeApi, device: CudaDevice, resets: list[str], program: Callable[[bool], Program]
) -> None:
    device.limit_heap(64 << 20)
    for _ in range(2):
        device.load(program(True))
        device.free_all()
    assert resets == ["cuDeviceGet", "cuDevicePrimaryCtxReset_v2"]
    assert api.limits == [("heap", 64 << 20)] * 2
    device.limit_heap(DEFAULT_HEAP)
    device.load(program(False))
    assert len(resets) == 4
    assert len(api.limits) == 2
    assert device.allocate("x", 16).size == 16


def test_a_new_context_has_the_default() -> None:
    heap = Heap(wanted=1 << 25, size=1 << 25)
    heap.begin()
    assert heap.must_change
