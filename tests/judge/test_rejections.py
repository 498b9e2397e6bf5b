"""The file of rejected results."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import RunLocked, StorageError
from gpuregress.gpu.records import replace
from gpuregress.judge import rejections
from gpuregress.judge.rejections import Rejection

BAD = Rejection(
    "sum/n=8", "out", "0a1b", "1.4", "run-1", "2026-11-20T10:00:00Z", "ada", "the last block is not written"
)


def test_rejections_are_kept_and_the_last_one_of_the_same_bytes_counts(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert rejections.load(runs) == ()
    rejections.add(runs, [BAD])
    again = replace(BAD, who="", why="")
    other = replace(BAD, digest="ffff")
    rejections.add(runs, [other])
    rejections.add(runs, [again])
    assert rejections.load(runs) == (other, again)
    assert rejections.known(runs) == {
        ("sum/n=8", "out", "ffff"): "rejected by ada on 2026-11-20: the last block is not written",
        ("sum/n=8", "out", "0a1b"): "rejected on 2026-11-20",
    }


def test_a_case_is_forgotten(tmp_path: Path) -> None:
    kept = replace(BAD, case="heat")
    rejections.add(tmp_path, [BAD, kept])
    assert rejections.forget(tmp_path, {"sum/n=8"}) == (BAD,)
    assert rejections.load(tmp_path) == (kept,)
    assert rejections.forget(tmp_path, {"sum/n=8"}) == ()


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    rejections.add(tmp_path, [BAD])
    path = tmp_path / rejections.FILE
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StorageError, match="move it away to begin anew"):
        rejections.known(tmp_path)


def test_two_at_once_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejections, "LOCK_WAIT_S", 0.1)
    with storage.lock(tmp_path / rejections.LOCK, timeout=1), pytest.raises(RunLocked):
        rejections.add(tmp_path, [BAD])
    assert rejections.load(tmp_path) == ()
