from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.execution.runner import buffer_reader
from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.poison import COMPLEMENT, POISON, survey
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Buffer, UnwrittenElements
from tests.fakes import FakeMemory


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_reader, "PIECE", 32)


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
