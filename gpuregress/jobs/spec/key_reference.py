"""Markdown reference and JSON Schema of all keys, generated from the models and their examples."""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml
from msgspec import Meta

from gpuregress.foundation.document.forms import Reads, Spec, forms, parts
from gpuregress.foundation.document.yaml_parser import parse_yaml
from gpuregress.jobs.spec.expressions import ALLOWED
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.store.settings import SettingsSpec

# Examples of every key, by model. The tests load them.
_PIECES: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))
(SETTINGS_EXAMPLE,) = _PIECES.pop("Settings")
EXAMPLES = {model: pieces[0] for model, pieces in _PIECES.items()}
"""Model → a piece of a job that shows all its keys."""
OTHER_EXAMPLES = {model: pieces[1:] for model, pieces in _PIECES.items()}
"""Model → further pieces, for keys that cannot stand beside the others."""

_TABLE = ("| key | type | default | meaning | example |", "|---|---|---|---|---|")
_LONGEST_EXAMPLE = 60
_QUOTED = re.compile(r"'(on|off|-?\d+|0x[0-9a-f]+)'")
"""What PyYAML quotes for readers of YAML 1.1, and needs no quotes here."""
_HEAD = """\
# Reference: every key of a job

This page is generated. Do not edit it; run `gpuregress schema --markdown > docs/reference/job-keys.md`.
[The job file](job-file.md) shows a whole job. [Compare results](../how-to/compare-results.md) explains
rules and checks. There are pages on [gold standards](../how-to/gold-standards.md),
[textures](../how-to/textures.md), [tensor maps](../how-to/tensor-maps.md) and [times](../how-to/timing.md).
An unknown key, and a key without a value, are errors.

An *expression* is a number, or text of
{allowed}.
A *name* is a letter or `_`, then letters, digits and `_`. A *dtype* is a numpy name, `bfloat16`, a CUDA
vector (`float4`) or a record `{{id: int32, score: float32}}`. Paths are relative to the job.
"""


def markdown() -> str:
    """The whole page."""
    schema = job_schema()
    models = {"Job": schema, **schema["$defs"]}
    sections = [_HEAD.format(allowed=ALLOWED)]
    sections += [_section(name, models[name]) for name in _order(models)]
    sections.append(_settings())
    return "\n".join(sections)


def _order(models: dict[str, Any]) -> list[str]:
    """Order the models by their first use."""
    order = ["Job"]
    for name in order:  # it grows
        for reference in _refs(models[name]):
            if reference not in order:
                order.append(reference)
    return order


def _refs(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _refs(item)
    elif isinstance(node, dict):
        if "$ref" in node:
            yield _target(node)
        for name, item in node.items():
            if name != "$defs":
                yield from _refs(item)


def _target(node: dict[str, Any]) -> str:
    return str(node["$ref"]).rpartition("/")[2]


def _section(name: str, model: dict[str, Any]) -> str:
    lines = [f"## {name}", "", model.get("description", "")]
    mapping = model
    short_forms: list[str] = []
    for form in model.get("anyOf", ()):
        if "properties" in form and "properties" not in mapping:
            mapping = form
        else:
            short_forms.append(_takes(form))
    if short_forms:
        lines += ["", f"Takes {', or '.join(short_forms)}, or a mapping:"]
    required = mapping.get("required", ())
    pieces = [EXAMPLES[name], *OTHER_EXAMPLES.get(name, ())]
    lines += ["", *_TABLE]
    for key, item in mapping["properties"].items():
        default = "**required**" if key in required else _default(item.get("default"))
        example = _example([parse_yaml(piece.encode()).data for piece in pieces], key)
        lines.append(f"| `{key}` | {_takes(item)} | {default} | {_meaning(item)} | {example} |")
    for piece in pieces:
        lines += ["", "```yaml", piece.strip(), "```"]
    return "\n".join([*lines, ""])


def _default(value: Any) -> str:
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`"


def _meaning(item: dict[str, Any]) -> str:
    text: str = item.get("description", f"see {_target(item)}" if "$ref" in item else "")
    return text.replace("|", "\\|")


def _example(example: Any, key: str) -> str:
    """The first value of a key in an example, in one line. Longer values are in the example below the table."""
    waiting = [example]
    for node in waiting:  # it grows
        if isinstance(node, list):
            waiting += node
        if not isinstance(node, dict):
            continue
        if key not in node:
            waiting += node.values()
            continue
        text = yaml.safe_dump({key: node[key]}, default_flow_style=True, sort_keys=False, width=math.inf)
        text = _QUOTED.sub(r"\1", text)
        if len(text) > _LONGEST_EXAMPLE:
            return "below"
        return f"`{text.strip()[1:-1]}`".replace("|", "\\|")
    return f"`{key}`"


def _takes(node: dict[str, Any]) -> str:
    """The type of a value, in words."""
    if "$ref" in node:
        return f"[{_target(node)}](#{_target(node).lower()})"
    if "$comment" in node:
        return str(node["$comment"])
    if "enum" in node:
        return ", ".join(map(_default, node["enum"]))
    if "const" in node:
        return _default(node["const"])
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(map(_takes, node["anyOf"])))
    if node.get("type") == "array":
        items = _takes(node["items"])
        count = node.get("minItems", 0)
        return f"a list of {count} {items}" if count == node.get("maxItems") else f"a list of {items}"
    if node.get("type") == "object":
        for values in node.get("patternProperties", {}).values():
            return f"a mapping: name → {_takes(values)}"
        return "`{" + ", ".join(f"{name}: …" for name in node.get("properties", ())) + "}`"
    return {"null": "`null`", "boolean": "`true`, `false`"}.get(node.get("type", ""), "text")


def _settings() -> str:
    lines = ["## Settings of a project", "", "`gpuregress.yaml` in the project's folder, or the table"]
    lines += ["`[tool.gpuregress]` of its pyproject.toml.", "", *_TABLE]
    settings = yaml.safe_load(SETTINGS_EXAMPLE)
    for key, item in _settings_keys():
        table, _, setting = key.partition(".")
        holder = settings[table] if setting else settings
        example = _example(holder, setting.removeprefix("DTYPE.") or table)
        default = item.get("default_text") or _default(item.get("default"))
        lines.append(f"| `{key}` | {_takes(item)} | {default} | {_meaning(item)} | {example} |")
    return "\n".join([*lines, "", "```yaml", SETTINGS_EXAMPLE.strip(), "```", ""])


def _settings_keys() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting with its schema; those of one dtype stand for all."""
    definitions: dict[str, Any] = {}
    properties = model_schema(SettingsSpec, definitions)["properties"]
    for name, item in properties.items():
        if "$ref" not in item:
            yield name, item
            continue
        section, place = definitions[_target(item)], name
        if name == "compare":
            section, place = definitions["float32"], "compare.DTYPE"
        for key, inner in section["properties"].items():
            yield f"{place}.{key}", inner


# --- JSON Schema of a job file, generated from the models for editors -------------------------------------------------


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
            if annotation.min_length is not None:
                sizes["min"] = annotation.min_length
            if annotation.max_length is not None:
                sizes["max"] = annotation.max_length
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
