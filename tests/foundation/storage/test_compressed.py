from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import storage
from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.storage import compressed

TEXT = b"".join(b"%d.5\n" % number for number in range(5000))


@pytest.fixture(autouse=True)
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "FRAME_BYTES", 1000)


def written(path: Path, *pieces: bytes) -> Path:
    with path.open("wb") as file, storage.FrameWriter(file) as frames:
        for piece in pieces:
            frames.add(piece)
    return path


@given(st.lists(st.binary(max_size=40), max_size=20).filter(any), st.integers(1, 50))
def test_what_was_written_is_read(pieces: list[bytes], frame: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressed, "FRAME_BYTES", frame)
        path, text = written(Path(folder) / "a.1.zst", *pieces), b"".join(pieces)
        assert b"".join(storage.text_pieces(path)) == text
        assert storage.text_size(path) == len(text)
        assert storage.digest_file(path) == storage.digest_text(text)
        with path.open("rb") as file:
            frames = storage.open_frames(file, path)
            assert frames is not None
            parts = [frames.text(number) for number in reversed(range(len(frames)))]
        assert b"".join(reversed(parts)) == text
        assert {len(part) for part in parts[1:]} <= {frame}


def test_plain_text_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.1"
    path.write_bytes(TEXT)
    assert b"".join(storage.text_pieces(path, 999)) == TEXT
    assert storage.text_size(path) == len(TEXT)
    assert not storage.is_compressed(path)


@pytest.mark.skipif(not shutil.which("zstd"), reason="the program zstd is not installed")
def test_the_program_zstd_reads_it(tmp_path: Path) -> None:
    path = written(tmp_path / "a.1.zst", TEXT)
    assert subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout == TEXT


def test_a_compressed_file_is_copied_and_another_one_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.1", written(tmp_path / "a.1.zst", TEXT)
    plain.write_bytes(TEXT)
    for source in (plain, packed):
        copy = io.BytesIO()
        storage.compress_file(source, copy)
        assert copy.getvalue() == packed.read_bytes()
    assert packed.stat().st_size < len(TEXT) / 2


@given(st.data())
def test_any_changed_byte_is_noticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressed, "FRAME_BYTES", 1000)
        path = written(Path(folder) / "a.1.zst", TEXT[:3000])
        content = bytearray(path.read_bytes())
        where = data.draw(st.integers(4, len(content) - 1))
        content[where] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        is_whole = storage.digest_file(path) == storage.digest_text(TEXT[:3000])  # zstd ignores a bit or two
        if is_whole:
            assert b"".join(storage.text_pieces(path)) == TEXT[:3000]
        else:
            with pytest.raises(DumpError, match=r"a\.1\.zst: "):
                list(storage.text_pieces(path))


@pytest.mark.parametrize("size", [4, 5, 20, 200, 1000, -1, -9, -17, -18, -40])
def test_a_file_that_was_cut_names_itself(tmp_path: Path, size: int) -> None:
    path = written(tmp_path / "a.1.zst", TEXT)
    os.truncate(path, size % path.stat().st_size)
    with pytest.raises(DumpError, match=r"a\.1\.zst: its zstd seek table is missing or damaged"):
        list(storage.text_pieces(path))
    assert storage.digest_file(path) != storage.digest_text(TEXT)


def test_a_writer_that_failed_writes_no_table(tmp_path: Path) -> None:
    path = tmp_path / "a.1.zst"
    with path.open("wb") as file:
        frames = storage.FrameWriter(file)
        frames.add(TEXT)
        frames.__exit__(KeyError, KeyError(), None)
    with pytest.raises(DumpError):
        storage.text_size(path)
