from __future__ import annotations

import sys
from typing import Any

import pytest

from gpuregress.execution.cuda import nvml


class _Pynvml:
    """The package with two cards; one does not answer to all questions."""

    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM, NVML_CLOCK_MEM = 0, 1, 2
    NVMLError = RuntimeError

    def __init__(self) -> None:
        self.divided, self.is_shut = 0, False

    def nvmlInit(self) -> None:  # noqa: N802 - the library's
        pass

    def nvmlShutdown(self) -> None:  # noqa: N802 - the library's
        self.is_shut = True

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - the library's
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - the library's
        return index + 1

    def nvmlDeviceGetCudaComputeCapability(self, _handle: int) -> tuple[int, int]:  # noqa: N802 - the library's
        return 9, 0

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:  # noqa: N802 - the library's
        return [self.divided if handle == 2 else 0, 0]

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802 - the library's
        return f"card {handle}"

    def nvmlDeviceGetClockInfo(self, handle: int, clock: int) -> int:  # noqa: N802 - the library's
        if handle == 2:
            raise self.NVMLError
        return 1000 * clock

    def __getattr__(self, name: str) -> Any:
        def refuse(*_arguments: object) -> None:
            raise self.NVMLError

        return refuse


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> _Pynvml:
    fake = _Pynvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_each_card_has_the_facts_that_it_answers(library: _Pynvml) -> None:
    first = {"name": "card 1", "sm_clock": "1000 MHz", "memory_clock": "2000 MHz"}
    assert nvml.cards() == (first, {"name": "card 2"})
    assert nvml.cards(numbers=[1]) == ({}, {"name": "card 2"})
    assert library.is_shut


def test_architectures_are_known_where_no_card_is_divided(library: _Pynvml) -> None:
    assert nvml.architectures() == ("sm_90", "sm_90")
    library.divided = 1
    assert nvml.architectures() == ()


def test_without_the_library_there_are_no_cards(library: _Pynvml, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise library.NVMLError

    monkeypatch.setattr(library, "nvmlInit", refuse)
    assert not nvml.cards()
    assert not nvml.architectures()


def test_without_the_package_there_are_no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # which the import refuses
    assert not nvml.cards()
    assert not nvml.architectures()


@pytest.mark.parametrize(
    ("mask", "words"), [(0, "none"), (0x1, "idle"), (0x44, "power cap, hardware thermal slowdown"), (0x1000, "0x1000")]
)
def test_throttle_reasons(mask: int, words: str) -> None:
    assert nvml.throttle_reasons(mask) == words
