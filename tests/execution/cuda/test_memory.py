"""Which bytes of the card a read or a write reaches."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from gpuregress.execution.cuda.memory import PIECE, CudaMemory, Staging
from gpuregress.foundation.errors import DeviceError
from tests.execution.cuda.fake_api import FakeApi

ADDRESS = 5 << 20


def memory(api: FakeApi, size: int) -> CudaMemory:
    return CudaMemory("x", size, ADDRESS, 1, False, api, lambda _doing: nullcontext(), lambda: Staging(api))


def test_a_write_reaches_its_bytes_and_no_others() -> None:
    api = FakeApi()
    api.memory[:] = 7
    made = memory(api, 16)
    made.write(np.arange(4, dtype=np.uint8), 8)
    made.write(np.arange(8, dtype=np.uint8)[::2], 0)
    assert api.memory[ADDRESS - 8 : ADDRESS + 24].tolist() == [7] * 8 + [0, 2, 4, 6, *[7] * 4, 0, 1, 2, 3, *[7] * 12]
    assert made.writes == 2
    assert made.read(6, 4).tolist() == [7, 7, 0, 1]
    assert made.read(10).tolist() == [2, 3, 7, 7, 7, 7]


@pytest.mark.parametrize(("offset", "size"), [(13, 4), (-1, 4), (17, 0)])
def test_what_is_outside_is_refused(offset: int, size: int) -> None:
    api = FakeApi()
    with pytest.raises(DeviceError, match="x has 16 bytes"):
        memory(api, 16).write(np.ones(size, np.uint8), offset)
    with pytest.raises(DeviceError, match="x has 16 bytes"):
        memory(api, 16).read(offset, size)
    assert not api.memory.any()


@pytest.mark.parametrize(("unit", "first"), [(1, PIECE), (12, PIECE - PIECE % 12)])
def test_pieces_hold_whole_units(unit: int, first: int) -> None:
    api = FakeApi()
    made = memory(api, 2 * PIECE + 100)
    data = np.random.default_rng(1).integers(0, 256, made.size, np.uint8)
    made.write(data)
    pieces = [piece.copy() for piece in made.read_pieces(36, unit=unit)]
    assert [piece.size for piece in pieces[:-1]] == [first] * (len(pieces) - 1)
    assert np.array_equal(np.concatenate(pieces), data[36:])


@pytest.mark.parametrize("size", [2 * PIECE, 2 * PIECE + 5, 3 * PIECE + 1])
def test_a_large_write_goes_through_pinned_pieces_that_are_used_again_when_they_are_free(size: int) -> None:
    api = FakeApi()
    made = memory(api, size + 3)
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    api.memcpy_htod = None  # type: ignore[method-assign,assignment] # it must not be needed
    made.write(data, 3)
    assert not api.under_way
    assert (api.memory[ADDRESS + 3 : ADDRESS + 3 + size] == data).all()
    assert not api.memory[:ADDRESS].any()
