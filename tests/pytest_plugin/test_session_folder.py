"""Folder that the processes of a session share."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpuregress.pytest_plugin import session_folder


def config(**attributes: Any) -> pytest.Config:
    return cast("pytest.Config", SimpleNamespace(**attributes))


def test_workers_share_the_folder_above_their_own(tmp_path: Path) -> None:
    factory = SimpleNamespace(getbasetemp=lambda: tmp_path / "gw0")
    assert session_folder.of_session(config(_tmp_path_factory=factory, workerinput={})) == tmp_path
    assert session_folder.of_session(config(_tmp_path_factory=factory)) == tmp_path / "gw0"


def test_without_temporary_folders_of_pytest_one_is_made() -> None:
    folder = session_folder.of_session(config())
    assert folder.is_dir()
    folder.rmdir()
