from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.cuda import memory
from gpuregress.gpu.base import Bytes

ADDRESS = 0x7F0000001000


def _zones(size: int) -> list[Bytes]:
    """The zones of a buffer, before and behind."""
    return [memory.zone_pattern(ADDRESS - memory.ZONE_SIZE).copy(), memory.zone_pattern(ADDRESS + size).copy()]


def test_untouched_zones_are_whole() -> None:
    before, behind = _zones(40)
    assert memory.check_zones(before, behind, 40, ADDRESS) is None


def test_the_pattern_repeats_nowhere() -> None:
    words = np.concatenate([memory.zone_pattern(ADDRESS + 512 * i).view(np.uint64) for i in range(64)])
    assert len(set(words.tolist())) == words.size


def test_an_element_copied_from_another_zone_is_found() -> None:
    before, behind = _zones(4000)
    behind[:4] = memory.zone_pattern(ADDRESS + 8192)[:4]
    breach = memory.check_zones(before, behind, 4000, ADDRESS)
    assert breach is not None
    assert breach.first == 4000


@given(
    st.booleans(),
    st.integers(0, memory.ZONE_SIZE - 1),
    st.integers(1, 32),
    st.integers(0, 10_000),
    st.integers(1, 255),
)
def test_every_changed_byte_is_found(behind: bool, at: int, count: int, size: int, change: int) -> None:  # noqa: FBT001 - drawn
    zones = _zones(size)
    last = min(at + count, memory.ZONE_SIZE)
    zones[behind][at:last] ^= np.uint8(change)
    breach = memory.check_zones(zones[0], zones[1], size, ADDRESS)
    start = size if behind else -memory.ZONE_SIZE
    assert breach is not None
    assert (breach.first, breach.last, breach.changed) == (start + at, start + last - 1, last - at)
    assert breach.now == zones[behind][at : at + 16].tobytes()


@pytest.mark.parametrize(
    ("breach", "message"),
    [
        (
            memory.Breach(4000, 4003, 4, bytes.fromhex("0000803f1111")),
            "4 bytes written after x: bytes 4000 to 4003, at x[1000] (x has 1000), now 00 00 80 3f",
        ),
        (memory.Breach(-1, -1, 1, b"\1"), "1 byte written before x: byte -1, at x[-1] (x has 1000), now 01"),
        (
            memory.Breach(4004, 4013, 3, bytes(16)),
            "3 of 10 bytes written after x: bytes 4004 to 4013, at x[1001] (x has 1000), now " + " ".join(["00"] * 10),
        ),
    ],
)
def test_a_breach_in_words(breach: memory.Breach, message: str) -> None:
    assert memory.describe_breach(breach, "x", 4000, 4) == message
