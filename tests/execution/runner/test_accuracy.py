"""Shares of source lines, from runs with the rounding errors of some lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.execution.runner import accuracy
from gpuregress.execution.runner import accuracy as line_errors
from gpuregress.execution.runner.accuracy import (
    Errors,
    FloatParts,
    Line,
    _Lines,
    _split,
    float_parts,
    measure,
    summarize,
)
from gpuregress.execution.runner.dumps import BufferReader
from gpuregress.foundation import dtypes
from gpuregress.gpu.accuracy import LineError, Place
from gpuregress.gpu.base import Device, Shadow
from tests.execution.runner.buffers import reader


class FakeDevice:
    """A device on which each line adds its number of units to the result."""

    def __init__(self) -> None:
        self.asked: list[frozenset[Place]] = []

    def round_at(self, places: Collection[Place]) -> None:
        self.asked.append(frozenset(places))


def _measured(ulps: dict[int, float]) -> tuple[list[LineError], FakeDevice]:
    device = FakeDevice()
    exact = Shadow(np.ones(1), np.zeros(1), np.ones(1, np.bool_))
    (parts,) = float_parts(dtypes.parse("float32"))
    errors = {("out", parts): measure(np.ones(1), exact, parts.scalar)}
    places: dict[Line, set[Place]] = {("k.cu", line): {(("k.cu", line, 0),)} for line in ulps}

    def shadows(_result: BufferReader) -> Iterator[tuple[FloatParts, Shadow]]:
        total = sum(ulps[place[0][1]] for place in device.asked[-1])
        yield parts, Shadow(np.array([1.0 + total * 2.0**-23]), np.zeros(1), np.ones(1, np.bool_))

    def again(take: Callable[[BufferReader], None]) -> None:
        take(reader("out"))

    found = _Lines(cast(Device, device), errors, places, again, shadows).measured()
    return sorted(found, key=lambda one: -one.share), device


def test_each_line_has_its_share() -> None:
    found, device = _measured({3: 3.0, 4: 1.0, 5: 0.0})
    assert found == [LineError("k.cu", 3, 0.75, 3.0), LineError("k.cu", 4, 0.25, 1.0)]
    assert device.asked[-1] == frozenset()


def test_groups_without_errors_are_not_taken_apart() -> None:
    found, device = _measured({line: float(line == 70) for line in range(1, 201)})
    assert found == [LineError("k.cu", 70, 1.0, 1.0)]
    assert len(device.asked) < 40


def test_groups_hold_every_line_once() -> None:
    for count in (0, 1, line_errors.FEW, 33):
        groups = _split([("k.cu", line) for line in range(count)])
        assert [line for group in groups for _, line in group] == list(range(count))
        assert len(groups) <= accuracy.FEW


def parts(dtype: str) -> FloatParts:
    (only,) = float_parts(dtypes.parse(dtype))
    return only


def shadow(*high: float, low: float = 0.0, known: bool = True) -> Shadow:
    return Shadow(np.array(high), np.full(len(high), low), np.full(len(high), known))


def of(values: npt.NDArray[np.generic], exact: Shadow, dtype: str) -> Errors:
    numbers = parts(dtype).values(values.reshape(-1).view(np.uint8))
    return measure(numbers, exact, parts(dtype).scalar)


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
    found = summarize("out", parts("float32"), (2, 4), of(values, exact, "float32"))
    assert (found.elements, found.tracked, found.median, found.largest) == (8, 7, 0.0, 3.0)
    assert found.histogram == ((0.0, 6), (4.0, 1))
    (worst,) = found.worst
    assert (worst.index, worst.value, worst.exact, worst.ulp) == ((1, 1), "6", "6.000001430511", 3.0)


def test_elements_without_a_shadow_are_left_out() -> None:
    found = summarize(
        "out", parts("float32"), (2,), of(np.ones(2, np.float32), shadow(0.0, 0.0, known=False), "float32")
    )
    assert (found.tracked, found.histogram, found.worst) == (0, (), ())


def test_the_exact_value_has_more_digits_than_a_double() -> None:
    assert accuracy._decimal(0.1, 1e-18, 21) == "0.100000000000000006551"
    assert accuracy._decimal(1e-7, 1e-24, 6) == "1.00000e-7"


def test_each_part_of_a_vector_is_a_number() -> None:
    values = np.array([[1, 2], [3, 4]], np.float32)
    exact = shadow(1.0, 2.0, 3.0, 4 - 2.0**-20)
    found = summarize("v", parts("float2"), (2,), of(values, exact, "float2"))
    assert (found.dtype, found.elements, found.largest) == ("float2", 4, 2.0)
    (worst,) = found.worst
    assert (worst.index, worst.part) == ((1,), "y")


def test_a_record_has_parts_of_each_floating_point_type() -> None:
    element = dtypes.parse("{id:int32,a:float32,p:double2,b:float32}")
    data = np.zeros(2, element.storage)
    data["a"], data["b"], data["p.y"] = [1, 3], [2, 4], [5, 6]
    narrow, wide = float_parts(element)
    raw = data.view(np.uint8)
    assert [part.name for part in narrow.parts] == ["a", "b"]
    assert narrow.values(raw).tolist() == [1, 2, 3, 4]
    assert wide.values(raw).tolist() == [0, 5, 0, 6]
    assert wide.slots(2).tolist() == [2, 3, 8, 9]
    assert float_parts(dtypes.parse("int4")) == ()
