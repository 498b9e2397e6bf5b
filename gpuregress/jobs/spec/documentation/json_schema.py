"""JSON Schema of a job file.

It is generated from the models, for editors. A definition is named as its model, without `Spec`.
"""

from __future__ import annotations

from typing import Any

from gpuregress.jobs.spec.models.job import JobSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def job_schema() -> dict[str, Any]:
    """Build the schema of a whole job file.

    The models use None for an absent key. A file cannot, so a key takes null only where its form says so.
    """
    schema: dict[str, Any] = _cleaned(JobSpec.model_json_schema())
    return {"$schema": DIALECT, "title": "gpuregress job", **schema}


def _cleaned(node: Any) -> Any:
    if isinstance(node, list):
        return [_cleaned(item) for item in node]
    if isinstance(node, dict) and "$ref" in node:
        node = {**node, "$ref": node["$ref"].removesuffix("Spec")}
    if not isinstance(node, dict):
        return node
    if "properties" in node:
        node = {**node, "properties": {name: _given(item) for name, item in node["properties"].items()}}
    if "patternProperties" in node:
        node = {**node, "additionalProperties": False}
    return {
        name.removesuffix("Spec"): _cleaned(item)
        for name, item in node.items()
        if name != "title" or not isinstance(item, str)
    }


def _given(item: dict[str, Any]) -> dict[str, Any]:
    """Return a key's schema without the null that its model uses for an absent key."""
    if "default" not in item or item["default"] is not None:
        return item
    kept = [option for option in item.get("anyOf", []) if option != {"type": "null"}]
    rest = {name: value for name, value in item.items() if name not in ("default", "anyOf", "title")}
    return {**kept[0], **rest} if len(kept) == 1 else {"anyOf": kept, **rest}
