"""Generated files and a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError

MARK = "# Written by a generator"


def test_a_file_without_the_mark_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    assert not storage.is_foreign(path, MARK)
    path.write_text(f"{MARK}: launch 3\nsource: a.cu\n")
    assert not storage.is_foreign(path, MARK)
    path.write_text(f"source: a.cu\n{MARK}\n")
    assert storage.is_foreign(path, MARK)
    with pytest.raises(StorageError, match="cannot read"):
        storage.is_foreign(tmp_path, MARK)
