from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import (
    Buffer,
    Fill,
    GeneratorSeed,
    Interval,
    NoOptions,
    NormalDistribution,
    Progression,
    Values,
)
from gpuregress.jobs import inputs
from gpuregress.jobs.spec.models.buffer import FillSpec
from gpuregress.lab.fuzzing import candidates

UNIFORM = Fill("uniform", Interval(-2.0, 6.0), 1)


def made(buffer: Buffer, written: Any = None, *, is_result: bool = False) -> dict[str, candidates.EdgeContents]:
    return {one.words: one for one in candidates.edge_contents(buffer, written, is_result=is_result)}


def contents(buffer: Buffer, fill: Any) -> np.ndarray[Any, Any]:
    """What a fill of a job puts into a buffer."""
    spec = FillSpec.of(fill)
    setting: Any = getattr(spec, spec.kind)
    options: Any = NoOptions()
    if spec.kind in ("choice", "value"):
        options = Values(tuple(setting) if isinstance(setting, list) else (setting,))
    elif spec.kind == "arange":
        options = Progression(setting.start, setting.step)
    return inputs.fill(Buffer(buffer.name, buffer.dtype, buffer.shape, Fill(spec.kind, options, 3)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float4"])
def test_all_contents_of_floats_can_be_stored(dtype: str) -> None:
    buffer = Buffer("x", dtype, (40,), UNIFORM)
    element = dtypes.parse(dtype)
    for words, one in made(buffer).items():
        column = element.columns(contents(buffer, one.fill))[0]
        values = np.asarray(dtypes.to_float(column, element.parts[0].scalar), np.float64)
        assert np.isnan(values).any() == ("NaN" in words), words
        assert np.isinf(values).any() == ("infinit" in words), words
        if one.grade == "ordinary":
            assert -2.0 <= values.min() <= values.max() <= 6.0, words


def test_the_special_values_are_there() -> None:
    buffer = Buffer("x", "float32", (64,), UNIFORM)
    found = made(buffer)
    zeros = contents(buffer, found["0 and -0"].fill)
    assert {math.copysign(1.0, value) for value in zeros.tolist()} == {1.0, -1.0}
    small = contents(buffer, found["subnormals"].fill)
    assert np.abs(small[small != 0]).max() < np.finfo(np.float32).tiny
    assert contents(buffer, found["the largest numbers"].fill).max() == np.finfo(np.float32).max
    rising, falling = (contents(buffer, found[words].fill) for words in ("sorted", "in reversed order"))
    assert (np.diff(rising) > 0).all()
    assert (np.diff(falling) < 0).all()
    assert len(np.unique(contents(buffer, found["duplicates"].fill))) == 2


@pytest.mark.parametrize(
    ("fill", "written"),
    [
        (Fill("integers", Interval(-3, 50), 0), {"integers": {"low": -3, "high": 50}}),
        (Fill("choice", Values((-3, 49)), 0), {"choice": [-3, 49]}),
        (Fill("arange", Progression(-3, 1), 0), {"arange": {"start": -3}}),
    ],
)
def test_integers_keep_their_range(fill: Fill, written: Any) -> None:
    buffer = Buffer("at", "int32", (20,), fill)
    found = made(buffer, written)
    assert found
    for one in found.values():
        values = contents(buffer, one.fill)
        assert -3 <= values.min() <= values.max() <= 49
        assert one.grade == "ordinary"


def test_a_range_that_depends_on_a_parameter_still_does() -> None:
    buffer = Buffer("at", "uint8", (500,), Fill("integers", Interval(0, 10), 0))
    found = made(buffer, {"integers": {"low": 0, "high": "bins"}})
    assert found["both ends of its range"].fill == {"choice": [0, "(bins) - 1"]}
    assert "sorted" not in found


def test_orders_of_permutations_and_park_miller() -> None:
    buffer = Buffer("at", "int32", (4,), Fill("permutation", NoOptions(), 0))
    orders = [contents(buffer, one.fill).tolist() for one in made(buffer, "permutation").values()]
    assert orders == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert "both ends of its range" in made(Buffer("x", "int32", (4,), Fill("park_miller", GeneratorSeed(1), 0)))


def test_what_stays_as_it_is() -> None:
    zeros = Fill("zeros", NoOptions(), 0)
    assert not made(Buffer("sum", "float32", (4,), zeros), is_result=True)
    assert made(Buffer("x", "float32", (4,), zeros))
    assert not made(Buffer("out", "float32", (4,)))
    assert not made(Buffer("x", "int32", (4,), Fill("python", NoOptions(), 0)))
    assert not made(Buffer("r", "{id:int32,score:float32}", (4,), UNIFORM))
    assert not made(Buffer("y", "float32", (4,), Fill("same", NoOptions(), 0, Buffer("x", "float32", (4,), UNIFORM))))


def test_the_range_of_a_normal_distribution() -> None:
    found = made(Buffer("x", "float32", (4,), Fill("normal", NormalDistribution(10.0, 2.0), 0)))
    assert found["all equal"].fill == {"value": 10.0}
    assert "zeros" not in found


def test_each_element_is_no_nan_in_one_of_the_contents_with_nan_among_others() -> None:
    buffer = Buffer("x", "float32", (400,), UNIFORM)
    found = made(buffer)
    one, other = (
        np.isnan(contents(buffer, found[words].fill))
        for words in ("NaN among others", "NaN among others, at other elements")
    )
    assert one.any()
    assert other.any()
    assert not (one & other).any()
