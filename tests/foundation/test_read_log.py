from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuregress.foundation import read_log


def test_a_log_has_what_is_read_and_what_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "read.txt").write_text("one")
    with read_log.recorded() as log:
        (tmp_path / "read.txt").read_bytes()
        read_log.note(tmp_path / "missing.txt")
        read_log.note(tmp_path)
        assert read_log.names(tmp_path) == ["read.txt"]
    (tmp_path / "other.txt").touch()
    kept = log.fingerprints()
    assert kept is not None
    paths, folders = kept
    assert paths.keys() == {str(tmp_path / "read.txt"), str(tmp_path / "missing.txt"), str(tmp_path)}
    assert paths[str(tmp_path / "missing.txt")] == "absent"
    assert folders.keys() == {str(tmp_path)}


def test_nothing_is_noted_without_a_log_or_by_another_thread(tmp_path: Path) -> None:
    import threading  # noqa: PLC0415 - only here

    (tmp_path / "x").write_text("one")
    read_log.note(tmp_path / "x")
    with read_log.recorded() as log:
        other = threading.Thread(target=(tmp_path / "x").read_bytes)
        other.start()
        other.join()
    (tmp_path / "x").read_bytes()
    assert not log.paths
    assert log.fingerprints() == ({}, {})


def _list(folder: Path) -> None:
    os.listdir(folder)  # noqa: PTH208 - the event is what is tested


def _scan(folder: Path) -> None:
    list(folder.rglob("*"))


def _start(_folder: Path) -> None:
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)


def _give_up(_folder: Path) -> None:
    read_log.give_up("it depends on the weather")


def _large(folder: Path) -> None:
    with (folder / "large").open("wb") as file:
        file.truncate(read_log.LARGEST_BYTES + 1)
    read_log.note(folder / "large")


def _change(folder: Path) -> None:
    (folder / "x").write_text("one")
    (folder / "x").read_bytes()
    (folder / "x").write_text("other")


def _much(folder: Path) -> None:
    for number in range(read_log.MOST_BYTES // read_log.LARGEST_BYTES + 1):
        with (folder / str(number)).open("wb") as file:
            file.truncate(read_log.LARGEST_BYTES)
        read_log.note(folder / str(number))


def _appear(folder: Path) -> None:
    read_log.names(folder)
    (folder / "new").mkdir()
    read_log.names(folder)


@pytest.mark.parametrize("do", [_list, _scan, _start, _give_up, _large, _change, _much, _appear])
def test_what_cannot_be_followed_is_not_kept(tmp_path: Path, do: Callable[[Path], None]) -> None:
    with read_log.recorded() as log:
        do(tmp_path)
    assert log.fingerprints() is None


def test_a_change_that_leaves_the_times_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("one")
    state = read_log._stamp(str(path))
    monkeypatch.setattr(read_log, "_stamp", lambda _path: state)
    with read_log.recorded() as log:
        path.read_bytes()
        path.write_text("two")
    assert log.fingerprints() is None


def test_names_are_those_that_were_listed(tmp_path: Path) -> None:
    with read_log.recorded() as log:
        read_log.names(tmp_path)
        (tmp_path / "new").mkdir()
    kept = log.fingerprints()
    assert kept is not None
    assert kept[1] != {str(tmp_path): read_log.names_fingerprint(str(tmp_path))}


def test_the_search_for_a_module_is_not_noted() -> None:
    with read_log.recorded() as log:
        import wave  # noqa: PLC0415, F401 - few programs have loaded it
    assert log.fingerprints() == ({}, {})


def test_a_fingerprint_tells_states_apart(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    seen = [read_log.fingerprint(str(path))]
    path.write_text("one")
    seen.append(read_log.fingerprint(str(path)))
    path.write_text("two")
    seen.append(read_log.fingerprint(str(path)))
    link.symlink_to(path)
    seen.append(read_log.fingerprint(str(link)))
    path.unlink()
    path.mkdir()
    seen.append(read_log.fingerprint(str(path)))
    seen.append(read_log.fingerprint(str(link)))
    assert len(set(seen)) == len(seen)
    assert read_log.fingerprint("/dev/null") == ""
    before = read_log.names_fingerprint(str(tmp_path))
    (tmp_path / "new").touch()
    assert read_log.names_fingerprint(str(tmp_path)) != before
