from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.errors import StorageError
from gpuregress.toolchain import cache

KEY = "3f" + "0" * 30


@given(st.lists(st.text(max_size=5), max_size=5), st.lists(st.text(max_size=5), max_size=5))
def test_the_borders_between_parts_count(first: list[str], second: list[str]) -> None:
    assert (cache.digest(first) == cache.digest(second)) == (first == second)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.binary(max_size=100))
def test_what_is_stored_comes_back(cache_folder: Path, record: dict[str, object], data: bytes) -> None:
    cache.store(KEY, record, {".ptx": data})
    assert cache.load(KEY) == record
    assert cache.file_path(KEY, ".ptx").read_bytes() == data


def test_nothing_stored_is_nothing_found() -> None:
    assert cache.load(KEY) is None


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "record cut", "another format"])
def test_a_damaged_entry_is_not_there(damage: str) -> None:
    cache.store(KEY, {"a": 1}, {".ptx": b"0123456789"})
    ptx, record = cache.file_path(KEY, ".ptx"), cache.file_path(KEY, ".json")
    if damage == "cut":
        ptx.write_bytes(b"01234")
    elif damage == "changed":
        ptx.write_bytes(b"0123456780")
    elif damage == "gone":
        ptx.unlink()
    elif damage == "record cut":
        record.write_bytes(record.read_bytes()[:-5])
    else:
        record.write_bytes(record.read_bytes().replace(b'"format": 1', b'"format": 0'))
    assert cache.load(KEY) is None


def test_pruning_takes_the_entries_used_longest_ago_whole(cache_folder: Path) -> None:
    keys = [f"{k:02x}" + "0" * 30 for k in range(4)]
    for age, key in enumerate(keys):
        cache.store(key, {}, {".ptx": bytes(1000)})
        for suffix in (".ptx", ".json"):
            os.utime(cache.file_path(key, suffix), (1000 - age, 1000 - age))
    assert cache.load(keys[3]) == {}  # used now: no longer the oldest
    one = sum(cache.file_path(keys[0], suffix).stat().st_size for suffix in (".ptx", ".json"))
    assert cache.prune(cache_folder / "programs", limit_bytes=2 * one) == 2 * one
    assert [cache.load(key) is not None for key in keys] == [True, False, False, True]


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="GPUREGRESS_CACHE"):
        cache.store(KEY, {}, {".ptx": b""})


def test_the_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.delenv("GPUREGRESS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "gpuregress"
