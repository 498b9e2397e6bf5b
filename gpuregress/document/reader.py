"""YAML → plain values and the line of every key.

The scalars are YAML 1.2's: `1e-5` is a number, `on`, `off`, `yes`, `no` and `1:30` are text. A key that stands twice,
a tag, a value that contains itself or grows without bound through aliases: errors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpuregress.errors import JobError, JobErrors

Key = tuple[str | int, ...]

MAX_BYTES = 4 << 20
MAX_VALUES = 200_000
MAX_DEPTH = 60
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Document:
    """A file as plain values.

    Attributes:
        path: where it was read.
        data: dicts with text keys, lists, text, numbers, booleans, None.
        lines: key → its line, counted from 1.
    """

    path: Path
    data: Any
    lines: Mapping[Key, int]

    def line(self, key: Key) -> int | None:
        """The line of a key, or of the nearest key above it that stands in the file."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.lines:
                return self.lines[key[:length]]
        return None

    def error(self, key: Key, message: str) -> JobError:
        """An error at this key."""
        return JobError(self.path, self.line(key), dotted(key), message)


def dotted(key: Key) -> str:
    """`buffers.x.shape[0]`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def read(path: Path, *, as_written: Collection[str] = ()) -> Document:
    """Reads a file.

    Args:
        path: the file.
        as_written: top-level keys whose scalars stay text, so that `revision: 1.10` is not 1.1.

    Raises:
        JobErrors: it cannot be read, or is not YAML of the plain kind described above.
    """
    node = _compose(path, _bytes(path))
    if node is None:
        raise JobErrors((JobError(path, None, "", "the file is empty"),))
    builder = _Builder(path, frozenset(as_written))
    data = builder.build(node, ())
    if builder.errors:
        raise JobErrors(tuple(builder.errors))
    return Document(path, data, builder.lines)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise JobErrors((JobError(path, None, "", f"cannot be read: {error.strerror or error}"),)) from None
    if len(content) > MAX_BYTES:
        raise JobErrors((JobError(path, None, "", f"is larger than {MAX_BYTES >> 20} MiB: this is no job file"),))
    if content.startswith(_BYTE_ORDER_MARKS):
        raise JobErrors((JobError(path, None, "", "is written in UTF-16: save it as UTF-8"),))
    return content


_PLAIN = "tag:yaml.org,2002:"
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc] # the C loader is only there where libyaml is
    """PyYAML's parser with YAML 1.2's scalars."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own way to hand them down


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+0123456789."),
    ),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_PLAIN + _name, re.compile(f"(?:{_pattern})\\Z"), _first)


def _compose(path: Path, content: bytes) -> yaml.Node | None:
    try:
        loader = _Loader(content)
        try:
            node: yaml.Node | None = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise JobErrors((_syntax_error(path, error),)) from None
    except yaml.reader.ReaderError as error:
        line = content[: error.position].count(b"\n") + 1 if isinstance(error.position, int) else None
        message = f"is not YAML: {error.reason} (save the file as UTF-8, without control characters)"
        raise JobErrors((JobError(path, line, "", message),)) from None
    except RecursionError:
        raise JobErrors((JobError(path, None, "", f"is nested deeper than {MAX_DEPTH} levels"),)) from None
    return node


def _syntax_error(path: Path, error: yaml.MarkedYAMLError) -> JobError:
    mark = error.problem_mark or error.context_mark
    problem = (error.problem or error.context or "cannot be read").strip()
    if "\\t" in problem or "cannot start any token" in problem:
        problem += " (tabs cannot indent in YAML, and a value that starts with @, ` or % needs quotes)"
    if "expected a single document" in f"{error.context} {problem}":
        problem = "a second document starts here: one job a file"
    elif error.context_mark is not None and mark is not None and error.context_mark.line != mark.line:
        problem += f", {error.context} of line {error.context_mark.line + 1}"
    return JobError(path, mark.line + 1 if mark else None, "", f"is not YAML: {problem}")


@dataclass
class _Builder:
    """Turns nodes into values, noting lines and errors."""

    path: Path
    as_written: frozenset[str]
    lines: dict[Key, int] = field(default_factory=dict)
    errors: list[JobError] = field(default_factory=list)
    count: int = 0

    def build(self, node: yaml.Node, key: Key) -> Any:
        self.count += 1
        if self.count > MAX_VALUES or len(key) > MAX_DEPTH:
            limit = f"{MAX_VALUES} values" if self.count > MAX_VALUES else f"{MAX_DEPTH} levels"
            message = f"grows past {limit} (an alias that refers to itself or to many others?)"
            raise JobErrors((JobError(self.path, node.start_mark.line + 1, dotted(key[:1]), message),))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key)
        if isinstance(node, yaml.SequenceNode):
            return self._sequence(node, key)
        return self._scalar(node, key)

    def _error(self, node: yaml.Node, key: Key, message: str) -> None:
        self.errors.append(JobError(self.path, node.start_mark.line + 1, dotted(key), message))

    def _mapping(self, node: yaml.MappingNode, key: Key) -> dict[str, Any]:
        self._plain_tag(node, key, "map")
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._error(key_node, key, "a key must be a word, not a list or mapping")
                continue
            if key_node.tag == f"{_PLAIN}merge":
                merged = {**self._merged(value_node, key), **merged}
                continue
            name = str(key_node.value)
            if name in result:
                first = self.lines[(*key, name)]
                self._error(key_node, (*key, name), f"stands twice: the first is in line {first}")
                continue
            self.lines[(*key, name)] = key_node.start_mark.line + 1
            result[name] = self.build(value_node, (*key, name))
        return {**merged, **result} if merged else result

    def _merged(self, node: yaml.Node, key: Key) -> dict[str, Any]:
        value = self.build(node, key)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self._error(node, key, "`<<` takes a mapping, as in `<<: *name`")
            return {}
        return {name: item for part in reversed(parts) for name, item in part.items()}

    def _sequence(self, node: yaml.SequenceNode, key: Key) -> list[Any]:
        self._plain_tag(node, key, "seq")
        result = []
        for position, item in enumerate(node.value):
            self.lines[(*key, position)] = item.start_mark.line + 1
            result.append(self.build(item, (*key, position)))
        return result

    def _scalar(self, node: yaml.Node, key: Key) -> Any:
        text = str(node.value)
        kind = node.tag.removeprefix(_PLAIN)
        if kind == "null":
            return None
        if kind == "str" or (key and key[0] in self.as_written and kind in ("int", "float", "bool")):
            return text
        if kind == "bool":
            return text.lower() == "true"
        if kind in ("int", "float"):
            return self._number(node, key, text, kind)
        self._error(node, key, f"the tag {node.tag.replace(_PLAIN, '!!')!r} is not used here")
        return None

    def _number(self, node: yaml.Node, key: Key, text: str, kind: str) -> int | float | None:
        try:
            if kind == "float":
                return float(text.replace(".inf", "inf").replace(".nan", "nan") if text[-1].isalpha() else text)
            bases = {"0x": 16, "0o": 8}
            return int(text, bases.get(text[:2], 10))
        except ValueError:
            try:
                return float(text.lower().replace(".", ""))
            except ValueError:
                self._error(node, key, f"{text[:40]!r} is no number that can be read")
                return None

    def _plain_tag(self, node: yaml.Node, key: Key, kind: str) -> None:
        if node.tag != _PLAIN + kind:
            self._error(node, key, f"the tag {node.tag.replace(_PLAIN, '!!')!r} is not used here")
