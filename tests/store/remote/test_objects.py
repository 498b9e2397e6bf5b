from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import HarnessError, StorageError
from gpuregress.store import remote
from gpuregress.store.remote import ObjectFolder

fsspec_local = pytest.importorskip("fsspec.implementations.local")
s3fs = pytest.importorskip("s3fs")


@pytest.fixture(params=["file", "path", "memory", "s3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectFolder:
    if request.param == "s3":
        return ObjectFolder(request.getfixturevalue("s3_folder"))
    urls = {
        "file": f"file://{tmp_path}/a b/objects",
        "path": str(tmp_path / "objects"),
        "memory": f"memory://{tmp_path}",
    }
    return ObjectFolder(urls[request.param])


def test_what_was_uploaded_is_downloaded(folder: ObjectFolder, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(100_000))
    assert folder.size("ab/abcd.zst") is None
    assert not folder.download("ab/abcd.zst", target)
    folder.upload(source, "ab/abcd.zst")
    assert folder.size("ab/abcd.zst") == 100_000
    assert folder.download("ab/abcd.zst", target)
    assert target.read_bytes() == source.read_bytes()


def test_an_object_that_is_there_is_not_sent_again_and_one_of_another_size_is(
    folder: ObjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"12345")
    folder.upload(source, "ab/x")
    sent: list[str] = []
    put = remote._put

    def counted(fs: Any, root: str, file: Path, name: str, count: Any) -> None:
        sent.append(name)
        put(fs, root, file, name, count)

    monkeypatch.setattr(remote, "_put", counted)
    folder.upload(source, "ab/x")
    assert sent == []
    source.write_bytes(b"123456")
    folder.upload(source, "ab/x")
    assert (sent, folder.size("ab/x")) == (["ab/x"], 6)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_file_has_its_name_only_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    folder, source = ObjectFolder(f"{scheme}{tmp_path}/objects"), tmp_path / "source"
    source.write_bytes(b"12345")

    def half(_self: Any, lpath: str, rpath: str, **_more: Any) -> None:
        Path(rpath).write_bytes(Path(lpath).read_bytes()[:2])
        raise OSError("the line was cut")

    with monkeypatch.context() as patch:
        patch.setattr(fsspec_local.LocalFileSystem, "put_file", half)
        with pytest.raises(StorageError, match=r"writing .*objects/ab/x failed: OSError: the line was cut; check"):
            folder.upload(source, "ab/x")
    assert folder.size("ab/x") is None
    assert list((tmp_path / "objects/ab").iterdir()) == []


def test_an_object_that_did_not_arrive_whole_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"12345")
    monkeypatch.setattr(remote, "_put", lambda *_given: None)
    with pytest.raises(StorageError, match="0 of 5 bytes arrived"):
        ObjectFolder(str(tmp_path)).upload(source, "x")


def test_a_server_that_is_not_there_is_an_error_without_credentials(
    s3_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}/secret-of-tests")
    remote._file_system.cache_clear()
    _forget_instances()
    with pytest.raises(StorageError) as caught:
        ObjectFolder(s3_folder).download("x", tmp_path / "x")
    assert str(caught.value).startswith(f"looking for {s3_folder}/x failed: EndpointConnectionError: ")
    assert "secret-of-tests" not in str(caught.value)
    remote._file_system.cache_clear()
    _forget_instances()


def test_a_server_that_does_not_answer_is_given_up(
    s3_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        peers: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):  # it is shut down
                while True:
                    peers.append(silent.accept()[0])

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(remote, "STALLED_S", 0.5)
        remote._file_system.cache_clear()
        _forget_instances()
        with pytest.raises(StorageError, match=r"no answer for \d+ s"):
            ObjectFolder(s3_folder).download("x", tmp_path / "x")
        with pytest.raises(StorageError, match=r"looking for .*/y: not tried, since .* gave no answer 0 s ago"):
            ObjectFolder(s3_folder).download("y", tmp_path / "x")
        silent.shutdown(socket.SHUT_RDWR)
        accepting.join(60)
        for peer in peers:
            peer.close()
    _wait_for_what_was_given_up()
    remote._file_system.cache_clear()
    _forget_instances()


def _wait_for_what_was_given_up() -> None:
    """Else botocore tries again during later tests, with `random`, whose use Hypothesis notices in any of them."""
    for thread in threading.enumerate():
        if thread.name == "gpuregress-remote":
            thread.join(60)
            assert not thread.is_alive()


def _forget_instances() -> None:
    s3fs.S3FileSystem.clear_instance_cache()


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    remote._file_system.cache_clear()
    with pytest.raises(HarnessError, match=r"pip install 'gpuregress\[remote\]'"):
        ObjectFolder("s3://bucket/none").size("x")


def test_an_address_that_nothing_understands() -> None:
    with pytest.raises(HarnessError, match=r"nosuch://x, which fsspec does not understand: .*expected an address such"):
        ObjectFolder("nosuch://x").size("x")


def test_a_full_disk_is_the_disk_s_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(5000))
    folder = ObjectFolder(str(tmp_path / "objects"))
    folder.upload(source, "x")
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result((1, 1, 9000, 4999, 4999, 0, 0, 0, 0, 255)))
    with pytest.raises(StorageError, match="no space is left on the disk"):
        folder.download("x", tmp_path / "target")
