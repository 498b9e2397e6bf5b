"""Paths of dumps."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.store.dumps import files


def test_a_path_and_its_parts() -> None:
    path = files.dump_path(Path("runs/r/dumps"), "reduce/n=8", "out", "1.4-0a1b")
    assert path == Path("runs/r/dumps/reduce/n=8/out.1.4-0a1b")
    assert files.split_name(path.name) == ("out", "1.4-0a1b")


@pytest.mark.parametrize("case", ["../x", "/etc", "a/../../x"])
def test_no_case_leaves_the_folder(case: str) -> None:
    with pytest.raises(StorageError):
        files.dump_path(Path("runs/r/dumps"), case, "out", "1")
