from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuregress import storage
from gpuregress.errors import StorageError
from gpuregress.records import Fault


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
