from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.cluster import sent_files
from gpuregress.execution.cluster.messages import SentFile
from gpuregress.execution.cluster.sent_files import ContentStore
from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ContentStore:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    return ContentStore(tmp_path / "cache" / "cluster")


def sent(data: bytes, path: str = "/client/x") -> SentFile:
    return SentFile(path, storage.digest_text(data), len(data))


def add(store: ContentStore, data: bytes, sender: str = "run") -> SentFile:
    file = sent(data)
    store.add_piece(file, sender, 0, data)
    return file


@given(data=st.binary(max_size=50), size=st.integers(1, 7))
def test_a_file_in_pieces_is_whole(data: bytes, size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUREGRESS_CACHE", str(root))
        store, file = ContentStore(root / "cluster"), sent(data)
        offsets = range(0, max(1, len(data)), size)
        assert store.missing([file]) == (file.digest,)
        whole = [store.add_piece(file, "run", offset, data[offset : offset + size]) for offset in offsets]
        assert whole == [False] * (len(whole) - 1) + [True]
        assert store.missing([file, file]) == ()
        assert store.place(file, root / "placed" / "x")
        assert (root / "placed" / "x").read_bytes() == data


def test_a_damaged_file_never_enters(store: ContentStore) -> None:
    file = sent(b"right")
    with pytest.raises(StorageError, match="/client/x was damaged or edited on its way"):
        store.add_piece(file, "run", 0, b"wrong")
    assert store.missing([file]) == (file.digest,)


def test_two_senders_do_not_disturb_each_other(store: ContentStore) -> None:
    file = sent(b"abcd")
    store.add_piece(file, "one", 0, b"ab")
    store.add_piece(file, "two", 0, b"ab")
    assert store.add_piece(file, "one", 2, b"cd")
    assert store.add_piece(file, "two", 2, b"cd")


def test_workers_of_one_host_see_one_identity(store: ContentStore) -> None:
    assert store.identity == ContentStore(store.root).identity != ""


def test_a_store_that_others_may_write_is_refused(store: ContentStore) -> None:
    assert store.identity
    store.root.chmod(0o777)
    with pytest.raises(StorageError, match="may be written by everybody"):
        _ = store.identity


def test_the_store_is_bounded_and_a_placed_file_stays(
    store: ContentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_files, "PRUNE_AFTER_BYTES", 0)
    small = ContentStore(store.root, limit_bytes=250)
    files = []
    for number in range(4):
        files.append(add(small, bytes([number]) * 100))
        path = store.root / files[-1].digest[:2] / f"{files[-1].digest}.blob"
        if number == 0:
            assert small.place(files[0], tmp_path / "held")
        os.utime(path, (number, number))
    add(small, b"x" * 100)
    assert set(small.missing(files)) >= {files[0].digest, files[1].digest}
    assert (tmp_path / "held").read_bytes() == bytes(100)
    assert not small.place(files[0], tmp_path / "late")
