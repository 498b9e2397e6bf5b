"""The JSON Schema of a job, for editors: generated from the models, with what only their validators know."""

from __future__ import annotations

from typing import Any

from gpuregress.spec.model import Job

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def job_schema() -> dict[str, Any]:
    """The schema of a whole job file.

    The models use None for a key that is not given; a file cannot, so no key takes null unless its form says so.
    """
    schema: dict[str, Any] = _cleaned(Job.model_json_schema())
    return {"$schema": DIALECT, "title": "gpuregress job", **schema}


def _cleaned(node: Any) -> Any:
    if isinstance(node, list):
        return [_cleaned(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "properties" in node:
        node = {**node, "properties": {name: _given(item) for name, item in node["properties"].items()}}
    if "patternProperties" in node:
        node = {**node, "additionalProperties": False}
    return {name: _cleaned(item) for name, item in node.items() if name != "title" or not isinstance(item, str)}


def _given(item: dict[str, Any]) -> dict[str, Any]:
    """A key's schema where it stands in a file: without the null that the model uses for "not there"."""
    if "default" not in item or item["default"] is not None:
        return item
    kept = [option for option in item.get("anyOf", []) if option != {"type": "null"}]
    rest = {name: value for name, value in item.items() if name not in ("default", "anyOf", "title")}
    return {**kept[0], **rest} if len(kept) == 1 else {"anyOf": kept, **rest}
