from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuregress.document import reader
from gpuregress.errors import JobErrors
from tests.document.writing import write

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=10)),
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
        ("1e999", float("inf")),
    ],
)
def test_scalars(text: str, value: Any, tmp_path: Path) -> None:
    found = read(tmp_path, f"a: {text}\n").data["a"]
    assert found == value
    assert type(found) is type(value)


def test_nan_is_a_number(tmp_path: Path) -> None:
    found = read(tmp_path, "a: .nan\n").data["a"]
    assert math.isnan(found)


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "file.yaml:2: a: stands twice: the first is in line 1"),
        ("? [1]\n: 2\n", "a key must be a word"),
        ("a: !custom 1\n", "the tag '!custom' is not used here"),
        ("a: !!set {x}\n", "the tag '!!set' is not used here"),
        ("a: " + "[" * 500 + "]" * 500, "levels"),
        ("a: \x01\n", "control characters"),
        ("a: <<\nb: {<<: 5}\n", "`<<` takes a mapping"),
        ("a: " + "9" * 5000 + "\n", ""),
    ],
)
def test_what_is_refused(text: str, message: str, tmp_path: Path) -> None:
    if not message:
        assert read(tmp_path, text).data["a"] == float("inf")
        return
    with pytest.raises(JobErrors) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(JobErrors, match="cannot be read: No such file"):
        reader.read(tmp_path / "nothing.yaml")
    with pytest.raises(JobErrors, match="cannot be read: Is a directory"):
        reader.read(tmp_path)
