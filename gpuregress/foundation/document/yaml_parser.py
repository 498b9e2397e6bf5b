"""YAML parser with the line of every key and limits on depth and size.

Events are read one by one, and the nesting is counted where they are read. So nothing is parsed, built or recursed into
beyond `MAX_DEPTH`, and an alias counts as much as the value it repeats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import yaml
from yaml import events

from gpuregress.foundation.document.keys import MAX_BITS, MAX_SHOWN, Key
from gpuregress.gpu.records import Record

Resolvers = Mapping[str | None, list[tuple[str, "re.Pattern[str]"]]]

MAX_VALUES = 200_000
MAX_DEPTH = 60
_TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"
_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
_MAX_DIGITS = 150  # more than 128 bits in any base; Python refuses to read or print 4,300
_PLAIN = "tag:yaml.org,2002:"
_PATTERNS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}
_KINDS = {kind: re.compile(rf"(?:{pattern})\Z") for kind, pattern in _PATTERNS.items()}
_FIRST = {
    "null": ["~", "n", "N", ""],
    "bool": list("tTfF"),
    "int": list("-+0123456789"),
    "float": list("-+0123456789."),
}


def _resolvers() -> dict[str | None, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}
    for kind, pattern in _KINDS.items():
        for first in _FIRST[kind]:
            table.setdefault(first, []).append((_PLAIN + kind, pattern))
    table["<"] = [(f"{_PLAIN}merge", re.compile(r"<<\Z"))]
    return table


YAML_1_2: Resolvers = _resolvers()
"""First character → the tags that a plain scalar may have: YAML 1.2's, where `1e-5` is a number and `on` is text."""

YAML_1_1: Resolvers = yaml.SafeLoader.yaml_implicit_resolvers
"""The same as PyYAML writes it."""

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlProblem(Record):
    """An error in a YAML text.

    Attributes:
        line: counted from 1; None: in no particular one.
        key: where it is.
        message: what is wrong there.
    """

    line: int | None
    key: Key
    message: str


class YamlResult(Record):
    """A parsed YAML text.

    Attributes:
        data: dicts with text keys, lists, text, numbers, booleans, None.
        lines: key → its line, counted from 1.
        flaws: what is wrong, in the order of the text; where there are any, `data` is not to be used.
    """

    data: Any
    lines: Mapping[Key, int]
    flaws: tuple[YamlProblem, ...]


def parse_yaml(
    content: bytes, *, resolvers: Resolvers = YAML_1_2, as_written: Collection[str] = (), most: int | None = None
) -> YamlResult:
    """Parse one YAML document.

    Args:
        content: UTF-8.
        resolvers: what a plain scalar is.
        as_written: top-level keys whose scalars stay text, so that `revision: 1.10` is not 1.1.
        most: values up to which it is read; None: MAX_VALUES. Without aliases there are fewer values than bytes.
    """
    builder = _Builder(resolvers, frozenset(as_written), MAX_VALUES if most is None else most)
    data = None
    try:
        parser = _Parser(content)
        try:
            data = builder.document(parser)
        finally:
            parser.dispose()
    except _Stop:
        pass
    except yaml.MarkedYAMLError as error:
        builder.flaws.append(_syntax_flaw(error))
        if error.problem == _TOO_DEEP_FOR_LIBYAML:
            # It looks for a key 1,024 characters ahead, and so meets its limit before the events meet ours.
            builder.flaws[-1] = YamlProblem(builder.flaws[-1].line, (), _TOO_DEEP)
    except yaml.reader.ReaderError as error:
        line = content[: error.position].count(b"\n") + 1 if isinstance(error.position, int) else None
        message = f"is not YAML: {error.reason} (save the file as UTF-8, without control characters)"
        builder.flaws.append(YamlProblem(line, (), message))
    return YamlResult(data, builder.lines, tuple(builder.flaws))


def _syntax_flaw(error: yaml.MarkedYAMLError) -> YamlProblem:
    mark = error.problem_mark or error.context_mark
    problem = (error.problem or error.context or "cannot be read").strip()
    if "\\t" in problem or "cannot start any token" in problem:
        problem += " (tabs cannot indent in YAML, and a value that starts with @, ` or % needs quotes)"
    if error.context_mark is not None and mark is not None and error.context_mark.line != mark.line:
        problem += f", {error.context} of line {error.context_mark.line + 1}"
    return YamlProblem(mark.line + 1 if mark else None, (), f"is not YAML: {problem}")


