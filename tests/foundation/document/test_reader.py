from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.document import reader, yaml_parser
from gpuregress.foundation.errors import JobErrors
from tests.foundation.document.writing import write

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**128) + 1, 2**128 - 1),
        st.floats(allow_nan=False),
        st.text(max_size=10),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=12,
)


def read(tmp_path: Path, text: str) -> reader.Document:
    path = tmp_path / "file.yaml"
    path.write_bytes(text.encode())
    return reader.read(path, as_written=("revision",))


@settings(max_examples=100)
@example(value={"a": "0E0", "b": "1e5", "c": "yes", "d": 1e20})
@given(value=st.dictionaries(st.text(max_size=6).filter(lambda key: key != "<<"), VALUES, max_size=4))
def test_what_is_written_reads_back(value: dict[str, Any], tmp_path: Path) -> None:
    document = read(tmp_path, write(value))
    assert document.data == value or "revision" in value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("1.0e-5", 1e-5),
        (".5", 0.5),
        ("-3.", -3.0),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("2026-11-20", "2026-11-20"),
        ("010", 10),
        ("0x10", 16),
        ("0o10", 8),
        ("1_000", "1_000"),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("=", "="),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
        (".Inf", float("inf")),
        ("!!str 5", "5"),
        ("!!float 5", 5.0),
        ("!!int 5", 5),
        ("<<", "<<"),
    ],
)
def test_scalars(text: str, value: Any, tmp_path: Path) -> None:
    actual = read(tmp_path, f"a: {text}\n").data["a"]
    assert actual == value
    assert type(actual) is type(value)


def test_nan_is_a_number(tmp_path: Path) -> None:
    actual = read(tmp_path, "a: .nan\n").data["a"]
    assert math.isnan(actual)


def test_revision_stays_as_written(tmp_path: Path) -> None:
    assert read(tmp_path, "revision: 1.10\n").data == {"revision": "1.10"}


def test_lines(tmp_path: Path) -> None:
    document = read(tmp_path, "a:\n  b:\n    - 1\n    - c: 2\n\nd: {e: 1,\n  f: 2}\n")
    assert document.line(("a", "b", 1, "c")) == 4
    assert document.line(("d", "f")) == 7
    assert document.line(("a", "b", 0, "nothing")) == 3
    assert document.line(("nothing",)) is None


def test_dotted() -> None:
    assert reader.dotted(("buffers", "x", "shape", 0)) == "buffers.x.shape[0]"
    assert reader.dotted(()) == ""


def test_anchors_and_merges(tmp_path: Path) -> None:
    text = "base: &base {x: 1, y: 2}\nmore:\n  <<: *base\n  y: 3\nlist: [*base]\n"
    data = read(tmp_path, text).data
    assert data["more"] == {"x": 1, "y": 3}
    assert data["list"] == [{"x": 1, "y": 2}]


def test_an_alias_may_be_a_key(tmp_path: Path) -> None:
    assert read(tmp_path, "a: &name x\nb: {*name : 1}\n").data["b"] == {"x": 1}


def test_what_an_alias_repeats_is_a_copy_with_its_lines(tmp_path: Path) -> None:
    document = read(tmp_path, "a: &a\n  b: [1]\nc: *a\nd:\n  <<: *a\n  e: 2\n")
    assert document.data["c"] == document.data["a"]
    assert document.data["c"]["b"] is not document.data["a"]["b"]
    assert document.line(("c", "b", 0)) == 2
    assert document.line(("d", "b", 0)) == 2
    assert document.line(("d", "e")) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "file.yaml:2: a: duplicate key: the first is in line 1"),
        ("a: 1\na: {b: [1, 2]}\nc: !x 3\n", "file.yaml:3: c: the tag '!x' is not used here"),
        ("? [1]\n: 2\n", "expected a word as the key"),
        ("a: &a [1]\n*a : 2\n", "expected a word as the key"),
        ("a: !custom 1\n", "the tag '!custom' is not used here"),
        ("a: !!set {x}\n", "the tag '!!set' is not used here"),
        ("a: !!python/object/apply:os.system [ls]\n", "the tag '!!python/object/apply:os.system' is not used here"),
        ("!!python/name:os.system a: 1\n", "the tag '!!python/name:os.system' is not used here"),
        ("a: !!binary aGk=\n", "the tag '!!binary' is not used here"),
        ("a: !!bool maybe\n", "invalid !!bool 'maybe'"),
        ("a: \x01\n", "control characters"),
        ("a: \0\n", "control characters"),
        ("a: b\nb: {<<: 5}\n", "`<<` takes a mapping"),
        ("a: 1\n---\nb: 2\n", "file.yaml:2: is not YAML: a second document starts here"),
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("a:\n\tb: 1\n", "tabs cannot indent"),
        ("\n\na: " + "9" * 5000 + "\n", "file.yaml:3: a: 99999999999999999999… (5,000 characters) is too large"),
        (f"a: {2**128}\n", "whole numbers have at most 128 bits"),
        (f"a: 0x{'f' * 100_000}\n", "whole numbers have at most 128 bits"),
        ("a: -1e999999\n", "a: -1e999999 is too large for a number of 64 bits"),
        ("a: *b\n", "the alias *b repeats no anchor"),
    ],
)
def test_what_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(JobErrors) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


TOKENS = (
    *("a", "b: ", "- ", "[", "]", "{", "}", ", ", "&a ", "*a", "<<: ", "? ", ": ", "!!int ", "!x ", "1e999", "|\n"),
    *("\n", "  ", "'", '"', "#", "---\n", "\t", "\0", "\ufeff", "~", "0x1", ".nan", "é"),
)


@settings(max_examples=300)
@given(text=st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    built = yaml_parser.parse_yaml(text.encode())
    assert built.flaws or all(line <= text.count("\n") + 1 for line in built.lines.values())


def test_a_file_that_would_block_or_is_too_large(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(JobErrors, match="not a regular file"):
        reader.read(tmp_path / "pipe.yaml")
    with pytest.raises(JobErrors, match="not a regular file"):
        reader.read(Path("/dev/zero"))
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(500 << 20)
    with pytest.raises(JobErrors, match="is larger than 4 MiB"):
        reader.read(tmp_path / "large.yaml")
    (tmp_path / "wide.yaml").write_text("a: 1\n", encoding="utf-16")
    with pytest.raises(JobErrors, match="UTF-16"):
        reader.read(tmp_path / "wide.yaml")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffa: 1\n").data == {"a": 1}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(JobErrors, match="cannot be read: No such file"):
        reader.read(tmp_path / "nothing.yaml")
    with pytest.raises(JobErrors, match="cannot be read: Is a directory"):
        reader.read(tmp_path)
