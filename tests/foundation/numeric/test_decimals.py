"""Shortest decimals: 16-bit floats against exact arithmetic, the other types against numpy."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import hypothesis.extra.numpy as hnp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric import decimals
from tests.store.dumps import oracle

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
    table = decimals.shortest(np.arange(1 << 16, dtype="<u2"), scalar)
    for code in codes:
        word = f"{float(str(table[code])):e}"
        digits = len(word.partition("e")[0].replace(".", "").rstrip("0"))
        assert digits == shortest_length(code, scalar), (code, table[code])


@pytest.mark.parametrize("scalar", HALVES, ids=lambda scalar: scalar.name)
def test_every_number_reads_back_and_no_decimal_as_short_is_nearer(scalar: Scalar) -> None:
    """All 65,536 patterns: the decimal stands for its number, and its neighbours of as many digits are no nearer."""
    infinity = 0x7C00 if scalar.name == "float16" else 0x7F80
    table = decimals.shortest(np.arange(1 << 16, dtype="<u2"), scalar)
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


TYPES = ("float32", "float64", "int8", "uint16", "int32", "uint64", "bool")


def check(array: npt.NDArray[np.generic], name: str) -> None:
    element = dtypes.parse(name)
    scalar = element.parts[0].scalar
    expected = [oracle.word_of(bits, scalar) for (bits,) in oracle.elements(array.tobytes(), element)]
    assert decimals.text(array, scalar).decode() == f"[{','.join(expected)}]"
    assert decimals.words(array, scalar) == [word.partition("(")[0] for word in expected]


@st.composite
def patterns(draw: st.DrawFn) -> tuple[str, npt.NDArray[np.generic]]:
    """Any bits of any type."""
    name = draw(st.sampled_from(TYPES))
    storage = dtypes.parse(name).storage
    raw = draw(hnp.arrays(f"<u{storage.itemsize}", st.integers(0, 20)))
    return name, raw.view(storage)


@given(patterns())
def test_any_bits(case: tuple[str, npt.NDArray[np.generic]]) -> None:
    name, array = case
    check(array, name)


@given(st.integers(0, 10**9), st.integers(-50, 38), st.sampled_from(["<f4", "<f8"]))
@example(123456789, 0, "<f4")
@example(1, 16, "<f8")
@example(1, 15, "<f8")
@example(1, -5, "<f8")
@example(1, -6, "<f4")
@example(1, 13, "<f4")
def test_the_fewest_digits_and_the_layout(digits: int, exponent: int, storage: str) -> None:
    with np.errstate(over="ignore"):
        number = np.array([float(f"{digits}e{exponent}")]).astype(storage)
    check(np.concatenate([number, -number, np.nextafter(number, 0)]), "float32" if storage == "<f4" else "float64")


def test_every_power_of_two_and_its_neighbours() -> None:
    """Below a power of two the numbers lie closer, and the least ones lie as far apart as they are large."""
    powers = np.arange(0, 255, dtype="<u4") << np.uint32(23)
    around = np.concatenate([powers, powers + np.uint32(1), np.maximum(powers, 1) - np.uint32(1), np.arange(1, 200)])
    check(around.astype("<u4").view("<f4"), "float32")
    powers64 = np.arange(0, 2047, dtype="<u8") << np.uint64(52)
    check(np.concatenate([powers64, powers64 + np.uint64(1)]).view("<f8"), "float64")


@pytest.mark.parametrize("scalar", HALVES, ids=lambda scalar: scalar.name)
def test_every_half(scalar: Scalar) -> None:
    """Few numbers are printed pattern by pattern, many by the table of all."""
    array = np.arange(1 << 16, dtype="<u2").view(scalar.storage)
    few = [word for start in range(0, 1 << 16, 1 << 13) for word in decimals.words(array[start:][: 1 << 13], scalar)]
    assert decimals.words(array, scalar) == few
    table = decimals.shortest(np.arange(1 << 16, dtype="<u2"), scalar).view("<u4").tolist()
    single = dtypes.parse("float32").parts[0].scalar
    assert few == [oracle.word_of(bits, single).partition("(")[0] for bits in table]


@pytest.mark.parametrize(("storage", "name"), [("<u4", "float32"), ("<u8", "float64")])
def test_random_bits(storage: str, name: str) -> None:
    raw = np.random.default_rng(3).bytes(10_000 * np.dtype(storage).itemsize)
    check(np.frombuffer(raw, dtypes.parse(name).storage), name)


def test_any_nan_is_nan_where_its_bits_are_not_asked_for() -> None:
    column = np.array([0x7FC00000, 0x7FFFFFFF, 0xFFC00001], "<u4").view("<f4")
    scalar = dtypes.parse("float32").parts[0].scalar
    assert decimals.words(column, scalar) == ["nan"] * 3
    assert decimals.word(column, 2, scalar) == "nan"


def test_a_boolean_that_is_neither() -> None:
    assert decimals.words(np.array([0, 1, 7], np.uint8).view(np.bool_), dtypes.parse("bool").parts[0].scalar) == [
        "0",
        "1",
        "7",
    ]


def test_nan_words() -> None:
    float32, half = dtypes.parse("float32").parts[0].scalar, dtypes.parse("float16").parts[0].scalar
    assert decimals.nan_word(0x7FFFFFFF, float32) == "nan"
    assert decimals.nan_word(0x7FC00000, float32) == "nan(0x7fc00000)"
    assert decimals.nan_word(0xFE01, half) == "nan(0xfe01)"
