from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.store.dumps import files, reader, writer

FLOAT = dtypes.parse("float32")
VALUES = np.arange(10, dtype="<f4")


KILLED = """
import os, signal, sys, pathlib, numpy
from gpuregress.foundation import dtypes
from gpuregress.store.dumps import writer
pieces = writer.DumpWriter(pathlib.Path(sys.argv[1]), dtypes.parse("float32"), (10,))
pieces.add(numpy.ones(5, "<f4"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_pieces_make_the_same_file(tmp_path: Path) -> None:
    whole = writer.write(tmp_path / "a.1", VALUES, FLOAT, (10,))
    with writer.DumpWriter(tmp_path / "b.1", FLOAT, (10,)) as pieces:
        for start in range(0, 10, 3):
            pieces.add(VALUES[start : start + 3])
        dump = pieces.finish()
    assert (dump.digest, dump.text_digest) == (whole.digest, whole.text_digest)
    assert (dump.buffer, dump.dtype, dump.shape) == ("b", "float32", (10,))


def test_a_large_array_is_printed_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = writer.write(tmp_path / "a.1", VALUES, FLOAT, (10,))
    monkeypatch.setattr(writer, "PIECE", 4)
    assert writer.write(tmp_path / "b.1", VALUES, FLOAT, (10,)).text_digest == whole.text_digest


def test_elements_too_many_or_too_few(tmp_path: Path) -> None:
    for count, says in ((11, "1 elements more"), (9, "1 elements fewer")):
        with pytest.raises(DumpError, match=says):
            writer.write(tmp_path / "a.1", np.zeros(count, "<f4"), FLOAT, (10,))
    assert names_in(tmp_path) == []


def test_what_was_not_finished_leaves_nothing(tmp_path: Path) -> None:
    with writer.DumpWriter(tmp_path / "a.1", FLOAT, (10,)) as pieces:
        pieces.add(VALUES[:3])
    assert names_in(tmp_path) == []


def test_a_known_buffer_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = writer.write(tmp_path / "base" / "sum.1", VALUES, FLOAT, (10,))
    monkeypatch.setattr(writer, "lines", None)  # nothing may be printed
    known = {first.digest: Path(first.path)}
    copy = writer.write(tmp_path / "run" / "sum.2", VALUES, FLOAT, (10,), known=known)
    assert (copy.digest, copy.text_digest, copy.path) == (
        first.digest,
        first.text_digest,
        str(tmp_path / "run" / "sum.2"),
    )
    assert (tmp_path / "run" / "sum.2").read_bytes() == (tmp_path / "base" / "sum.1").read_bytes()


def test_the_same_bytes_of_another_shape_or_type_are_printed(tmp_path: Path) -> None:
    first = writer.write(tmp_path / "sum.1", VALUES, FLOAT, (10,))
    known = {first.digest: Path(first.path)}
    writer.write(tmp_path / "sum.2", VALUES, FLOAT, (2, 5), known=known)
    assert reader.read(tmp_path / "sum.2").array.shape == (2, 5)
    writer.write(tmp_path / "sum.3", VALUES.view("<i4"), dtypes.parse("int32"), (10,), known=known)
    assert reader.read_header(tmp_path / "sum.3").element_type.name == "int32"


def test_a_known_dump_that_is_gone_does_no_harm(tmp_path: Path) -> None:
    known = {writer.content_digest(VALUES, FLOAT): tmp_path / "gone.1"}
    writer.write(tmp_path / "sum.1", VALUES, FLOAT, (10,), known=known)
    assert reader.read(tmp_path / "sum.1").array.tolist() == VALUES.tolist()


def test_killed_while_writing_leaves_the_old_dump(tmp_path: Path) -> None:
    writer.write(tmp_path / "sum.1", VALUES, FLOAT, (10,))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "sum.1")], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert reader.read(tmp_path / "sum.1").array.tolist() == VALUES.tolist()
    assert [name for name in names_in(tmp_path) if not name.startswith(".gpuregress-tmp-")] == ["sum.1"]


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files stands in for it: the write fails in the midst, as it would there."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        with pytest.raises(StorageError, match=r"cannot write .*sum\.1: the file is larger than"):
            writer.write(tmp_path / "sum.1", np.ones(10_000, "<f4"), FLOAT, (10_000,))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, previous)
    assert names_in(tmp_path) == []


def test_names(tmp_path: Path) -> None:
    path = files.dump_path(tmp_path, "reduce/n=1000,tile=128", "sum", "1.266a")
    assert path == tmp_path / "reduce" / "n=1000,tile=128" / "sum.1.266a"
    assert files.split_name(path.name) == ("sum", "1.266a")
    assert files.split_name("baseline.yaml") is None
    assert files.split_name(".gpuregress-tmp-1-2") is None
    with pytest.raises(StorageError, match="is not a path inside"):
        files.dump_path(tmp_path, "../reduce", "sum", "1")


@pytest.mark.parametrize(("above", "name"), [(None, "a.1"), (10_000, "a.1"), (500, "a.1.zst"), (0, "a.1.zst")])
def test_a_dump_above_a_size_is_compressed(tmp_path: Path, above: int | None, name: str) -> None:
    values = np.arange(1000, dtype="<f4")
    with writer.DumpWriter(tmp_path / "a.1", FLOAT, (1000,), compress_above=above) as pieces:
        for start in range(0, 1000, 90):
            pieces.add(values[start : start + 90])
        dump = pieces.finish()
    assert names_in(tmp_path) == [name]
    assert (dump.buffer, dump.path) == ("a", str(tmp_path / name))
    assert (reader.read(tmp_path / name).array == values).all()
    assert writer.has_form(tmp_path / name, above)


def test_an_unfinished_compressed_dump_leaves_nothing(tmp_path: Path) -> None:
    with writer.DumpWriter(tmp_path / "a.1", FLOAT, (10,), compress_above=10) as pieces:
        pieces.add(VALUES[:3])
    assert names_in(tmp_path) == []


def test_a_known_dump_is_copied_only_in_the_form_that_it_should_have(tmp_path: Path) -> None:
    packed = writer.write(tmp_path / "a.1", VALUES, FLOAT, (10,), compress_above=10)
    known = {packed.digest: Path(packed.path)}
    for above, name in ((10, "b.1.zst"), (None, "c.1"), (1000, "d.1")):
        dump = writer.write(
            tmp_path / name.removesuffix(".zst"), VALUES, FLOAT, (10,), known=known, compress_above=above
        )
        assert (Path(dump.path).name, dump.text_digest) == (name, packed.text_digest)


@pytest.mark.parametrize(("first", "rest", "name"), [(0.12345678, 1.0, "a.1"), (1.0, 0.12345678, "a.1.zst")])
def test_the_form_depends_on_the_whole_text_and_not_on_the_first_elements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: float, rest: float, name: str
) -> None:
    monkeypatch.setattr(writer, "PIECE", 10)
    values = np.full(1000, rest, "<f4")
    values[:10] = first
    dump = writer.write(tmp_path / "a.1", values, FLOAT, (1000,), compress_above=6000)
    assert names_in(tmp_path) == [name]
    assert dump.path == str(tmp_path / name)
    assert dump.text_digest == writer.write(tmp_path / "b.1", values, FLOAT, (1000,)).text_digest
    assert (reader.read(tmp_path / name).array == values).all()
    assert writer.has_form(tmp_path / name, 6000)
