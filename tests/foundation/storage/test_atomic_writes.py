from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_bytes_and_pieces(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "file"
    storage.write_atomic(path, b"one")
    assert path.read_bytes() == b"one"
    storage.write_atomic(path, [b"t", memoryview(b"wo"), bytearray()])
    assert path.read_bytes() == b"two"
    assert names_in(path.parent) == ["file"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    storage.write_atomic(tmp_path / "file", b"old")

    def half() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        storage.write_atomic(tmp_path / "file", half())
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_the_file_and_its_name_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append("whole" if (tmp_path / "file").exists() else "before")

    monkeypatch.setattr(os, "fsync", fsync)
    storage.write_atomic(tmp_path / "file", b"x")
    assert synced == ["before", "whole"]


KILLED = """
import os, signal, sys, pathlib
from gpuregress.foundation import storage
path = pathlib.Path(sys.argv[1])
if sys.argv[2] == "midway":
    with storage.atomic(path) as file:
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
while True:
    for letter in (b"a", b"b"):
        storage.write_atomic(path, letter * 100_000)
        print(flush=True)
"""


def test_killed_midway(tmp_path: Path) -> None:
    storage.write_atomic(tmp_path / "file", b"old")
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "file"), "midway"], timeout=60, check=False)
    assert (tmp_path / "file").read_bytes() == b"old"
    left = [path for path in tmp_path.iterdir() if path.name.startswith(storage.TEMPORARY_PREFIX)]
    assert len(left) == 1


@pytest.mark.parametrize("writes", [1, 7, 20])
def test_killed_anywhere(tmp_path: Path, writes: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "file"), "loop"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(writes):
        process.stdout.readline()
    process.kill()
    process.stdout.close()
    process.wait(timeout=60)
    assert (tmp_path / "file").read_bytes() in (b"a" * 100_000, b"b" * 100_000)


def test_copies(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(os.urandom(3_000_000))
    storage.copy_file(tmp_path / "a", tmp_path / "sub" / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "sub" / "b").read_bytes()
    assert storage.digest_file(tmp_path / "a") == storage.digest_text((tmp_path / "a").read_bytes())
    with pytest.raises(StorageError, match=r"cannot read .*gone: no such file"):
        storage.copy_file(tmp_path / "gone", tmp_path / "c")
