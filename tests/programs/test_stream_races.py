"""Work of streams that nothing orders, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.programs import stream_races
from gpuregress.programs.stream_races import Clock, StreamRaces, Work
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import (
    PLAIN_READ,
    PLAIN_WRITE,
    STRONG_READ,
    STRONG_WRITE,
    TouchedBytes,
)


def _work(stream: int, before: tuple[int, ...], address: int, kinds: list[int], step: int = 4) -> Work:
    clock = Clock(stream=stream, count=before[stream], program=(0, 0), before=before)
    touched = TouchedBytes(address, step, np.array(kinds, np.uint8), np.zeros(0, np.uint16))
    return Work(f"work {stream}", clock, (touched,))


@pytest.mark.parametrize(
    ("kinds", "others", "is_race"),
    [
        (PLAIN_READ, PLAIN_READ, False),
        (PLAIN_READ, PLAIN_WRITE, True),
        (PLAIN_WRITE, PLAIN_WRITE, True),
        (STRONG_WRITE, STRONG_WRITE, False),
        (STRONG_READ | STRONG_WRITE, STRONG_READ, False),
        (STRONG_WRITE, PLAIN_READ, True),
        (PLAIN_WRITE, STRONG_READ, True),
    ],
)
def test_kinds_of_accesses(kinds: int, others: int, *, is_race: bool) -> None:
    for first, second in ((kinds, others), (others, kinds)):
        races = StreamRaces()
        assert list(races.add(_work(0, (1, 0), 1000, [first]))) == []
        assert bool(list(races.add(_work(1, (0, 1), 1000, [second])))) == is_race


def test_first_common_byte_of_granules_of_two_sizes() -> None:
    races = StreamRaces()
    list(races.add(_work(0, (1, 0), 1000, [0, PLAIN_WRITE, PLAIN_WRITE])))
    # Bytes 1002 to 1007, of which the first two are in a granule that was not touched.
    (conflict,) = races.add(_work(1, (0, 1), 1002, [PLAIN_READ] * 6, step=1))
    assert conflict.address == 1004
    assert list(races.add(_work(1, (0, 2), 1012, [PLAIN_WRITE]))) == []


def test_it_says_that_the_oldest_work_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_races, "_MOST_BYTES", 5)
    races = StreamRaces()
    list(races.add(_work(0, (1, 0), 1000, [PLAIN_WRITE] * 3)))
    whole = races.is_cut
    list(races.add(_work(0, (2, 0), 2000, [PLAIN_WRITE] * 3)))
    assert (whole, races.is_cut) == (False, True)
    assert list(races.add(_work(1, (0, 1), 1000, [PLAIN_WRITE]))) == []


def test_order_and_memory_that_is_freed() -> None:
    races = StreamRaces()
    list(races.add(_work(0, (1, 0), 1000, [PLAIN_WRITE])))
    assert list(races.add(_work(1, (1, 1), 1000, [PLAIN_WRITE]))) == [], "the first work is before the second"
    assert len(list(races.add(_work(0, (2, 0), 1000, [PLAIN_WRITE])))) == 1, "but the third is not after it"
    races.forget(1000, 1004)
    assert list(races.add(_work(1, (0, 2), 1000, [PLAIN_WRITE]))) == []
