from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.document import reader, yaml_parser
from gpuregress.foundation.errors import JobErrors


def read(tmp_path: Path, text: str) -> reader.Document:
    path = tmp_path / "file.yaml"
    path.write_bytes(text.encode())
    return reader.read(path, as_written=("revision",))


NESTED = {
    "lists": "\na: " + "[" * 25_000 + "]" * 25_000,
    "lists that are not closed": "\na: " + "[" * 25_000,
    "mappings": "\n" + "{a: " * 25_000,
    "lists in block style": "\n" + "- " * 25_000,
    "keys": "\n" + "? " * 25_000,
    "a key that is a list": "\n? " + "[" * 25_000,
    "merges": "\na: " + "{<<: " * 25_000,
    "aliases of aliases": "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 25_000)),
}


@pytest.mark.parametrize("what", NESTED)
def test_nesting_has_a_limit(what: str, tmp_path: Path) -> None:
    with pytest.raises(JobErrors) as caught:
        read(tmp_path, NESTED[what])
    assert f"is nested deeper than {yaml_parser.MAX_DEPTH} levels" in str(caught.value)
    assert all(error.line in (2, yaml_parser.MAX_DEPTH) for error in caught.value.errors)


def test_the_depth_of_an_alias_counts(tmp_path: Path) -> None:
    half = yaml_parser.MAX_DEPTH // 2
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * (half - 1)}*a{']' * (half - 1)}\n"
    assert read(tmp_path, text).data["a"]
    with pytest.raises(JobErrors, match="nested deeper"):
        read(tmp_path, text.replace("b: [", "b: [[").replace("*a]", "*a]]"))


@pytest.mark.parametrize("text", ["a: &a {<<: *a}\n", "&a [*a]\n", "a: &a\n  b: [{c: *a}]\n", "a: &a {*a : 1}\n"])
def test_a_value_cannot_hold_itself(text: str, tmp_path: Path) -> None:
    with pytest.raises(JobErrors, match=r"the alias \*a stands inside the value that it repeats"):
        read(tmp_path, text)


@pytest.mark.parametrize("repeat", ["[{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}]", "{{a: {0}, b: {0}, c: {0}, d: {0}}}"])
def test_aliases_cannot_grow_without_bound(repeat: str, tmp_path: Path) -> None:
    lines = [f"a{k}: &a{k} {repeat.format(f'*a{k - 1}')}" for k in range(1, 50)]
    with pytest.raises(JobErrors, match="grows past 200,000 values"):
        read(tmp_path, "\n".join(["a0: &a0 x", *lines]))
