"""The names of runs: found by their beginning or end, `latest` by its link."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import clock
from gpuregress.foundation.errors import NothingToDo, UsageError
from gpuregress.store.dumps import run_names

ONE, TWO = "20261120T020000Z-0001", "20261121T020000Z-0002"


def test_a_run_is_found_by_its_name(tmp_path: Path) -> None:
    for name in (ONE, TWO, "notes"):
        (tmp_path / name).mkdir()
    assert [folder.name for folder in run_names.every(tmp_path)] == [ONE, TWO]
    assert run_names.find(tmp_path, "20261120") == tmp_path / ONE
    assert run_names.find(tmp_path, "0002") == run_names.find(tmp_path) == tmp_path / TWO
    (tmp_path / "latest").symlink_to(ONE)
    assert run_names.find(tmp_path, "latest") == run_names.latest(tmp_path) == tmp_path / ONE


def test_a_run_of_a_wrong_clock_is_no_newer_than_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    future = "20271121T020000Z-0000"
    for name in (ONE, TWO, future):
        (tmp_path / name).mkdir()
    monkeypatch.setenv(clock.VARIABLE, "2026-11-22T02:00:00+00:00")
    assert [folder.name for folder in run_names.every(tmp_path)] == [future, ONE, TWO]
    (tmp_path / "latest").symlink_to(future)  # until the next one
    assert [folder.name for folder in run_names.every(tmp_path)] == [ONE, TWO, future]


@pytest.mark.parametrize(("name", "message"), [("2026112", "2 runs are called"), ("x", "there is no run 'x'")])
def test_a_name_that_means_no_run_or_several(tmp_path: Path, name: str, message: str) -> None:
    for run in (ONE, TWO):
        (tmp_path / run).mkdir()
    with pytest.raises(UsageError, match=message):
        run_names.find(tmp_path, name)


def test_there_is_no_run_yet(tmp_path: Path) -> None:
    assert run_names.every(tmp_path / "runs") == ()
    assert run_names.latest(tmp_path) is None
    with pytest.raises(NothingToDo, match="no run in"):
        run_names.find(tmp_path / "runs")
