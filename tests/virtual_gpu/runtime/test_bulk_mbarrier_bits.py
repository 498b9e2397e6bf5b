from __future__ import annotations

from gpuregress.virtual_gpu.runtime.bulk_forms import BYTES_SHIFT, EXPECTED_SHIFT, PARITY_SHIFT, with_bytes_done


def test_the_last_bytes_begin_the_next_phase() -> None:
    value = 3 << EXPECTED_SHIFT | 48 << BYTES_SHIFT
    value = with_bytes_done(value, 32)
    assert value == 3 << EXPECTED_SHIFT | 16 << BYTES_SHIFT
    assert with_bytes_done(value, 16) == 1 << PARITY_SHIFT | 3 << EXPECTED_SHIFT | 3


def test_a_phase_waits_for_its_arrivals_too() -> None:
    assert with_bytes_done(1 << EXPECTED_SHIFT | 1 | 16 << BYTES_SHIFT, 16) == 1 << EXPECTED_SHIFT | 1


def test_bytes_may_arrive_before_they_are_expected() -> None:
    early = with_bytes_done(1 << EXPECTED_SHIFT | 1, 16)
    assert early != 1 << EXPECTED_SHIFT | 1
    assert (early + (16 << BYTES_SHIFT)) % (1 << PARITY_SHIFT) == 1 << EXPECTED_SHIFT | 1
