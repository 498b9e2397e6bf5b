from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Fault, to_json
from gpuregress.store.dumps import reader


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


@pytest.mark.parametrize(
    "read",
    [
        storage.read_bytes,
        storage.digest_file,
        storage.is_compressed,
        storage.text_size,
        lambda path: list(storage.text_pieces(path)),
        lambda path: storage.copy_file(path, path.with_name("copy")),
        reader.read_header,
        reader.read,
    ],
)
def test_no_reader_waits_for_a_pipe(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "out.1")
    with pytest.raises(StorageError, match=r"cannot read .*/out\.1: not a regular file"):
        read(tmp_path / "out.1")
    assert not storage.link_file(tmp_path / "out.1", tmp_path / "linked")


def test_a_sealed_record_is_read_and_a_changed_one_refused(tmp_path: Path) -> None:
    path, fault = tmp_path / "it.json", Fault("trap", "it stopped")
    storage.write_record(path, fault)
    text = path.read_text()
    assert storage.read_record(path, Fault, "") == fault
    unsealed = json.dumps(to_json(fault))
    for changed in (text.replace("stopped", "stopqed"), text.replace('"whole"', '"while"'), unsealed, "[]"):
        path.write_text(changed)
        with pytest.raises(StorageError, match="edited or cut short"):
            storage.read_record(path, Fault, "")
    path.write_text(unsealed)
    assert storage.read_record(path, Fault, "", is_sealed=False) == fault
