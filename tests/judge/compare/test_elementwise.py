"""Errors and violations of single elements; whole buffers are compared in `test_in_order`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records.rules import Bound
from gpuregress.judge.compare import bounds
from tests.judge.compare.rooms import array

NAN, INF = math.nan, math.inf


def scalar(dtype: str) -> dtypes.Scalar:
    return dtypes.parse(dtype).parts[0].scalar


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_errors_of_floats(dtype: str) -> None:
    e, a = array(dtype, [1, -2, INF, 3, NAN]), array(dtype, [1.5, 2, INF, NAN, NAN])
    kind = scalar(dtype)
    assert bounds.changed(e, a, kind).tolist() == [True, True, False, True, False]
    np.testing.assert_array_equal(bounds.absolute(e, a, kind), [0.5, 4, NAN, NAN, NAN])
    np.testing.assert_array_equal(bounds.magnitude(e, kind), [1, 2, INF, 3, NAN])


def test_errors_of_integers_are_exact() -> None:
    e, a = array("uint64", [2**64 - 1, 0]), array("uint64", [0, 2**63])
    assert bounds.absolute(e, a, scalar("uint64")).tolist() == [2.0**64, 2.0**63]
    limit = bounds.whole_limit(array("int32", [-10, 3]), scalar("int32"), 0.25, 1.5)
    assert limit.tolist() == [4, 2]
    assert bounds.whole_limit(array("int8", [1]), scalar("int8"), 0.0, 1e300).tolist() == [2**64 - 1]


@pytest.mark.parametrize(
    ("bound", "broken"),
    [
        (Bound(), [True, True, True, False]),
        (Bound(atol=0.5), [False, False, True, False]),
        (Bound(signed_zero="equal"), [True, False, True, False]),
        (Bound(atol=9.0, nan="never"), [False, False, True, True]),
        (Bound(ulp=0), [True, True, True, False]),
    ],
)
def test_violations(bound: Bound, broken: list[bool]) -> None:
    e, a = array("float32", [1, 0.0, 1, NAN]), array("float32", [1.5, -0.0, NAN, NAN])
    assert bounds.broken(e, a, scalar("float32"), bound).tolist() == broken
