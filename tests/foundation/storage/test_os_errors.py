from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "no space is left on the disk; free some"),
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "no permission; change"),
        (errno.EROFS, "read-only; choose another folder"),
        (errno.EIO, "input/output error"),
        (errno.EBUSY, "busy"),
    ],
)
def test_disk_errors_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, says: str) -> None:
    def fsync(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StorageError) as caught:
        storage.write_atomic(tmp_path / "file", b"x")
    assert str(caught.value).startswith(f"cannot write {tmp_path / 'file'}: ")
    assert says in str(caught.value).lower()
    assert not list(tmp_path.iterdir())


def test_a_path_too_long_and_a_file_for_a_folder(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="too long"):
        storage.write_atomic(tmp_path / ("x" * 300), b"x")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="is a file, not a folder"):
        storage.write_atomic(tmp_path / "file" / "below", b"x")
    with pytest.raises(StorageError, match="it is a folder"):
        storage.write_atomic(tmp_path, b"x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="no permission"):
            storage.write_atomic(tmp_path / "file", b"x")
    finally:
        tmp_path.chmod(0o700)
