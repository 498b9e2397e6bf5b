from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError


def test_what_is_not_durable_is_synced_with_its_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[str] = set()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", fsync)
    storage.write_atomic(tmp_path / "run" / "a" / "first", b"x", durable=False)
    storage.copy_file(tmp_path / "run" / "a" / "first", tmp_path / "run" / "second", durable=False)
    assert synced == set()
    storage.sync_tree(tmp_path / "run")
    assert synced == {"run", "a", "first", "second"}


def test_a_disk_that_fails_while_a_tree_is_synced_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"x")

    def fsync(_: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StorageError, match="input/output error"):
        storage.sync_tree(tmp_path)


def test_a_file_of_several_names_is_synced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert storage.link_file(tmp_path / "a", tmp_path / "deep" / "b")
    inodes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: inodes.append(os.fstat(descriptor).st_ino))
    storage.sync_tree(tmp_path)
    assert inodes.count((tmp_path / "a").stat().st_ino) == 1
    assert len(inodes) == 3
