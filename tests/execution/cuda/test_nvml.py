from __future__ import annotations

import ctypes
from typing import Any

import pytest

from gpuregress.execution.cuda import nvml


class _Library:
    """A management library with two cards; one does not answer to all questions."""

    def __init__(self, *, divided: int = 0) -> None:
        self.divided, self.is_shut = divided, False

    def nvmlInit_v2(self) -> int:  # noqa: N802 - the library's
        return 0

    def nvmlShutdown(self) -> None:  # noqa: N802 - the library's
        self.is_shut = True

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802 - the library's
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, handle: Any) -> int:  # noqa: N802 - the library's
        handle._obj.value = index + 1
        return 0

    def nvmlDeviceGetCudaComputeCapability(self, _handle: Any, major: Any, minor: Any) -> int:  # noqa: N802 - the library's
        major._obj.value, minor._obj.value = 9, 0
        return 0

    def nvmlDeviceGetMigMode(self, handle: Any, mode: Any, _pending: Any) -> int:  # noqa: N802 - the library's
        mode._obj.value = self.divided if handle.value == 2 else 0
        return 0

    def nvmlDeviceGetName(self, handle: Any, buffer: Any, _size: Any) -> int:  # noqa: N802 - the library's
        buffer.value = b"card %d" % handle.value
        return 0

    def __getattr__(self, name: str) -> Any:
        return lambda *_arguments: 3  # not supported


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> _Library:
    fake = _Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: fake)
    return fake


def test_each_card_has_the_facts_that_it_answers(library: _Library) -> None:
    assert nvml.cards() == ({"name": "card 1"}, {"name": "card 2"})
    assert library.is_shut


def test_architectures_are_known_where_no_card_is_divided(library: _Library) -> None:
    assert nvml.architectures() == ("sm_90", "sm_90")
    library.divided = 1
    assert nvml.architectures() == ()


def test_without_the_library_there_are_no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not nvml.cards()
    assert not nvml.architectures()


@pytest.mark.parametrize(
    ("mask", "words"), [(0, "none"), (0x1, "idle"), (0x44, "power cap, hardware thermal slowdown"), (0x1000, "0x1000")]
)
def test_throttle_reasons(mask: int, words: str) -> None:
    assert nvml.throttle_reasons(mask) == words
