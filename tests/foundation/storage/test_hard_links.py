from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from gpuregress.foundation import storage


def test_both_names_are_one_file_that_is_read_only(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "deep" / "b"
    first.write_text("text")
    assert storage.link_file(first, second)
    assert first.samefile(second)
    assert not stat.S_IMODE(second.stat().st_mode) & 0o222
    assert [path.name for path in second.parent.iterdir()] == ["b"]


def test_a_file_of_that_name_is_replaced_whole(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("new")
    second.write_text("old")
    assert storage.link_file(first, second)
    assert storage.link_file(first, second)  # once more: both names are one file already
    assert second.read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_file_that_is_gone_cannot_be_linked(tmp_path: Path) -> None:
    assert not storage.link_file(tmp_path / "a", tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_too_many_names_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("text")

    def refuse(*_arguments: object, **_named: object) -> None:
        raise OSError(errno.EMLINK, "too many links")

    monkeypatch.setattr(os, "link", refuse)
    assert not storage.link_file(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_an_unlinked_copy_stays_when_the_other_name_is_removed(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("text")
    assert storage.link_file(first, second)
    first.unlink()
    assert second.read_text() == "text"


def test_pruning_leaves_what_has_another_name(tmp_path: Path) -> None:
    store, used, unused = tmp_path / "store", tmp_path / "used", tmp_path / "store/unused"
    store.mkdir()
    used.write_text("1")
    unused.write_text("2")
    assert storage.link_file(used, store / "used", read_only=False)
    assert used.stat().st_mode & 0o200
    for name in ("used", "unused"):
        (store / f"to-{name}").symlink_to(name)
    storage.prune_store(store)
    assert sorted(path.name for path in store.iterdir()) == ["to-used", "used"]
    used.unlink()
    storage.prune_store(store)
    storage.prune_store(tmp_path / "no such folder")
    assert not list(store.iterdir())
