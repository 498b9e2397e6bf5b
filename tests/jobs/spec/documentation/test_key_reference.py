"""The examples of the reference: they show every key, and the loader and the schema take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuregress.jobs.spec.key_reference import EXAMPLES, OTHER_EXAMPLES, job_schema
from gpuregress.jobs.spec.load import load_file

SCHEMA = job_schema()
MODELS = {"Job": SCHEMA, **SCHEMA["$defs"]}
BASE = {
    "source": "a.cu",
    "buffers": {"x": {"dtype": "float32", "shape": [1]}},
    "launches": [{"kernel": "k", "grid": [1], "block": [1]}],
}


def keys(value: Any) -> set[str]:
    """Every key in it, and every word: a fill may be one."""
    if isinstance(value, dict):
        return {str(key) for key in value}.union(*(keys(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(keys(item) for item in value))
    return {str(value)}


@pytest.mark.parametrize("name", MODELS)
def test_the_example_shows_every_key(name: str) -> None:
    forms = [MODELS[name], *MODELS[name].get("anyOf", ())]
    wanted = {key for form in forms for key in form.get("properties", ())}
    pieces = [EXAMPLES[name], *OTHER_EXAMPLES.get(name, ())]
    assert wanted - set().union(*(keys(yaml.safe_load(piece)) for piece in pieces)) == set()


def test_no_example_is_of_a_model_that_is_gone() -> None:
    assert set(EXAMPLES) == set(MODELS)
    assert set(OTHER_EXAMPLES) <= set(MODELS)


@pytest.mark.parametrize(
    "example", [*EXAMPLES.values(), *(piece for pieces in OTHER_EXAMPLES.values() for piece in pieces)]
)
def test_the_loader_takes_the_example(example: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    piece = yaml.safe_load(example)
    base = {key: value for key, value in BASE.items() if key != "launches" or "function" not in piece}
    if "program" in piece:
        base = {}
    path.write_text(yaml.safe_dump({**base, **piece}))
    assert load_file(path).errors == ()
