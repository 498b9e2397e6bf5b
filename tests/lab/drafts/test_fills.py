from __future__ import annotations

import math

import pytest

from gpuregress.lab.drafts import fills
from gpuregress.lab.drafts.fills import DraftedFill
from gpuregress.lab.host_programs.contents import ArrayContents
from gpuregress.lab.host_programs.objects import HostArray
from gpuregress.lab.host_programs.scalars import HostScalar, binary, constant, named

NORMAL = "{normal: {std: 1.0}}"


def filled(stored: HostScalar | None, *, element: str = "", is_certain: bool = True) -> HostArray:
    return HostArray("x", None, "", element, ArrayContents(stored, is_filled=True, is_certain=is_certain))


@pytest.mark.parametrize(
    ("stored", "dtype", "fill"),
    [
        (constant(3), "int32", "{value: 3}"),
        (constant(-1), "uint32", "{value: 4294967295}"),
        (constant(300), "int8", "{value: 44}"),
        (constant(0.0), "float32", "zeros"),
        (HostScalar("random", 0.0, high=1.0), "float32", "{uniform: {low: 0.0, high: 1.0}}"),
        (HostScalar("random", 0, high=9), "int32", "{integers: {low: 0, high: 10}}"),
        (HostScalar("loop", 0), "int32", "arange"),
    ],
)
def test_the_fill_of_what_is_stored(stored: HostScalar, dtype: str, fill: str) -> None:
    assert fills.fill_of(filled(stored), dtype) == DraftedFill(fill, is_told=True)


@pytest.mark.parametrize(
    ("stored", "dtype", "fill"),
    [
        (constant(3), "{a:int32,b:float32}", "{integers: {low: 0, high: 100}}"),
        (None, "float32", NORMAL),
        (constant(math.inf), "float32", NORMAL),
        (constant(1e300), "int32", "{integers: {low: 0, high: 100}}"),
        (binary("%", HostScalar("loop", 0), constant(7)), "float32", NORMAL),
        (HostScalar("loop", 0), "float4", NORMAL),
        (HostScalar("random", -5, high=5), "uint8", "{integers: {low: 0, high: 100}}"),
        (named("n", 3, "", is_known=False), "float32", NORMAL),
    ],
)
def test_what_no_fill_tells_is_a_guess(stored: HostScalar | None, dtype: str, fill: str) -> None:
    assert fills.fill_of(filled(stored), dtype) == DraftedFill(fill, is_told=False)


def test_a_fill_is_a_guess_where_the_elements_differ_or_have_another_type() -> None:
    assert not fills.fill_of(filled(constant(2), is_certain=False), "int32").is_told
    assert not fills.fill_of(filled(constant(2), element="int"), "float32").is_told
    assert fills.fill_of(filled(constant(2), element="float"), "float4").is_told


def test_memory_that_is_set_to_zero() -> None:
    zero = ArrayContents().zeroed(is_whole=True)
    assert fills.fill_of(HostArray("d", None, "", contents=zero), "float32") == DraftedFill("zeros", is_told=True)
    assert not fills.fill_of(HostArray("d", None, "", contents=ArrayContents().zeroed(is_whole=False)), "int32").is_told
