"""YAML writer for jobs: short values in one line, the rest indented, as a person would write it.

What it writes, `reader` reads back to the same values: text that YAML 1.2 would take for a number is quoted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import yaml

from gpuregress.foundation.document.yaml_parser import YAML_1_2

WIDTH = 100
"""Characters of a line, where a value can be broken at all."""

_INDENT = "  "


class _Dumper(yaml.SafeDumper):
    """Asks the reader's own patterns what a plain word would be taken for."""

    yaml_implicit_resolvers = dict(YAML_1_2)  # noqa: RUF012 - PyYAML's own way to hand them down

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """A value that stands twice is written twice."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    """Text in plain style where it can be, else quoted in one line."""
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def write(value: Any) -> str:
    """Render plain values as YAML.

    Args:
        value: a mapping with text keys at the top; dicts, lists, text, numbers, booleans and None inside.
    """
    return "\n".join(_mapping(value, "")) + "\n" if value else "{}\n"


def scalar(text: str) -> str:
    """Render text as a scalar that may stand anywhere, within braces and brackets too."""
    return _flow([text])[1:-1]


def block_scalar(text: str) -> str:
    """Render text as a scalar that is a key or stands after one, outside braces and brackets."""
    return _flow(text)


def _mapping(value: dict[str, Any], indent: str) -> Iterator[str]:
    for key, item in value.items():
        yield from _entry(f"{indent}{_flow(key)}:", item, indent + _INDENT)


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    """A key or a dash with its value, in one line where it is short; a section of named parts is never."""
    flow = _flow(item)
    is_section = len(indent) == len(_INDENT) and isinstance(item, dict) and any(map(_is_collection, item.values()))
    if not _is_collection(item) or not item or (len(head) + 1 + len(flow) <= WIDTH and not is_section):
        yield f"{head} {flow}"
        return
    yield head
    if isinstance(item, dict):
        yield from _mapping(item, indent)
    else:
        for one in item:
            yield from _item(one, indent)


def _item(one: Any, indent: str) -> Iterator[str]:
    """An item of a list; a mapping that is broken begins after the dash."""
    if isinstance(one, dict) and one and len(indent) + 2 + len(_flow(one)) > WIDTH:
        first, *rest = _mapping(one, indent + _INDENT)
        yield f"{indent}- {first.lstrip()}"
        yield from rest
    else:
        yield from _entry(f"{indent}-", one, indent + _INDENT)


def _is_collection(value: Any) -> bool:
    return isinstance(value, dict | list)


def _flow(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=math.inf, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
