from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import StorageError
from gpuregress.toolchain import cache

KEY = "3f" + "0" * 30
OTHER = "3f" + "1" * 30
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


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


def test_keys_that_are_numbers_come_back_as_text() -> None:
    cache.store(KEY, {"a": {2: (1, 2), 10: None}}, {})
    assert cache.load(KEY) == {"a": {"2": [1, 2], "10": None}}


def test_nothing_stored_is_nothing_found() -> None:
    assert cache.load(KEY) is None


@pytest.mark.parametrize(
    "damage",
    [
        "cut",
        "changed",
        "gone",
        "record cut",
        "another format",
        "record changed",
        "a file not named",
        "another's record",
        "deep",
        "a pipe",
    ],
)
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
    elif damage == "another format":
        record.write_bytes(record.read_bytes().replace(b'"format": 2', b'"format": 0'))
    elif damage == "record changed":
        record.write_bytes(record.read_bytes().replace(b'"a": 1', b'"a": 2'))
    elif damage == "a file not named":
        document = json.loads(record.read_bytes())
        record.write_text(json.dumps({**document, "digests": {}}))
    elif damage == "another's record":
        cache.store(OTHER, {"a": 2}, {".ptx": b"0123456789"})
        record.write_bytes(cache.file_path(OTHER, ".json").read_bytes())
    elif damage == "deep":
        record.write_text("[" * 100_000)
    else:
        record.unlink()
        os.mkfifo(record)
    assert cache.load(KEY) is None


@settings(max_examples=200)
@given(json_values | st.fixed_dictionaries(dict.fromkeys(("format", "digest", "digests", "record"), json_values)))
def test_a_record_of_another_shape_is_not_there(cache_folder: Path, document: object) -> None:
    path = cache.file_path(KEY, ".json")
    cache.make_folder(path.parent)
    path.write_text(json.dumps({**document, "format": cache.FORMAT} if isinstance(document, dict) else document))
    assert cache.load(KEY) is None


def _loosen(path: Path, how: str) -> None:
    if how == "owner":
        os.chown(path, 12345, -1)
    else:
        path.chmod(path.stat().st_mode | (0o020 if how == "group" else 0o002))


@pytest.mark.parametrize("how", ["group", "others", pytest.param("owner", marks=NEEDS_ROOT)])
@pytest.mark.parametrize("where", ["", "programs", "programs/3f", f"programs/3f/{KEY}.json", f"programs/3f/{KEY}.ptx"])
def test_what_others_may_write_is_refused_with_the_reason(cache_folder: Path, where: str, how: str) -> None:
    cache.store(KEY, {"a": 1}, {".ptx": b"0123456789"})
    _loosen(cache_folder / where, how)
    message = {"group": "its group", "others": "everybody", "owner": "another user"}[how]
    with pytest.raises(StorageError, match=f"{cache_folder / where} .*{message}.*GPUREGRESS_CACHE"):
        cache.load(KEY)


@pytest.mark.parametrize("where", ["", "programs", "programs/3f"])
def test_nothing_is_written_where_others_may_write(cache_folder: Path, where: str) -> None:
    cache.make_folder(cache_folder / "programs" / "3f")
    (cache_folder / where).chmod(0o777)
    with pytest.raises(StorageError, match="everybody"):
        cache.store(KEY, {}, {})
    assert not cache.file_path(KEY, ".json").exists()


def test_a_generous_umask_opens_no_cache(cache_folder: Path) -> None:
    before = os.umask(0)
    try:
        cache.store(KEY, {"a": 1}, {".ptx": b""})
    finally:
        os.umask(before)
    assert cache.load(KEY) == {"a": 1}


def test_a_cache_that_is_copied_is_a_cache(cache_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, {"a": 1}, {".ptx": b"0123456789"})
    subprocess.run(["cp", "-r", str(cache_folder), str(tmp_path / "carried")], check=True)
    for path in (tmp_path / "carried").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "carried"))
    assert cache.load(KEY) == {"a": 1}


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
    monkeypatch.delenv("XDG_CACHE_HOME")

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache.folder() == Path(tempfile.gettempdir(), f"gpuregress-{os.geteuid()}")


def test_the_lock_of_an_entry_is_freed_by_an_error_and_needs_no_writable_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    for _ in range(2):
        with contextlib.suppress(KeyError), cache.making("abcd"):
            assert [path.name for path in tmp_path.rglob("*.lock")] == ["abcd.lock"]
            raise KeyError
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "file")
    with cache.making("abcd"):
        assert not [*tmp_path.rglob("*.lock")]


def test_only_stages_of_this_run_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert cache.stages_since("a", 0) == {}
    cache.note_stages("a", {"front end": 3.5})
    between = time.time()
    time.sleep(0.01)
    cache.note_stages("a", {"PTX": 0.5, "LLVM": 1.0})
    assert cache.stages_since("a", 0) == {"front end": 3.5, "PTX": 0.5, "LLVM": 1.0}
    assert cache.stages_since("a", between) == {"PTX": 0.5, "LLVM": 1.0}
    assert cache.stages_since("b", 0) == {}


def test_a_cache_that_cannot_be_written_costs_the_times_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "file")
    cache.note_stages("a", {"PTX": 0.5})
    assert cache.stages_since("a", 0) == {}


def test_another_folder_is_used_for_a_while(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "own"))
    with contextlib.suppress(KeyError), cache.used_folder(tmp_path / "other"):
        assert cache.folder() == tmp_path / "other"
        raise KeyError
    assert cache.folder() == tmp_path / "own"
    monkeypatch.delenv("GPUREGRESS_CACHE")
    with cache.used_folder(tmp_path / "other"):
        assert os.environ["GPUREGRESS_CACHE"] == str(tmp_path / "other")
    assert "GPUREGRESS_CACHE" not in os.environ


def test_the_code_is_every_file_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, table, kept = (tmp_path / name for name in ("toolchain/cache.py", "data/table.runs", "__pycache__/a.pyc"))
    for path in (module, table, kept):
        path.parent.mkdir()
        path.write_bytes(b"1")
    monkeypatch.setattr(cache, "__file__", str(module))
    digest = cache.code_digest.__wrapped__
    before = digest()
    kept.write_bytes(b"2")
    assert digest() == before
    table.write_bytes(b"2")
    assert digest() != before


def test_a_slow_program_is_known_in_the_next_process(cache_folder: Path) -> None:
    assert not cache.is_slow(KEY)
    cache.note_slow(KEY)
    assert cache.is_slow(KEY)
    assert not cache.is_slow(OTHER)
    cache.note_slow(KEY, is_slow=False)
    assert not cache.is_slow(KEY)
    assert cache_folder.exists()


def test_a_slow_program_that_cannot_be_kept_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "file"))
    cache.note_slow(KEY)
