from __future__ import annotations

from typing import Any

from gpuregress.foundation.records import Buffer, Fill, NoOptions
from gpuregress.lab.shrinking import simpler_jobs
from tests import fakes

JOB: dict[str, Any] = {
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
    alone = simpler_jobs.of_one_case(JOB, case, "small")
    assert next(iter(alone.items())) == ("job", "small")
    assert alone["parameters"] == {"n": [2], "m": [3]}
    assert JOB["parameters"] == {"n": [1, 2], "m": [3, 4]}
    without = simpler_jobs.of_one_case({"source": "k.cu"}, fakes.case("double"), "small")
    assert without == {"job": "small", "source": "k.cu"}


def test_keys_that_may_not_matter() -> None:
    found = dict(simpler_jobs.without_keys(JOB, {"out"}))
    assert set(found) == {"repeat", "tags", "compare.x", "checks.x"}
    assert "repeat" not in found["repeat"]
    assert found["checks.x"]["checks"] == {"out": ["finite"]}
    assert "compare" not in found["compare.x"]
    assert set(dict(simpler_jobs.without_keys(JOB, ()))) == {"repeat", "tags"}


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
