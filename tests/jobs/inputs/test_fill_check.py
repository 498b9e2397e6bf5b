from __future__ import annotations

import math
from typing import Any

import pytest

from gpuregress.foundation.errors import HarnessError
from gpuregress.jobs import inputs
from tests.jobs.inputs.support import buffer


@pytest.mark.parametrize(
    ("kind", "dtype", "options", "problem"),
    [
        ("normal", "int32", {}, "normal fills floats, and int32 is not one"),
        ("uniform", "{id:int32,score:float32}", {}, r"uniform fills floats, and int32 is not one: .* \(part id\)"),
        ("permutation", "uint8", {}, "999 does not fit uint8: 0 to 255"),
        ("arange", "int8", {}, "999 does not fit int8"),
        ("integers", "uint8", {"low": -1, "high": 5}, "-1 does not fit uint8"),
        ("park_miller", "int16", {}, "too large for int16"),
        ("value", "bool", {"values": [2]}, "2 does not fit bool: 0 to 1"),
        ("value", "int32", {"values": [0.5]}, "0.5 is not a whole number"),
        ("value", "int32", {"values": [math.nan]}, "nan is not a whole number"),
        ("value", "float2", {"values": [1, 2, 3]}, "value has 3 numbers and float2 has 2 parts"),
        ("value", "float16", {"values": [1e6]}, "1000000.0 is too large for float16"),
        ("choice", "int8", {"values": [1, 300]}, "300 does not fit int8"),
        ("value", "float32", {"values": [1e300]}, r"1e\+300 is too large for float32"),
        ("value", "float32", {"values": [1e-60]}, "1e-60 is too small for float32: it would become 0"),
        (
            "value",
            "float32",
            {"values": [2**24 + 1]},
            "16777217 is not exact in float32: whole numbers are exact up to",
        ),
        ("value", "uint32", {"values": [-1]}, "-1 does not fit uint32"),
        ("arange", "float16", {"start": 2048}, "2049 is not exact in float16"),
        ("arange", "float32", {"step": 1e-60}, "1e-60 is too small"),
        ("arange", "float64", {"start": 2.0**53, "step": 1.0}, "9007199254740993 is not exact in float64"),
        ("arange", "uint64", {"start": 2**64 - 5}, "does not fit uint64"),
        ("permutation", "bfloat16", {}, "999 is not exact in bfloat16"),
        ("integers", "float16", {"low": 0, "high": 4097}, "2049 is not exact in float16"),
        ("uniform", "float32", {"low": 0.0, "high": 1e39}, r"1e\+39 is too large for float32"),
        ("uniform", "float64", {"low": -1.5e308, "high": 1.5e308}, "high - low is too large"),
        ("normal", "float32", {"mean": 0.0, "std": 1e38}, "are too large for float32"),
    ],
)
def test_what_does_not_fit(kind: str, dtype: str, options: dict[str, Any], problem: str) -> None:
    made = buffer(kind, dtype, 1000, **options)
    actual = inputs.fill_problem(made)
    assert actual is not None
    with pytest.raises(HarnessError, match=f"buffer x: .*{problem}"):
        inputs.fill(made)
