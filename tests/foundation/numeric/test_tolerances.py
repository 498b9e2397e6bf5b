"""Tolerances that are too loose to fail."""

from __future__ import annotations

import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric.tolerances import loose, over_largest, tight


@pytest.mark.parametrize(
    ("dtype", "bound", "keys"),
    [
        ("float32", {"rtol": 0.99}, []),
        ("float32", {"rtol": 1.0}, ["rtol"]),
        ("float16", {"atol": 65503.0}, []),
        ("float16", {"atol": 65504.0}, ["atol"]),
        ("int8", {"atol": 126.0}, []),
        ("int8", {"atol": 127.0}, ["atol"]),
        ("float32", {"ulp": (1 << 23) - 1}, []),
        ("float32", {"ulp": 1 << 23}, ["ulp"]),
        ("float16", {"ulp": 1 << 10}, ["ulp"]),
        ("int32", {"ulp": 1 << 40}, []),
        ("bool", {"atol": 1.0}, []),
        ("float32", {"rtol": 2.0, "atol": 1e39, "ulp": 1 << 30}, ["rtol", "atol", "ulp"]),
    ],
)
def test_a_bound_that_can_hardly_fail_is_named_by_its_key(dtype: str, bound: dict[str, float], keys: list[str]) -> None:
    actual = loose(dtypes.parse(dtype), **bound)  # type: ignore[arg-type]  # ulp is an int in the table
    assert [key for (key,), _ in actual] == keys


@pytest.mark.parametrize(
    ("dtype", "rtol", "is_tight"),
    [
        ("float32", 0.0, False),
        ("float32", None, False),
        ("float32", 2.0**-24, False),
        ("float32", 5.9e-8, True),
        ("float16", 4e-4, True),
        ("bfloat16", 3e-3, True),
        ("bfloat16", 4e-3, False),
        ("float64", 1e-16, True),
        ("float64", 1.2e-16, False),
        ("int32", 1e-30, False),
        ("{a:float32,b:float64}", 1e-10, False),
        ("{a:int32,b:float32}", 1e-10, False),
        ("float4", 1e-10, True),
    ],
)
def test_a_tolerance_below_the_unit_roundoff(dtype: str, rtol: float | None, *, is_tight: bool) -> None:
    found = [key for key, _ in tight(dtypes.parse(dtype), rtol)]
    assert found == ([("rtol",)] if is_tight else [])


def test_key_columns_have_no_tolerance() -> None:
    (problem,) = tight(dtypes.parse("{id:int32,score:float32}"), 1e-10, exact=("id",))
    assert problem[1].startswith("is 1e-10, tighter than float32 (score) can hold: half its epsilon is 6e-08")


def test_parts_without_the_bound_are_left_out() -> None:
    element = dtypes.parse("{id:int8,score:float32}")
    assert [text for _, text in loose(element, atol=200.0)] == [
        "is 200: the largest int8 (id) is 127, so it could hardly fail"
    ]
    assert list(loose(element, atol=200.0, exact=("id",))) == []


def test_the_first_part_that_is_reached_is_described() -> None:
    parts = dtypes.parse("{a:float16,b:int8}").parts
    assert list(over_largest(1e5, parts)) == ["is 100000: the largest float16 (a) is 65504, so it could hardly fail"]
    assert list(over_largest(100.0, parts)) == []
