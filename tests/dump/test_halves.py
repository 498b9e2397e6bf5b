"""The shortest decimals of 16-bit floats, against an exhaustive search by exact arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress import dtypes
from gpuregress.dtypes import Scalar
from gpuregress.dump import halves
from tests.dump import oracle

HALVES = [dtypes.parse(name).parts[0].scalar for name in ("float16", "bfloat16")]


def shortest_length(code: int, scalar: Scalar) -> int:
    """Digits of the shortest decimal strictly inside, or for even patterns on, the rounding interval."""
    value, below = Fraction(oracle.number(code, scalar)), Fraction(oracle.number(code - 1, scalar))
    above = oracle.number(code + 1, scalar)
    low, high = (value + below) / 2, value + (Fraction(above) - value) / 2 if np.isfinite(above) else value * 2
    exponent = len(str(int(value))) if value >= 1 else -len(str(int(1 / value))) + 2
    for digits in range(1, 12):
        for power in (exponent - digits - 1, exponent - digits, exponent - digits + 1):
            step = Fraction(10) ** power
            first = -(-low // step)  # the first multiple that is not below the interval
            if first * step == low and code % 2:
                first += 1
            if (first * step < high or (first * step == high and code % 2 == 0)) and len(
                str(first).rstrip("0")
            ) <= digits:
                return digits
    raise AssertionError(code)


@pytest.mark.parametrize("scalar", HALVES, ids=lambda scalar: scalar.name)
def test_no_decimal_is_shorter(scalar: Scalar) -> None:
    """All powers of two, where the interval is lopsided, and every 37th number."""
    infinity = 0x7C00 if scalar.name == "float16" else 0x7F80
    step = 0x400 if scalar.name == "float16" else 0x80
    codes = sorted({*range(step, infinity, step), *range(1, infinity - 1, 37)})
    table = halves.shortest(scalar)
    for code in codes:
        word = f"{float(str(table[code])):e}"
        digits = len(word.partition("e")[0].replace(".", "").rstrip("0"))
        assert digits == shortest_length(code, scalar), (code, table[code])


@pytest.mark.parametrize("scalar", HALVES, ids=lambda scalar: scalar.name)
def test_every_number_reads_back_and_no_decimal_as_short_is_nearer(scalar: Scalar) -> None:
    """All 65,536 patterns: the decimal stands for its number, and its neighbours of as many digits are no nearer."""
    infinity = 0x7C00 if scalar.name == "float16" else 0x7F80
    table = halves.shortest(scalar)
    assert np.isnan(table[infinity + 1 : 0x8000]).all()
    assert np.isnan(table[0x8000 + infinity + 1 :]).all()
    for code in [*range(infinity + 1), *range(0x8000, 0x8000 + infinity + 1)]:
        assert oracle.bits_of(str(table[code]), scalar) == code, (code, table[code])
    for code in range(1, infinity):
        exact, decimal = Fraction(oracle.number(code, scalar)), Decimal(str(table[code])).normalize()
        off, step = abs(Fraction(decimal) - exact), Fraction(10) ** int(decimal.as_tuple().exponent)
        assert off <= step / 2 or not any(
            oracle.bits_of(str(float(Fraction(decimal) + side)), scalar) == code
            and abs(Fraction(decimal) + side - exact) < off
            for side in (step, -step)
        ), (code, table[code])


@given(st.floats(allow_nan=False))
def test_rounding_once_to_bfloat16(value: float) -> None:
    assert int(halves.round_to_bits(np.array([value]), oracle.BFLOAT16)[0]) == oracle.nearest_bfloat16(value)


@given(st.integers(0, 0x7F7F), st.sampled_from([-1, 0, 1]))
def test_rounding_near_a_tie_to_bfloat16(code: int, nudge: int) -> None:
    """Rounding first to float32 would go wrong here."""
    tie = (oracle.number(code, oracle.BFLOAT16) + oracle.number(min(code + 1, 0x7F7F), oracle.BFLOAT16)) / 2
    value = np.nextafter(tie, np.inf * nudge) if nudge else tie
    assert int(halves.round_to_bits(np.array([value]), oracle.BFLOAT16)[0]) == oracle.nearest_bfloat16(float(value))
