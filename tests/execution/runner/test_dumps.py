from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.execution.runner import dumps
from gpuregress.execution.runner.dumps import BufferReader, DumpFolder, digest_of
from gpuregress.execution.runner.poison import COMPLEMENT, POISON, survey
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Buffer, UnwrittenElements
from gpuregress.store.dumps import writer
from tests import fakes
from tests.fakes import FakeMemory

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


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "PIECE", 32)


@pytest.mark.parametrize(("dtype", "count"), [("float32", 100), ("uint8", 33), ("float3", 7), ("int64", 4)])
def test_pieces_hold_whole_elements_and_all_of_them(dtype: str, count: int) -> None:
    buffer = Buffer("x", dtype, (count,))
    out = BufferReader(FakeMemory("x", buffer.size, 0), buffer)
    out.memory.write(np.random.default_rng(1).integers(0, 256, buffer.size).astype(np.uint8))
    pieces = [piece.copy() for piece in out.pieces()]
    assert len(pieces) > 1 or buffer.size <= 32
    assert np.concatenate(pieces).tobytes() == out.array().tobytes()


@pytest.mark.parametrize("word", [POISON, COMPLEMENT])
def test_poison_goes_on_over_the_border_of_a_piece(word: bytes) -> None:
    memory = FakeMemory("x", 101, 0)
    BufferReader(memory, Buffer("x", "uint8", (101,))).initialise(None, word)
    assert memory.data.tobytes() == (word * 51)[:101]


def test_a_symbol_keeps_what_its_initialiser_put_there() -> None:
    memory = FakeMemory("x", 8, 0)
    BufferReader(memory, Buffer("x", "uint8", (8,), symbol="d_x")).initialise(None)
    assert not memory.data.any()
    BufferReader(memory, Buffer("x", "uint8", (8,))).initialise(None, b"")
    assert not memory.data.any()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_what_is_unwritten_is_the_same_in_pieces(dtype: type) -> None:
    whole: npt.NDArray[np.generic] = np.resize(np.frombuffer(POISON, np.uint8), 120).copy().view(dtype)
    whole[7] = whole[20] = 1
    element = dtypes.parse(np.dtype(dtype).name)
    actual = [survey(np.split(whole, cuts), element) for cuts in ([], [3], [7], [8, 9, 21], [1, 2, 3, 4, 5])]
    assert all(one == actual[0] for one in actual)
    assert actual[0].unwritten == UnwrittenElements(whole.size - 2, whole.size, ((0, 7), (8, 20), (21, whole.size)))