class _Stop(Exception):
    """The rest of the text cannot be read; why is among the flaws."""


class _Anchored(Record):
    """A value that aliases repeat: itself, its text where it is a scalar, its size, and the lines inside."""

    value: Any
    text: str | None
    depth: int
    count: int
    lines: tuple[tuple[Key, int], ...]


class _Builder:
    """Turns events into values, noting lines and flaws."""

    def __init__(self, resolvers: Resolvers, as_written: frozenset[str], most: int) -> None:
        self.lines: dict[Key, int] = {}
        self.flaws: list[YamlProblem] = []
        self._resolvers = resolvers
        self._as_written = as_written
        self._most = most
        self._anchors: dict[str, _Anchored | None] = {}
        self._parser: Any = None
        self._key: Key = ()
        self._recorded: list[Key] = []
        self._depth = 0
        self._deepest = 0
        self._count = 0

    def document(self, parser: Any) -> Any:
        """The only document of the text."""
        self._parser = parser
        self._next()
        if isinstance(self._next(), events.StreamEndEvent):
            self._stop(None, (), "the file is empty")
        data = self._value(self._next(), ())
        self._next()
        more = self._next()
        if isinstance(more, events.DocumentStartEvent):
            self._flaw(more, (), "is not YAML: a second document starts here; a file holds one job")
        return data

    def _next(self) -> Any:
        event = self._parser.get_event()
        if isinstance(event, events.CollectionStartEvent):
            self._deeper(event, 1)
            self._depth += 1
        elif isinstance(event, events.CollectionEndEvent):
            self._depth -= 1
        return event

    def _deeper(self, event: Any, levels: int) -> None:
        self._deepest = max(self._deepest, self._depth + levels)
        if self._depth + levels > MAX_DEPTH:
            self._stop(event, self._key[:1], _TOO_DEEP)

    def _flaw(self, event: Any, key: Key, message: str) -> None:
        self.flaws.append(YamlProblem(event.start_mark.line + 1 if event is not None else None, key, message))

    def _stop(self, event: Any, key: Key, message: str) -> None:
        self._flaw(event, key, message)
        raise _Stop

    def _counted(self, event: Any, key: Key, count: int) -> None:
        self._key = key
        self._count += count
        if self._count > self._most:
            message = f"grows past {self._most:,} values (an alias that repeats many others?)"
            self._stop(event, key[:1], message)

    def _value(self, event: Any, key: Key) -> Any:
        if isinstance(event, events.AliasEvent):
            return self._alias(event, key)
        self._counted(event, key, 1)
        anchor = event.anchor
        if anchor is None:
            return self._built(event, key)
        self._anchors[anchor] = None
        outer, self._deepest = self._deepest, self._depth
        depth, count, before = self._depth, self._count - 1, len(self._recorded)
        if isinstance(event, events.CollectionStartEvent):
            depth -= 1
        value = self._built(event, key)
        inside = tuple((inner[len(key) :], self.lines[inner]) for inner in self._recorded[before:])
        text = event.value if isinstance(event, events.ScalarEvent) else None
        self._anchors[anchor] = _Anchored(value, text, self._deepest - depth, self._count - count, inside)
        self._deepest = max(outer, self._deepest)
        return value

    def _built(self, event: Any, key: Key) -> Any:
        if isinstance(event, events.ScalarEvent):
            return self._scalar(event, key)
        return self._mapping(event, key) if isinstance(event, events.MappingStartEvent) else self._sequence(event, key)

    def _known(self, event: Any, key: Key) -> _Anchored:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            problem = (
                "stands inside the value that it repeats" if event.anchor in self._anchors else "repeats no anchor"
            )
            self._stop(event, key, f"the alias *{event.anchor} {problem}")
        assert anchored is not None
        return anchored

    def _alias(self, event: Any, key: Key) -> Any:
        anchored = self._known(event, key)
        self._counted(event, key, anchored.count)
        self._deeper(event, anchored.depth)
        for inner, line in anchored.lines:
            if (*key, *inner) not in self.lines:
                self._record((*key, *inner), line)
        return _copied(anchored.value)

    def _record(self, key: Key, line: int) -> None:
        self.lines[key] = line
        self._recorded.append(key)

    def _mapping(self, event: Any, key: Key) -> dict[str, Any]:
        self._check_tag(event, key, "map")
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := self._next(), events.MappingEndEvent):
            if self._is_merge(event):
                merged = {**self._merged(event, key), **merged}
                continue
            name = self._name(event, key)
            if name is None:
                self._skip(self._next())
            elif name in result:
                self._flaw(event, (*key, name), f"duplicate key: the first is in line {self.lines[(*key, name)]}")
                self._skip(self._next())
            else:
                self._record((*key, name), event.start_mark.line + 1)
                result[name] = self._value(self._next(), (*key, name))
        return {**merged, **result} if merged else result

    def _is_merge(self, event: Any) -> bool:
        return isinstance(event, events.ScalarEvent) and event.value == "<<" and bool(event.implicit[0])

    def _name(self, event: Any, key: Key) -> str | None:
        """Read a key; skip it and return None if it is not a word."""
        if isinstance(event, events.AliasEvent):
            text = self._known(event, key).text
            if text is None:
                self._flaw(event, key, "expected a word as the key, got a list or mapping")
            return text
        if isinstance(event, events.ScalarEvent):
            self._check_tag(event, key, "str")
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchored(self._scalar(event, key), event.value, 0, 1, ())
            return str(event.value)
        self._flaw(event, key, "expected a word as the key, got a list or mapping")
        self._skip(event)
        return None

    def _skip(self, event: Any) -> None:
        """Skip a value."""
        if not isinstance(event, events.CollectionStartEvent):
            return
        outside = self._depth - 1
        while self._depth > outside:
            self._next()

    def _merged(self, event: Any, key: Key) -> dict[str, Any]:
        value = self._value(self._next(), key)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self._flaw(event, key, "`<<` takes a mapping, as in `<<: *name`")
            return {}
        return {name: item for part in reversed(parts) for name, item in part.items()}

    def _sequence(self, event: Any, key: Key) -> list[Any]:
        self._check_tag(event, key, "seq")
        result: list[Any] = []
        while not isinstance(event := self._next(), events.SequenceEndEvent):
            inner = (*key, len(result))
            self._record(inner, event.start_mark.line + 1)
            result.append(self._value(event, inner))
        return result

    def _check_tag(self, event: Any, key: Key, kind: str) -> None:
        if event.tag not in (None, "!", _PLAIN + kind):
            self._flaw(event, key, f"the tag {event.tag.replace(_PLAIN, '!!')[:MAX_SHOWN]!r} is not used here")

    def _scalar(self, event: Any, key: Key) -> Any:
        text: str = event.value
        kind = self._kind(event, key)
        if kind == "str" or (kind != "null" and key and key[0] in self._as_written):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        return self._number(event, key, text, kind)

    def _kind(self, event: Any, key: Key) -> str:
        """Classify a scalar as `null`, `bool`, `int`, `float` or `str`."""
        text: str = event.value
        if event.implicit[0]:
            for tag, pattern in self._resolvers.get(text[:1], ()):
                if pattern.match(text):
                    return self._checked(event, key, tag)
            return "str"
        return "str" if event.tag in (None, "!") else self._checked(event, key, event.tag)

    def _checked(self, event: Any, key: Key, tag: str) -> str:
        kind = tag.removeprefix(_PLAIN)
        if kind not in _KINDS:
            self._check_tag(event, key, "str")
            return "str"
        if not _KINDS[kind].match(event.value):
            self._flaw(event, key, f"invalid !!{kind} {event.value[:MAX_SHOWN]!r}")
            return "str"
        return kind

    def _number(self, event: Any, key: Key, text: str, kind: str) -> int | float | None:
        if kind == "float":
            if text[-1] in "fFnN":
                return float(text.lower().replace(".", ""))
            value = float(text)
            if not math.isinf(value):
                return value
            self._flaw(event, key, f"{_short(text)} is too large for a number of 64 bits (infinity is written .inf)")
            return None
        number = int(text, {"0x": 16, "0o": 8}.get(text[:2], 10)) if len(text) <= _MAX_DIGITS else 1 << MAX_BITS
        if number.bit_length() > MAX_BITS:
            self._flaw(event, key, f"{_short(text)} is too large: whole numbers have at most {MAX_BITS} bits")
            return None
        return number


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:20]}… ({len(text):,} characters)"


def _copied(value: Any) -> Any:
    """Copy a value, so that changes of one alias do not show in another."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
