"""`gpuregress schema`: the JSON Schema and the reference of job files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.workshop import Workshop


def test_the_schema_is_json_and_takes_this_repositorys_jobs(shop: Workshop) -> None:
    schema = json.loads(shop.call("schema").stdout)
    job = yaml.safe_load((shop.root / "configs/scale.yaml").read_text())
    jsonschema.validate(job, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**job, "lanches": []}, schema)


def test_the_reference_is_the_page_of_the_documents(shop: Workshop) -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "job-keys.md"
    assert shop.call("schema", "--markdown").stdout == page.read_text(encoding="utf-8")
