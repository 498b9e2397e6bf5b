from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import JobErrors
from gpuregress.jobs.spec import load
from gpuregress.jobs.spec.key_reference import job_schema
from gpuregress.jobs.spec.models.job import JobSpec
from tests.foundation.document.writing import write

NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("ceil", "floor", "min", "max", "sizeof", "log2", "and", "or", "not", "step")
)
NUMBER = st.one_of(st.integers(-(2**40), 2**40), st.floats(-1e6, 1e6), st.sampled_from(["n", "n * 2", "ceil(n / 3)"]))
FILL = st.one_of(
    st.sampled_from(["zeros", "ones", "permutation"]),
    st.builds(lambda low: {"uniform": {"low": low, "high": "n"}}, NUMBER),
    st.builds(lambda value: {"value": value}, NUMBER),
    st.builds(lambda values: {"choice": values}, st.lists(NUMBER, min_size=1, max_size=3)),
)
BUFFER = st.fixed_dictionaries(
    {"dtype": st.sampled_from(dtypes.known_names()), "shape": st.lists(NUMBER, min_size=1, max_size=3)},
    optional={"fill": FILL, "symbol": st.just("d_x")},
)
LAUNCH = st.fixed_dictionaries(
    {
        "kernel": st.sampled_from(["f", "ns::g<float, 3>"]),
        "grid": st.lists(NUMBER, min_size=1, max_size=3),
        "block": st.lists(NUMBER, min_size=1, max_size=3),
    },
    optional={
        "args": st.lists(st.one_of(st.none(), NAME, st.builds(lambda value: {"float32": value}, NUMBER)), max_size=4),
        "repeat": NUMBER,
        "shared": NUMBER,
    },
)
RULE = st.fixed_dictionaries({}, optional={"rtol": NUMBER, "order": st.just("any"), "ulp": NUMBER})
JOB = st.fixed_dictionaries(
    {
        "source": st.just("x.cu"),
        "buffers": st.dictionaries(NAME, BUFFER, min_size=1, max_size=3),
        "launches": st.lists(LAUNCH, min_size=1, max_size=2),
    },
    optional={
        "parameters": st.dictionaries(NAME, st.lists(NUMBER, min_size=1, max_size=3), max_size=2),
        "compare": st.dictionaries(NAME, RULE, max_size=2),
        "seed": NUMBER,
        "tags": st.lists(st.sampled_from(["quick", "1.10", "on"]), max_size=2),
        "limits": st.fixed_dictionaries(
            {}, optional={"timeout": st.just("2min"), "memory": st.just("4GiB"), "heap": st.just("64MiB")}
        ),
    },
)


@settings(max_examples=80)
@given(job=JOB)
def test_a_job_written_as_yaml_reads_back(job: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(write(job))
    actual = load.load_file(path)
    assert not actual.errors
    assert actual.model == JobSpec.of(job)


@settings(max_examples=60)
@given(text=st.text(max_size=60))
def test_any_text_is_a_job_or_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        errors = load.load_file(path).errors
    except JobErrors as wrong:
        errors = wrong.errors
    assert errors


def test_the_schema_knows_every_form() -> None:
    schema = job_schema()
    text = json.dumps(schema)
    assert set(schema["properties"]) == set(JobSpec.key_names())
    assert "required" not in schema
    assert [form["required"] for form in schema["oneOf"]] == [["launches"], ["function", "source"], ["program"]]
    assert schema["additionalProperties"] is False
    for word in ("park_miller", "out-of-bounds", "float4", "problem", "zeros", "finite", "struct"):
        assert f'"{word}"' in text, word


def test_what_stays_of_a_broken_job(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        "source: x.cu\nbuffers:\n  a: {dtype: oops, shape: [1]}\n  b: {dtype: int8, shape: [1]}\n"
        "launches:\n  - 5\n  - {kernel: f, grid: [1], block: [1]}\n",
    )
    file = load.load_file(path)
    assert file.model is not None
    assert list(file.model.buffers) == ["b"]
    assert file.positions("launches") == [1]
    assert file.broken == {("buffers", "a"), ("launches", 0)}
    assert [error.line for error in file.errors] == [3, 6]


JOB_WITHOUT_LAUNCHES = "source: x.cu\nbuffers: {a: {dtype: int8, shape: [1]}}\n"
ONE_LAUNCH = "launches: [{kernel: f, grid: [1], block: [1]}]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing key"),
        ("launches: []\n", "expected at least one entry, got none"),
        (f"function: f\n{ONE_LAUNCH}", "a job has launches or a function, and both are given: leave one out"),
    ],
)
def test_a_job_has_launches_or_a_function(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    for either in (ONE_LAUNCH, "function: f\n"):
        path.write_text(JOB_WITHOUT_LAUNCHES + either)
        assert load.load_file(path).errors == ()
    path.write_text(JOB_WITHOUT_LAUNCHES + text)
    assert [(error.key, error.message) for error in load.load_file(path).errors] == [("launches", message)]
