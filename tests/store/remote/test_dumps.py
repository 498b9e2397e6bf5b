from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import BaselineError, StorageError
from gpuregress.foundation.records import Dump
from gpuregress.store import remote
from gpuregress.store.dumps import reader, writer

pytest.importorskip("fsspec")
FLOAT = dtypes.parse("float32")
X = np.arange(1000, dtype="<f4")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    return f"file://{tmp_path}/objects"


def written(folder: Path, *, compress: bool = False) -> Dump:
    return writer.write(folder / "sum.1.4", X, FLOAT, X.shape, compress_above=0 if compress else None)


def forget(folder: Path) -> None:
    for path in (folder / "cache/dumps").rglob("*.zst"):
        path.unlink()


@pytest.mark.parametrize("compress", [False, True])
def test_a_dump_is_uploaded_and_fetched(url: str, tmp_path: Path, *, compress: bool) -> None:
    dump = written(tmp_path / "run", compress=compress)
    there = remote.described(url, dump, "1.4")
    assert not remote.is_local(there)
    remote.upload_all([(dump, there), (dump, there)])
    digest = dump.text_digest
    assert there.remote == f"{url}/{digest[:2]}/{digest}.zst"
    assert (tmp_path / "objects" / digest[:2] / f"{digest}.zst").is_file()
    assert remote.is_local(there)
    forget(tmp_path)
    path = remote.local(there)
    assert path.name == "sum.1.4.zst"
    assert (reader.read(path).array == X).all()
    assert remote.local(there) == path


def test_a_local_dump_is_where_it_is(tmp_path: Path) -> None:
    dump = written(tmp_path)
    assert remote.is_local(dump)
    assert remote.local(dump) == Path(dump.path)


def test_a_missing_and_a_damaged_object_name_the_buffer(url: str, tmp_path: Path) -> None:
    dump = written(tmp_path / "run")
    there = remote.described(url, dump, "1.4")
    with pytest.raises(BaselineError, match=r"buffer sum: its accepted dump file:.*\.zst is missing; restore"):
        remote.local(there)
    remote.upload_all([(dump, there)])
    forget(tmp_path)
    (kept,) = (tmp_path / "objects").rglob("*.zst")
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(BaselineError, match=r"buffer sum: its accepted dump file:.*\.zst is damaged: its digest is"):
        remote.local(there)
    assert not list((tmp_path / "cache/dumps").rglob("sum*"))


def test_a_damaged_copy_is_fetched_again(url: str, tmp_path: Path) -> None:
    dump = written(tmp_path / "run")
    there = remote.described(url, dump, "1.4")
    remote.upload_all([(dump, there)])
    Path(there.path).write_bytes(b"# gpuregress 1 float32 [1]\n1.0\n")
    assert (reader.read(remote.local(there)).array == X).all()


def test_a_damaged_copy_is_not_taken_for_a_dump_that_needs_no_network(url: str, tmp_path: Path) -> None:
    there = remote.described(url, dump := written(tmp_path / "run"), "1.4")
    remote.upload_all([(dump, there)])
    Path(there.path).write_bytes(b"# gpuregress 1 float32 [1000]\n1.0\n")
    assert not remote.is_local(there)


def test_a_dump_that_was_changed_is_not_uploaded(url: str, tmp_path: Path) -> None:
    dump = written(tmp_path / "run")
    Path(dump.path).write_text("# gpuregress 1 float32 [1]\n1.0\n")
    with pytest.raises(BaselineError, match="changed since the run wrote it"):
        remote.upload_all([(dump, remote.described(url, dump, "1.4"))])
    assert not (tmp_path / "objects").exists()


def test_a_folder_that_cannot_be_written_names_the_buffer(url: str, tmp_path: Path) -> None:
    (tmp_path / "objects").write_text("a file")
    dump = written(tmp_path / "run")
    with pytest.raises(StorageError, match=r"buffer sum: its dump .*sum\.1\.4 cannot be uploaded: "):
        remote.upload_all([(dump, remote.described(url, dump, "1.4"))])


def test_the_oldest_copies_go_but_none_of_the_last_hour(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache/dumps"
    now = time.time()
    for number, age_s in enumerate((9000, 7000, 8000, 100)):
        path = folder / f"a{number}" / f"a{number}" / "x.1.zst"
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(1000))
        os.utime(path, (now - age_s, now))
    remote.prune(10_000)
    assert len(list(folder.rglob("*.zst"))) == 4
    remote.prune(2500)
    assert sorted(path.parts[-2] for path in folder.rglob("*.zst")) == ["a1", "a3"]
    remote.prune(1)
    assert [path.parts[-2] for path in folder.rglob("*.zst")] == ["a3"]


def test_a_cache_that_others_may_write_is_refused(url: str, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    dump = written(tmp_path / "run")
    with pytest.raises(StorageError, match="may be written by everybody"):
        remote.upload_all([(dump, remote.described(url, dump, "1.4"))])
