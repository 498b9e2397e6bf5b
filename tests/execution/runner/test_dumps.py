from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.dumps import DumpFolder, digest_of
from gpuregress.store.dumps import writer
from tests import fakes

CASE = fakes.case("double")
X = np.arange(8, dtype=np.float32)


def reader() -> BufferReader:
    memory = fakes.FakeMemory("x", X.nbytes, 1 << 32)
    memory.write(X.view(np.uint8))
    return BufferReader(memory, CASE.buffers["x"])


def test_a_streamed_dump_is_the_one_written_at_once(tmp_path: Path) -> None:
    whole = DumpFolder(CASE, tmp_path / "a").write("x", X, {})
    streamed = DumpFolder(CASE, tmp_path / "b").stream(reader(), {})
    assert Path(streamed.path).read_bytes() == Path(whole.path).read_bytes()
    assert (streamed.digest, streamed.text_digest) == (whole.digest, whole.text_digest)
    assert digest_of(reader()) == whole.digest


def test_a_known_dump_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = DumpFolder(CASE, tmp_path / "a").write("x", X, {})
    monkeypatch.setattr(writer, "DumpWriter", lambda *_a, **_k: pytest.fail("formatted again"))
    copied = DumpFolder(CASE, tmp_path / "b").stream(reader(), {known.digest: known.path})
    assert Path(copied.path).read_bytes() == Path(known.path).read_bytes()


def test_folders_inside_and_beside(tmp_path: Path) -> None:
    folder = DumpFolder(CASE, tmp_path / "dumps")
    assert folder.within("repeat-2").folder == tmp_path / "dumps" / "repeat-2"
    assert folder.beside("references").folder == tmp_path / "references"
