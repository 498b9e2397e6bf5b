from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress import storage
from gpuregress.errors import RunLocked, StorageError
from gpuregress.records import Fault


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


KILLED = """
import os, signal, sys, pathlib
from gpuregress import storage
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


def test_what_the_killed_left_is_removed_and_nothing_of_the_living(tmp_path: Path) -> None:
    left, other, folder = tmp_path / ".gpuregress-tmp-1-a", tmp_path / "mine.tmp", tmp_path / ".gpuregress-tmp-3-c"
    folder.mkdir()
    for path in (left, other, folder / "file"):
        path.touch()
    with storage.scratch(tmp_path) as living, storage.atomic(tmp_path / "deep" / "file") as file:
        file.write(b"x")
        code = "import sys; from gpuregress import storage; storage.sweep_tree(storage.Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        assert names_in(tmp_path) == sorted([living.name, "deep", "mine.tmp"])
    assert (tmp_path / "deep" / "file").read_bytes() == b"x"
    assert names_in(tmp_path) == ["deep", "mine.tmp"]


def test_a_write_removes_what_the_killed_left_beside(tmp_path: Path) -> None:
    (tmp_path / ".gpuregress-tmp-1-a").touch()
    storage.write_atomic(tmp_path / "file", b"x")
    assert names_in(tmp_path) == ["file"]


def test_a_temporary_file_that_was_taken_for_a_leftover_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, taken = fcntl.flock, list[Path]()

    def late(descriptor: int, kind: int) -> None:
        if not taken:
            (path,) = tmp_path.iterdir()
            path.unlink()
            taken.append(path)
        flock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    storage.write_atomic(tmp_path / "file", b"x")
    assert (tmp_path / "file").read_bytes() == b"x"
    assert taken


def test_scratch_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("gpuregress-scratch-0123456789ab", "gpuregress-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    code = "from gpuregress import storage\nwith storage.scratch() as folder: print(folder)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert names_in(tmp_path) == ["gpuregress-mine"]


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff", b"[" * 100_000, b"null", b"[]", b'{"pid": "1"}', b"{}", b"1" * 9999]
)
def test_a_damaged_record_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "it.json").write_bytes(text)
    with pytest.raises(StorageError, match=r"it\.json: edited or cut short; move it away"):
        storage.read_record(tmp_path / "it.json", Fault, "move it away")


def test_a_record_that_is_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it.json")
    with pytest.raises(StorageError, match="edited or cut short"):
        storage.read_json(tmp_path / "it.json", "remove it")


def test_copies(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(os.urandom(3_000_000))
    storage.copy_file(tmp_path / "a", tmp_path / "sub" / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "sub" / "b").read_bytes()
    assert storage.digest_file(tmp_path / "a") == storage.digest_text((tmp_path / "a").read_bytes())
    with pytest.raises(StorageError, match=r"cannot read .*gone: no such file"):
        storage.copy_file(tmp_path / "gone", tmp_path / "c")


def test_trees_are_removed(tmp_path: Path) -> None:
    (tmp_path / "run" / "dumps").mkdir(parents=True)
    (tmp_path / "run" / "dumps" / "a").touch()
    storage.remove_tree(tmp_path / "run")
    storage.remove_tree(tmp_path / "never")
    assert names_in(tmp_path) == []


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
    assert names_in(tmp_path) == []


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


@pytest.mark.parametrize("name", ["", "/etc", "..", "a/../b", "a//b", "a/", "./a", "a\0b"])
def test_names_that_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match="does not name a place inside"):
        storage.safe_join(tmp_path, name)


def test_names_that_stay(tmp_path: Path) -> None:
    assert storage.safe_join(tmp_path, "reduce/n=1,t=2") == tmp_path / "reduce" / "n=1,t=2"
    assert storage.split_name(storage.dump_name("sum", "1.4")) == ("sum", "1.4")
    assert storage.dump_name("sum", "v1/2") == "sum.v1-2"
    assert storage.split_name("nodot") is None


HOLDER = """
import sys, time, pathlib
from gpuregress import storage
with storage.lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        with (
            pytest.raises(RunLocked, match=rf"lock is locked by process {process.pid} on .* since .*; wait"),
            storage.lock(path),
        ):
            pass
    finally:
        process.kill()
        process.communicate()
    with storage.lock(path):  # the system freed the lock of the killed
        assert str(os.getpid()) in (tmp_path / "runs" / "lock.holder").read_text()
    assert not (tmp_path / "runs" / "lock.holder").exists()


def test_a_lock_can_be_taken_again_after_an_error(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError), storage.lock(tmp_path / "lock"):
            raise RuntimeError
