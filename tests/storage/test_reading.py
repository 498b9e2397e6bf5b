from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpuregress import storage
from gpuregress.errors import StorageError
from gpuregress.records import Fault, to_json


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


def test_a_sealed_record_is_read_and_a_changed_one_refused(tmp_path: Path) -> None:
    path, fault = tmp_path / "it.json", Fault("trap", "it stopped")
    text = json.dumps(storage.seal(to_json(fault)))
    path.write_text(text)
    assert storage.read_record(path, Fault, "") == fault
    path.write_text(json.dumps(to_json(fault)))
    assert storage.read_record(path, Fault, "") == fault  # as an earlier gpuregress wrote it
    for changed in (text.replace("stopped", "stopqed"), text.replace('"whole"', '"while"')):
        path.write_text(changed)
        with pytest.raises(StorageError, match="edited or cut short"):
            storage.read_record(path, Fault, "")


def test_a_running_digest_is_that_of_all_bytes() -> None:
    digest = storage.RunningDigest()
    for piece in (b"a", b"bc", b""):
        digest.update(piece)
    assert digest.hexdigest() == storage.digest_text(b"abc")
