"""Errors in ulp against Python's exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric.ordinals import spacing
from gpuregress.foundation.records import Accuracy
from gpuregress.judge.accuracy import UlpErrors
from tests.judge.compare.rooms import array


def accuracy(dtype: str, reference: list[float], result: list[float], wide: str = "float64") -> Accuracy:
    errors = UlpErrors(dtypes.parse(dtype), dtypes.parse(wide))
    errors.add(array(wide, reference), array(dtype, result))
    return errors.accuracy()


@given(value=st.floats(1e-300, 1e300), dtype=st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
def test_the_spacing_is_that_of_the_neighbours(value: float, dtype: str) -> None:
    scalar = dtypes.parse(dtype).parts[0].scalar
    exponent = math.frexp(value)[1] - scalar.digits
    assert spacing(np.array([value]), scalar)[0] == max(float(Fraction(2) ** exponent), scalar.smallest)


@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
def test_a_step_at_1_is_one_ulp(dtype: str, unit: float) -> None:
    measured = accuracy(dtype, [1.0, 1.0], [1.0 + unit, 1.0])
    assert measured.max_ulp == 1.0
    assert measured.rms_ulp == pytest.approx(math.sqrt(0.5))


def test_what_is_rounded_correctly_has_half_an_ulp_at_most() -> None:
    exact = np.random.default_rng(1).standard_normal(1000)
    measured = accuracy("float32", exact.tolist(), exact.astype(np.float32).tolist())
    assert 0.49 < measured.max_ulp <= 0.5
    assert measured.rms_ulp < measured.max_ulp


def test_zeros_and_subnormal_numbers_are_counted_in_the_smallest_one() -> None:
    assert accuracy("float32", [0.0, 2.0**-149], [2.0**-149, 0.0]).max_ulp == 1.0
    assert accuracy("float64", [0.0], [5e-324], "float64").max_ulp == 1.0


def test_what_is_nan_or_infinite_on_one_side_is_counted_apart() -> None:
    nan, inf = math.nan, math.inf
    measured = accuracy("float32", [nan, inf, 1.0, nan, inf], [nan, inf, nan, 1.0, -inf])
    assert measured == Accuracy(0.0, 0.0, 3)


def test_all_parts_of_a_vector_count() -> None:
    errors = UlpErrors(dtypes.parse("float2"), dtypes.parse("double2"))
    errors.add(array("double2", [(1.0, 1.0)]), array("float2", [(1.0, 1.0 + 2.0**-22)]))
    assert errors.accuracy().max_ulp == 2.0
    assert errors.accuracy().rms_ulp == pytest.approx(math.sqrt(2.0))
