from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.foundation import storage


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_the_killed_left_is_removed_and_nothing_of_the_living(tmp_path: Path) -> None:
    left, other, folder = tmp_path / ".gpuregress-tmp-1-a", tmp_path / "mine.tmp", tmp_path / ".gpuregress-tmp-3-c"
    folder.mkdir()
    for path in (left, other, folder / "file"):
        path.touch()
    with storage.scratch(tmp_path) as living, storage.atomic(tmp_path / "deep" / "file") as file:
        file.write(b"x")
        code = "from pathlib import Path\nfrom gpuregress.foundation import storage\nstorage.sweep_tree(Path({!r}))"
        subprocess.run([sys.executable, "-c", code.format(str(tmp_path))], check=True)
        assert names_in(tmp_path) == sorted([living.name, "deep", "mine.tmp"])
    assert (tmp_path / "deep" / "file").read_bytes() == b"x"
    assert names_in(tmp_path) == ["deep", "mine.tmp"]


def test_a_write_removes_what_the_killed_left_beside(tmp_path: Path) -> None:
    (tmp_path / ".gpuregress-tmp-1-a").touch()
    storage.write_atomic(tmp_path / "file", b"x")
    assert names_in(tmp_path) == ["file"]


def test_without_locks_only_what_is_old_is_taken_for_a_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _kind: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    for name in ("old", "new"):
        (tmp_path / f".gpuregress-tmp-{name}").touch()
    os.utime(tmp_path / ".gpuregress-tmp-old", (0, 0))
    storage.sweep_tree(tmp_path)
    assert names_in(tmp_path) == [".gpuregress-tmp-new"]


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


@pytest.mark.parametrize("moment", ["before it is opened", "before it is locked"])
def test_a_scratch_folder_that_was_taken_for_a_leftover_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    made: list[Path] = []
    whole_open = os.open

    def open_after_another_swept(path: Path, flags: int) -> int:
        first = not made
        made.append(path)
        if first and moment == "before it is opened":
            path.rmdir()
        descriptor = whole_open(path, flags)
        if first and moment == "before it is locked":
            path.rmdir()
        return descriptor

    monkeypatch.setattr(os, "open", open_after_another_swept)
    with storage.scratch(tmp_path) as folder:
        assert folder.is_dir()
    assert made[0] != made[1] == folder


def test_a_tree_that_another_process_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, flock = tmp_path / "run", fcntl.flock
    folder.mkdir()

    def late(descriptor: int, kind: int) -> None:
        folder.rmdir()
        flock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    storage.remove_tree(folder)
    assert names_in(tmp_path) == []


def test_scratch_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("gpuregress-scratch-0123456789ab", "gpuregress-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    code = "from gpuregress.foundation import storage\nwith storage.scratch() as folder: print(folder)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert names_in(tmp_path) == ["gpuregress-mine"]


def test_trees_are_removed(tmp_path: Path) -> None:
    (tmp_path / "run" / "dumps").mkdir(parents=True)
    (tmp_path / "run" / "dumps" / "a").touch()
    storage.remove_tree(tmp_path / "run")
    storage.remove_tree(tmp_path / "never")
    assert names_in(tmp_path) == []
