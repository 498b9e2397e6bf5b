from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.records import Dump
from gpuregress.store.dumps import contents, reader, writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.dumps.files import Header

FLOAT = dtypes.parse("float32")
HEADER = Header(FLOAT, (8,))
X = np.arange(8, dtype=np.float32)


def written(path: Path) -> Dump:
    return writer.write(path, X, FLOAT, (8,), durable=False)


@pytest.fixture
def index(tmp_path: Path) -> DumpContents:
    return DumpContents(tmp_path / "contents")


def test_a_dump_of_the_same_content_is_another_name_of_the_file(index: DumpContents, tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "out.1")
    index.add(first, HEADER)
    second = index.link(tmp_path / "b" / "sum.2", first.digest, HEADER)
    assert second is not None
    assert Path(second.path).samefile(first.path)
    assert second == Dump("sum", str(tmp_path / "b" / "sum.2"), "float32", (8,), first.digest, first.text_digest)
    assert reader.read(Path(second.path)).array.tolist() == X.tolist()


@pytest.mark.parametrize("header", [Header(FLOAT, (4, 2)), Header(dtypes.parse("int32"), (8,))])
def test_another_type_or_shape_of_the_same_bytes_is_another_content(
    index: DumpContents, tmp_path: Path, header: Header
) -> None:
    first = written(tmp_path / "a" / "out.1")
    index.add(first, HEADER)
    assert index.link(tmp_path / "b" / "out.1", first.digest, header) is None
    assert index.link(tmp_path / "b" / "out.1", "0" * 32, HEADER) is None


def test_a_file_that_was_changed_meanwhile_is_not_linked(index: DumpContents, tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "out.1")
    index.add(first, HEADER)
    Path(first.path).write_text("# gpuregress 1 float32 [8]\n1\n")
    assert index.link(tmp_path / "b" / "out.1", first.digest, HEADER) is None
    assert not (tmp_path / "b" / "out.1").exists()


def test_a_later_entry_replaces_the_first(index: DumpContents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it must be where the first file has all the names that it can have."""
    first = written(tmp_path / "a" / "out.1")
    index.add(first, HEADER)
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", lambda *_a, **_k: (_ for _ in ()).throw(OSError("too many")))
        assert index.link(tmp_path / "b" / "out.1", first.digest, HEADER) is None
    second = written(tmp_path / "b" / "out.1")
    index.add(second, HEADER)
    third = index.link(tmp_path / "c" / "out.1", first.digest, HEADER)
    assert third is not None
    assert Path(third.path).samefile(second.path)


def test_contents_outlive_the_first_run_and_go_with_the_last(index: DumpContents, tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "out.1")
    index.add(first, HEADER)
    Path(first.path).unlink()
    second = index.link(tmp_path / "b" / "out.1", first.digest, HEADER)
    assert second is not None
    storage.prune_store(index.folder)
    assert index.link(tmp_path / "c" / "out.1", first.digest, HEADER) is not None
    for run in "bc":
        (tmp_path / run / "out.1").unlink()
    storage.prune_store(index.folder)
    assert list(index.folder.iterdir()) == []
    assert index.link(tmp_path / "d" / "out.1", first.digest, HEADER) is None
    storage.prune_store(tmp_path / "no such folder")


def test_a_compressed_dump_is_linked_where_it_should_be_compressed(tmp_path: Path) -> None:
    packing, plain = DumpContents(tmp_path / "contents", 10), DumpContents(tmp_path / "contents", 1000)
    first = writer.write(tmp_path / "a" / "out.1", X, FLOAT, (8,), compress_above=10)
    packing.add(first, HEADER)
    second = packing.link(tmp_path / "b" / "out.1", first.digest, HEADER)
    assert second is not None
    assert second == Dump("out", str(tmp_path / "b/out.1.zst"), "float32", (8,), first.digest, first.text_digest)
    assert Path(second.path).samefile(first.path)
    assert plain.link(tmp_path / "c" / "out.1", first.digest, HEADER) is None


def test_without_links_there_are_no_entries(
    index: DumpContents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = written(tmp_path / "a" / "out.1")
    monkeypatch.setattr(os, "symlink", lambda *_a, **_k: (_ for _ in ()).throw(PermissionError("no links here")))
    index.add(first, HEADER)
    assert index.link(tmp_path / "b" / "out.1", first.digest, HEADER) is None


def test_a_copy_where_a_link_cannot_be(tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "out.1")
    wanted = Dump("out", str(tmp_path / "b" / "out.1"), "float32", (8,), first.digest, first.text_digest)
    assert contents.copied(Path(first.path), wanted)
    assert not Path(wanted.path).samefile(first.path)
    Path(first.path).write_text("edited")
    assert not contents.copied(Path(first.path), wanted)
    assert not Path(wanted.path).exists()
