"""Errors in units in the last place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.devices.base import Shadow
from gpuregress.runner.accuracy import element_errors
from gpuregress.runner.accuracy.element_errors import FORMATS, Errors, as_doubles, measure, summarize, units


def shadow(*high: float, low: float = 0.0, known: bool = True) -> Shadow:
    return Shadow(np.array(high), np.full(len(high), low), np.full(len(high), known))


def of(values: npt.NDArray[np.generic], exact: Shadow, dtype: str) -> Errors:
    return measure(as_doubles(values, dtype), exact, dtype)


@given(st.floats(-(2.0**126), 2.0**126, width=32))
def test_a_unit_is_the_distance_to_the_next_number(value: float) -> None:
    expected = float(np.spacing(np.abs(np.float32(value))))
    assert units(np.array([value]), FORMATS["float32"])[0] == expected


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 52), ("float32", 23), ("float16", 10), ("bfloat16", 7)])
def test_the_error_of_the_next_number_is_one_ulp(dtype: str, digits: int) -> None:
    raw = np.array([0x3F81], np.uint16) if dtype == "bfloat16" else np.array([1 + 2.0**-digits], dtype)
    assert of(raw, shadow(1.0), dtype).distance.tolist() == [1.0]


def test_the_second_part_of_a_double_double_counts() -> None:
    assert of(np.array([1.0]), shadow(1.0, low=2.0**-54), "float64").distance.tolist() == [0.25]


def test_elements_that_are_finite_on_one_side_are_apart() -> None:
    values = np.array([np.nan, np.inf, np.inf, np.nan, 1.0], np.float32)
    errors = of(values, shadow(1.0, 2.0, 1e39, np.nan, np.inf), "float32")
    assert errors.broken.tolist() == [True, True, False, False, True]
    assert not errors.distance.any()


def test_a_buffer_in_a_few_numbers() -> None:
    values = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    exact = Shadow(values.reshape(-1).astype(np.float64), np.zeros(8), np.array([True] * 7 + [False]))
    exact.high[5] += 3 * 2.0**-21
    found = summarize("out", "float32", (2, 4), of(values, exact, "float32"))
    assert (found.elements, found.tracked, found.median, found.largest) == (8, 7, 0.0, 3.0)
    assert found.histogram == ((0.0, 6), (4.0, 1))
    (worst,) = found.worst
    assert (worst.index, worst.value, worst.exact, worst.ulp) == ((1, 1), "6", "6.000001430511", 3.0)


def test_elements_without_a_shadow_are_left_out() -> None:
    found = summarize("out", "float32", (2,), of(np.ones(2, np.float32), shadow(0.0, 0.0, known=False), "float32"))
    assert (found.tracked, found.histogram, found.worst) == (0, (), ())


def test_the_exact_value_has_more_digits_than_a_double() -> None:
    assert element_errors._decimal(0.1, 1e-18, 21) == "0.100000000000000006551"
    assert element_errors._decimal(1e-7, 1e-24, 6) == "1.00000e-7"
