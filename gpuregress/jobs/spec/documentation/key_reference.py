"""Markdown reference of all keys, generated from the models and their examples."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from gpuregress.foundation.document.yaml_parser import parse_yaml
from gpuregress.jobs.spec.documentation.examples import EXAMPLES, OTHER_EXAMPLES, SETTINGS_EXAMPLE
from gpuregress.jobs.spec.documentation.json_schema import job_schema, model_schema
from gpuregress.store.settings import SettingsSpec

_TABLE = ("| key | type | default | meaning | example |", "|---|---|---|---|---|")
_LONGEST_EXAMPLE = 60
_QUOTED = re.compile(r"'(on|off|-?\d+|0x[0-9a-f]+)'")
"""What PyYAML quotes for readers of YAML 1.1, and needs no quotes here."""
_HEAD = """\
# Reference: every key of a job

This page is generated. Do not edit it; run `gpuregress schema --markdown > docs/job-reference.md`.
[job-file.md](job-file.md) shows a whole job. [comparing.md](comparing.md) explains rules and checks,
[references.md](references.md) gold standards, [textures.md](textures.md) textures,
[tensor-maps.md](tensor-maps.md) tensor maps, and [timing.md](timing.md) timing. An unknown key, and
a key without a value, are errors.

An *expression* is a number, or text of
{allowed}.
A *name* is a letter or `_`, then letters, digits and `_`. A *dtype* is a numpy name, `bfloat16`, a CUDA
vector (`float4`) or a record `{{id: int32, score: float32}}`. Paths are relative to the job.
"""


def markdown() -> str:
    """The whole page."""
    from gpuregress.jobs.spec.expressions import ALLOWED  # noqa: PLC0415 - with the models, which take long to load

    schema = job_schema()
    models = {"Job": schema, **schema["$defs"]}
    sections = [_HEAD.format(allowed=ALLOWED)]
    sections += [_section(name, models[name]) for name in _order(models)]
    sections.append(_settings())
    return "\n".join(sections)


def _order(models: dict[str, Any]) -> list[str]:
    """Order the models by their first use."""
    order = ["Job"]
    for name in order:
        order += [ref for ref in dict.fromkeys(_refs(models[name])) if ref not in order]
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
    forms = [model, *model.get("anyOf", ())]
    mapping = next(form for form in forms if "properties" in form)
    others = [_takes(form) for form in model.get("anyOf", ()) if form is not mapping]
    lines = [f"## {name}", "", model.get("description", "")]
    if others:
        lines += ["", f"Takes {', or '.join(others)}, or a mapping:"]
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
    for node in waiting:
        if isinstance(node, dict) and key in node:
            value = yaml.safe_dump({key: node[key]}, default_flow_style=True, sort_keys=False, width=math.inf)
            value = _QUOTED.sub(r"\1", value)
            return f"`{value.strip()[1:-1]}`".replace("|", "\\|") if len(value) <= _LONGEST_EXAMPLE else "below"
        waiting += list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else ()
    return f"`{key}`"


def _takes(node: dict[str, Any]) -> str:
    """The type of a value, in words."""
    if "$ref" in node:
        return f"[{_target(node)}](#{_target(node).lower()})"
    if "$comment" in node:
        return str(node["$comment"])
    if "enum" in node or "const" in node:
        return ", ".join(_default(word) for word in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_takes(option) for option in node["anyOf"]))
    if node.get("type") == "array":
        count = node["minItems"] if node.get("minItems", 0) == node.get("maxItems") else ""
        return f"a list of {count} {_takes(node['items'])}".replace("  ", " ")
    if node.get("type") == "object":
        inner = next(iter(node.get("patternProperties", {}).values()), None)
        if inner is not None:
            return f"a mapping: name → {_takes(inner)}"
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
