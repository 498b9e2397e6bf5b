"""JSON Schema of a job file, generated from the models for editors.

A definition is named as its model, without `Spec`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Meta

from gpuregress.foundation.document.forms import Reads, Spec, forms, parts
from gpuregress.jobs.spec.models.job import JobSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def job_schema() -> dict[str, Any]:
    """Build the schema of a whole job file."""
    definitions: dict[str, Any] = {}
    schema = model_schema(JobSpec, definitions)
    return {"$schema": DIALECT, "title": "gpuregress job", **schema, "$defs": definitions}


def model_schema(model: type[Spec], definitions: dict[str, Any]) -> dict[str, Any]:
    """Build the schema of a model.

    Args:
        model: the model.
        definitions: collects the schemas of the models that it refers to.
    """
    properties = {}
    for name, field in forms(model).items():
        item = _schema(field.type, definitions)
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        if default is not None and default is not msgspec.NODEFAULT and not isinstance(default, Spec):
            item = {"default": default, **item}
        properties[name] = item
    mapping: dict[str, Any] = {"type": "object", "description": inspect.cleandoc(model.__doc__ or "")}
    mapping |= {"properties": properties, "additionalProperties": False}
    required = [name for name, field in forms(model).items() if field.required]
    if required:
        mapping["required"] = required
    return model.adapted_schema(mapping)


def _schema(form: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    form, annotations = parts(form)
    described: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    schema: dict[str, Any] | None = None
    for annotation in annotations:
        if isinstance(annotation, Reads):
            schema = dict(annotation.schema)
        elif isinstance(annotation, Meta):
            described |= annotation.extra_json_schema or {}
            if annotation.description is not None:
                described["description"] = annotation.description
            sizes |= {} if annotation.min_length is None else {"min": annotation.min_length}
            sizes |= {} if annotation.max_length is None else {"max": annotation.max_length}
    if schema is None:
        schema = _plain_schema(form, sizes, definitions)
    return {**schema, **described}


def _plain_schema(form: Any, sizes: Mapping[str, int], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type that no function reads."""
    origin, arguments = typing.get_origin(form), typing.get_args(form)
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin is list:
        schema = {"type": "array", "items": _schema(arguments[0], definitions)}
        return {**schema, **{f"{bound}Items": size for bound, size in sizes.items()}}
    if origin is dict:
        pattern = _schema(arguments[0], definitions)["pattern"]
        schema = {"type": "object", "patternProperties": {pattern: _schema(arguments[1], definitions)}}
        return {
            **schema,
            "additionalProperties": False,
            **{f"{bound}Properties": size for bound, size in sizes.items()},
        }
    if isinstance(form, type) and issubclass(form, Spec):
        if not form.is_named:
            return model_schema(form, definitions)
        name = form.__name__.removesuffix("Spec")
        if name not in definitions:
            definitions[name] = {}  # a model may refer to itself
            definitions[name] |= model_schema(form, definitions)
        return {"$ref": f"#/$defs/{name}"}
    types = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return {"type": types[form], **{f"{bound}Length": size for bound, size in sizes.items()}}
