"""The project, and where reports are written to."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import click
import pytest

from gpuregress.cli import context
from gpuregress.foundation.errors import StorageError, UsageError


def test_a_pipe_gets_the_report_and_stays_a_pipe(tmp_path: Path) -> None:
    """A report for /dev/null, written by root, once put a plain file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    context.write_report(str(pipe), "{}\n")
    reader.join(10)
    assert heard == ["{}\n"]
    assert pipe.is_fifo()


def test_a_device_stays_a_device() -> None:
    context.write_report("/dev/null", "text")
    assert Path("/dev/null").is_char_device()


def test_a_full_device_is_said() -> None:
    with pytest.raises(StorageError, match="/dev/full: no space"):
        context.write_report("/dev/full", "text")
    assert Path("/dev/full").is_char_device()


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    context.write_report(str(link), "text")
    assert target.read_text() == "text"
    assert link.is_symlink()


def test_a_folder_is_no_place_for_a_report(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"):
        context.write_report(str(tmp_path), "text")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"coverage": False}, False),
        ({"coverage": True}, True),
        ({"coverage": False, "reports": (("lcov", "a"),)}, True),
        ({"coverage": False, "reports": (("tap", "a"),)}, False),
    ],
)
def test_a_report_of_coverage_needs_counts(options: dict[str, object], *, wanted: bool) -> None:
    assert context.wants_coverage(options) is wanted


def test_a_current_folder_that_was_deleted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="current folder was deleted"):
        context.find_project(click.Context(click.Command("run")))
