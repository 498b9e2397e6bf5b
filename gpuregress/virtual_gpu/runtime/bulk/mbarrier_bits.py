"""Bits of an mbarrier object, which the PTX manual does not define.

Bits 0-19: pending arrivals of this phase; 20-39: expected arrivals of each phase; 40-62: pending bytes of this phase;
63: the phase's parity. Code for the instructions is in `isa.memory.mbarrier`.
"""

from __future__ import annotations

COUNT = (1 << 20) - 1
BYTES = (1 << 23) - 1
EXPECTED_SHIFT, BYTES_SHIFT, PARITY_SHIFT = 20, 40, 63


def with_bytes_done(value: int, count: int) -> int:
    """Subtract arrived bytes from the pending ones, and begin the next phase if nothing else is pending.

    Args:
        value: the object's bits.
        count: bytes.
    """
    pending = ((value >> BYTES_SHIFT) - count) & BYTES
    value = value & ~(BYTES << BYTES_SHIFT) | pending << BYTES_SHIFT
    if pending or value & COUNT:
        return value
    expected = value >> EXPECTED_SHIFT & COUNT
    return (value ^ 1 << PARITY_SHIFT) & ~COUNT | expected
