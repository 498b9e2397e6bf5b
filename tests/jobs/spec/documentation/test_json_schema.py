"""The JSON Schema says what the loader says: of every job of this repository, of mistakes, of anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from gpuregress.foundation.document import reader
from gpuregress.jobs.spec.key_reference import job_schema
from gpuregress.jobs.spec.load import load_file
from tests.foundation.document.writing import write
from tests.integration.test_mutated_jobs import CONFIGS, mutated

SCHEMA = job_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
JOBS = sorted(CONFIGS.rglob("*.yaml"))
JOB = """\
source: a.cu
buffers:
  x: {dtype: float32, shape: [8], fill: ones}
  y: {dtype: float32, shape: [8]}
launches:
  - {kernel: k, grid: [1], block: [8], args: [y, x]}
"""
WRONG = {
    "no source": ("source: a.cu\n", ""),
    "a buffer that is a list": ("  y: {dtype: float32, shape: [8]}", "  y: [float32, 8]"),
    "a key that is not known": ("source: a.cu", "source: a.cu\nsorce: b.cu"),
    "a key of a buffer that is not known": ("fill: ones", "fil: ones"),
    "a dtype that is not known": ("x: {dtype: float32", "x: {dtype: float"),
    "a record of what is no dtype": ("x: {dtype: float32", "x: {dtype: {a: float}"),
    "a record with a field that is no name": ("x: {dtype: float32", "x: {dtype: {../a: float32}"),
    "an empty record": ("x: {dtype: float32", "x: {dtype: {}"),
    "a buffer without a shape": (", shape: [8], fill: ones", ""),
    "a shape that is a number": ("[8], fill", "8, fill"),
    "an empty shape": ("[8], fill", "[], fill"),
    "a shape of what is no number": ("[8], fill", "[true], fill"),
    "a shape that is no expression": ("[8], fill", "['n; rm'], fill"),
    "a buffer whose name is none": ("  y: {", "  y-z: {"),
    "a fill that is not known": ("fill: ones", "fill: one"),
    "a fill that needs a setting": ("fill: ones", "fill: value"),
    "a fill with a setting that takes none": ("fill: ones", "fill: {ones: true}"),
    "two fills": ("fill: ones", "fill: {value: 1, arange: {}}"),
    "a fill with nothing behind it": ("fill: ones", "fill:  "),
    "a key of a fill that is not known": ("fill: ones", "fill: {normal: {sigma: 1}}"),
    "integers without an end": ("fill: ones", "fill: {integers: {low: 1}}"),
    "a fill of a function without a file": ("fill: ones", "fill: {python: fill}"),
    "a launch without a kernel": ("kernel: k, ", ""),
    "a grid that is a number": ("grid: [1]", "grid: 1"),
    "a grid of four axes": ("grid: [1]", "grid: [1, 1, 1, 1]"),
    "a grid without its problem": ("grid: [1]", "grid: {divide: [[8]]}"),
    "an argument without its dtype": ("[y, x]", "[y, 5]"),
    "an argument of two dtypes": ("[y, x]", "[y, {int32: 1, float32: 2}]"),
    "an argument of what is no dtype": ("[y, x]", "[y, {int: 5}]"),
    "an empty struct": ("[y, x]", "[y, {struct: []}]"),
    "a swap of three": ("args: [y, x]", "args: [y, x], swap: [[x, y, x]]"),
    "launches that are a mapping": ("  - {kernel", "  {kernel"),
    "no launches": (JOB[JOB.index("launches") :], "launches: []\n"),
    "a parameter without choices": ("source: a.cu", "source: a.cu\nparameters: {n: []}"),
    "a parameter that is a number": ("source: a.cu", "source: a.cu\nparameters: {n: 5}"),
    "a rule that is not known": ("source: a.cu", "source: a.cu\ncompare: {y: {tolerance: 1}}"),
    "a rule that is a number": ("source: a.cu", "source: a.cu\ncompare: {y: 1.0e-5}"),
    "an order that is not known": ("source: a.cu", "source: a.cu\ncompare: {y: {order: sorted}}"),
    "a metric without a bound": ("source: a.cu", "source: a.cu\ncompare: {y: {metric: {}}}"),
    "a check that is not known": ("source: a.cu", "source: a.cu\nchecks: {y: [finit]}"),
    "a check that needs a setting": ("source: a.cu", "source: a.cu\nchecks: {y: [range]}"),
    "a range of one": ("source: a.cu", "source: a.cu\nchecks: {y: [{range: [1]}]}"),
    "checks that are no list": ("source: a.cu", "source: a.cu\nchecks: {y: finite}"),
    "a reference that is no function": ("source: a.cu", "source: a.cu\nreference: {y: reference}"),
    "a reference of both kinds": ("source: a.cu", "source: a.cu\nreference: {y: {python: a.py:f, launches: []}}"),
    "a reference of neither kind": ("source: a.cu", "source: a.cu\nreference: {y: {source: b.cu}}"),
    "an architecture that is none": ("source: a.cu", "source: a.cu\ncompile: {arch: $(id)}"),
    "a contract that is not known": ("source: a.cu", "source: a.cu\ncompile: {contract: fast}"),
    "a define that is a list": ("source: a.cu", "source: a.cu\ncompile: {defines: {A: [1]}}"),
    "a time without a unit that is known": ("source: a.cu", "source: a.cu\nlimits: {timeout: 5 fortnights}"),
    "a time of 0": ("source: a.cu", "source: a.cu\nlimits: {timeout: 0}"),
    "a size without a unit that is known": ("source: a.cu", "source: a.cu\nlimits: {memory: 4GB8}"),
    "a device that is not known": ("source: a.cu", "source: a.cu\ndevices: [gpu]"),
    "a fault that is not known": ("source: a.cu", "source: a.cu\nexpect: {fault: segfault}"),
    "an address that is not known": ("fill: ones", "fill: ones, texture: {address: repeat}"),
    "an empty job": (JOB, "{}\n"),
    "a job that is a list": (JOB, "[source]\n"),
}


def read(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    return reader.read(path, as_written=("job", "revision", "tags")).data


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_every_job_of_this_repository_is_valid(path: Path) -> None:
    VALIDATOR.validate(reader.read(path).data)


def test_the_job_is_valid(tmp_path: Path) -> None:
    VALIDATOR.validate(read(tmp_path, JOB))


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_invalid(what: str, tmp_path: Path) -> None:
    before, after = WRONG[what]
    assert before in JOB
    data = read(tmp_path, JOB.replace(before, after, 1))
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(data)


@settings(max_examples=150, deadline=None)
@given(change=mutated())
def test_what_the_loader_takes_is_valid(change: tuple[Path, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("job") / "job.yaml"
    path.write_text(write(change[1]))
    try:
        loaded = load_file(path)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the schema need not say it
        return
    if not loaded.errors and "source" in loaded.document.data:  # planning reports a job without any source
        VALIDATOR.validate(loaded.document.data)


def test_every_key_has_a_description() -> None:
    missing = [
        f"{name}.{key}"
        for name, model in {"Job": SCHEMA, **SCHEMA["$defs"]}.items()
        for option in (model, *model.get("anyOf", ()))
        for key, item in option.get("properties", {}).items()
        if "description" not in item and "$ref" not in item and "$ref" not in str(item.get("anyOf", ""))
    ]
    assert missing == []
