from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import BaselineError, StorageError
from gpuregress.store.baselines import BaselineStore, expected_cases

names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12)
devices = st.sampled_from([(), ("cpu",), ("cuda",), ("cpu", "cuda")])


@given(st.dictionaries(names, devices, max_size=5))
def test_it_is_read_as_it_was_written_also_by_yaml(tmp_path: Path, cases: dict[str, tuple[str, ...]]) -> None:
    expected_cases.write(tmp_path, cases)
    assert expected_cases.read(tmp_path) == (cases or None)
    assert not expected_cases.write(tmp_path, cases)


def test_a_reader_of_yaml_takes_it() -> None:
    text = expected_cases.text({"scale/n=100": ("cpu", "cuda"), "reduce/n=8,tile=2": ()})
    assert yaml.safe_load(text) == {"version": 1, "cases": {"reduce/n=8,tile=2": "any", "scale/n=100": ["cpu", "cuda"]}}
    assert text.index("reduce") < text.index("scale")


def test_additions_of_two_branches_merge_to_a_good_file(tmp_path: Path) -> None:
    lines = expected_cases.text({"a": (), "c": (), "e": ()}).splitlines()
    lines.insert(lines.index('  "c": any'), '  "b": any')
    lines.insert(lines.index('  "e": any'), '  "d": [cuda]')
    (tmp_path / expected_cases.FILE).write_text("\n".join([*lines, ""]))
    assert expected_cases.read(tmp_path) == {"a": (), "b": (), "c": (), "d": ("cuda",), "e": ()}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('  "a": any', '<<<<<<< HEAD\n  "a": any', "cases.yaml:4: not an entry"),
        ("# end\n", "", "edited or cut short"),
        ("version: 1", "version: 2", "edited or cut short"),
        ("any", "gpu", "cases.yaml:4: not an entry"),
    ],
)
def test_a_damaged_file_is_an_error_with_its_line(tmp_path: Path, before: str, after: str, told: str) -> None:
    text = expected_cases.text({"a": ()})
    assert before in text
    (tmp_path / expected_cases.FILE).write_text(text.replace(before, after))
    with pytest.raises(BaselineError, match=told):
        expected_cases.read(tmp_path)


def test_no_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / expected_cases.FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="symbolic link"):
        expected_cases.write(tmp_path, {})


def test_a_store_adds_and_forgets(tmp_path: Path) -> None:
    store = BaselineStore(tmp_path / "baselines", tmp_path / "lock")
    assert store.expected() is None
    assert store.expect({"a": (), "b": ()})
    assert store.expect({"b": ("cpu",)}, forget=["a"])
    assert not store.expect({"b": ("cpu",)})
    assert store.expected() == {"b": ("cpu",)}
    assert [path.name for path in (tmp_path / "baselines").iterdir()] == [expected_cases.FILE]
    assert store.expect({}, forget=["b"])
    assert not list((tmp_path / "baselines").iterdir())
