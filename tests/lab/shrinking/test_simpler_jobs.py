from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Buffer, Fill, NoOptions
from gpuregress.lab.shrinking import simpler_jobs
from gpuregress.lab.shrinking.simpler_jobs import JobNumber, between, numbers
from tests import fakes

JOB: dict[str, Any] = {
    "job": "j",
    "parameters": {"n": [1000], "scale": [2.5]},
    "buffers": {
        "x": {"dtype": "float32", "shape": [1024, "n"], "fill": {"integers": {"low": 0, "high": 1024}}},
        "y": {"dtype": "float32", "shape": ["1024 * n + 10240"]},
    },
    "launches": [
        {
            "kernel": "sum<float, 128>",
            "grid": {"problem": ["n", 1024], "divide": [[128]]},
            "block": [128],
            "shared": "4 * 128",
            "args": ["y", "x1024", {"int32": 1024}, {"float32": 1.024}, True],
        }
    ],
    "reference": {"y": {"launches": [{"kernel": "s", "grid": [8], "block": [1], "args": [{"int32": 1024}]}]}},
}


def test_the_numbers_of_a_job() -> None:
    case = fakes.case("double", parameters={"n": 1000, "scale": 2.5, "type": "float", "on": True})
    assert numbers(JOB, case) == (
        JobNumber("n", 1000, is_parameter=True),
        JobNumber("scale", 2.5, is_parameter=True),
        JobNumber("1024", 1024, is_parameter=False),
        JobNumber("128", 128, is_parameter=False),
    )
    assert numbers({"launches": [{"kernel": "k"}]}, fakes.case("double")) == ()


def test_a_parameter_is_replaced_where_it_is_defined() -> None:
    before = copy.deepcopy(JOB)
    changed = JobNumber("n", 1000, is_parameter=True).put(JOB, 3)
    assert changed == {**JOB, "parameters": {"n": [3], "scale": [2.5]}}
    assert before == JOB


def test_a_constant_is_replaced_wherever_a_launch_or_a_shape_has_it() -> None:
    changed = JobNumber("1024", 1024, is_parameter=False).put(JOB, 7)
    assert changed["buffers"]["x"] == {**JOB["buffers"]["x"], "shape": [7, "n"]}
    assert changed["buffers"]["y"]["shape"] == ["7 * n + 10240"]
    assert changed["launches"][0]["grid"] == {"problem": ["n", 7], "divide": [[128]]}
    assert changed["launches"][0]["args"] == ["y", "x1024", {"int32": 7}, {"float32": 1.024}, True]
    assert changed["reference"]["y"]["launches"][0]["args"] == [{"int32": 7}]
    blocks = JobNumber("128", 128, is_parameter=False).put(JOB, 32)["launches"][0]
    assert (blocks["kernel"], blocks["block"], blocks["shared"]) == ("sum<float, 32>", [32], "4 * 32")


@given(value=st.integers(-(2**40), 2**40), is_parameter=st.booleans())
def test_smaller_values_come_in_order_and_are_nearer_to_zero(*, value: int, is_parameter: bool) -> None:
    smaller = JobNumber("n", value, is_parameter=is_parameter).smaller()
    assert list(smaller) == sorted(set(smaller), key=abs)
    assert all(abs(one) < abs(value) for one in smaller)
    if abs(value) > 2:
        assert {abs(one) for one in smaller} >= {1, abs(value) - 1}


@pytest.mark.parametrize(("value", "smaller"), [(2.5, (0.0, 1.0, 2.0)), (0.5, (0.0,)), (0.0, ())])
def test_smaller_floats(value: float, smaller: tuple[float, ...]) -> None:
    assert JobNumber("a", value, is_parameter=True).smaller() == smaller


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers(1, 6))
def test_points_between(low: int, width: int, count: int) -> None:
    points = between(low, low + width, count)
    assert list(points) == sorted(set(points))
    assert all(low < point < low + width for point in points)
    assert bool(points) == (width > 1)
    assert len(points) <= count


JOB_SIMPLIFICATIONS: dict[str, Any] = {
    "job": "j",
    "source": "k.cu",
    "parameters": {"n": [1, 2], "m": [3, 4]},
    "buffers": {"x": {"fill": "arange"}, "out": {}},
    "repeat": 3,
    "tags": ["slow"],
    "checks": {"out": ["finite"], "x": ["finite"]},
    "compare": {"x": {"ulp": 1}},
}


def test_one_case_of_a_job() -> None:
    case = fakes.case("double", parameters={"n": 2, "m": 3})
    alone = simpler_jobs.of_one_case(JOB_SIMPLIFICATIONS, case, "small")
    assert next(iter(alone.items())) == ("job", "small")
    assert alone["parameters"] == {"n": [2], "m": [3]}
    assert JOB_SIMPLIFICATIONS["parameters"] == {"n": [1, 2], "m": [3, 4]}
    without = simpler_jobs.of_one_case({"source": "k.cu"}, fakes.case("double"), "small")
    assert without == {"job": "small", "source": "k.cu"}


def test_keys_that_may_not_matter() -> None:
    found = dict(simpler_jobs.without_keys(JOB_SIMPLIFICATIONS, {"out"}))
    assert set(found) == {"repeat", "tags", "compare.x", "checks.x"}
    assert "repeat" not in found["repeat"]
    assert found["checks.x"]["checks"] == {"out": ["finite"]}
    assert "compare" not in found["compare.x"]
    assert set(dict(simpler_jobs.without_keys(JOB_SIMPLIFICATIONS, ()))) == {"repeat", "tags"}


def test_plain_fills_of_random_and_stored_floats_only() -> None:
    def buffer(name: str, dtype: str, kind: str) -> Buffer:
        return Buffer(name, dtype, (8,), Fill(kind, NoOptions(), 0))

    kinds = {"a": ("float32", "normal"), "b": ("int32", "file"), "c": ("float4", "file"), "d": ("float32", "zeros")}
    buffers = {name: buffer(name, *kind) for name, kind in kinds.items()} | {"out": Buffer("out", "float32", (8,))}
    job = {"buffers": {name: {"fill": kind} for name, (_, kind) in kinds.items()}}
    found = dict(simpler_jobs.plainer_fills(job, fakes.case("double", buffers=buffers)))
    assert {name: [plain for plain, _ in changed] for name, changed in found.items()} == {
        "a": ["zeros", "ones", "arange"],
        "c": ["zeros", "ones", "arange"],
    }
    assert found["a"][1][1]["buffers"]["a"]["fill"] == "ones"
    assert job["buffers"]["a"]["fill"] == "normal"
