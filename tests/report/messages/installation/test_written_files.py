from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuregress.foundation.errors import StorageError, UsageError
from gpuregress.report.messages.installation.night_command import InstalledFile, write_files

TEXT = "#!/bin/sh\n# gpuregress nightly of /p\n"


def test_files_are_written_and_replaced(tmp_path: Path) -> None:
    file = InstalledFile(tmp_path / "a/b", TEXT, executable=True)
    write_files((file,))
    write_files((InstalledFile(file.path, TEXT + "new\n"),))
    assert file.path.read_text() == TEXT + "new\n"
    write_files((file,))
    assert os.access(file.path, os.X_OK)


@pytest.mark.parametrize("kind", ["foreign", "link", "late mark"])
def test_a_file_of_somebody_else_stays(tmp_path: Path, kind: str) -> None:
    first, second = InstalledFile(tmp_path / "first", TEXT), InstalledFile(tmp_path / "second", TEXT)
    theirs = "x\n" * 9 + TEXT if kind == "late mark" else TEXT if kind == "link" else "name: theirs\n"
    (tmp_path / "theirs").write_text(theirs)
    if kind == "link":
        second.path.symlink_to(tmp_path / "theirs")
    else:
        (tmp_path / "theirs").rename(second.path)
    with pytest.raises(UsageError, match="was not written by gpuregress and is left as it is"):
        write_files((first, second))
    assert not first.path.exists()
    assert second.path.read_text() == theirs


def test_a_folder_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        write_files((InstalledFile(tmp_path / "first", TEXT),))
