from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Im2col, TensorMap
from gpuregress.gpu.descriptors import ELEMENT_SIZES, INTERLEAVES, OOB_FILLS, PROMOTIONS, SPANS
from gpuregress.virtual_gpu.runtime.tensor_tiles import pack, unpack

ADDRESSES = st.integers(0, 2**62 // 16).map(lambda number: 16 * number)


@st.composite
def maps(draw: st.DrawFn) -> TensorMap:
    rank = draw(st.integers(1, 5))

    def numbers(low: int, high: int, count: int = rank) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))

    im2col = None
    if rank >= 3 and draw(st.booleans()):
        corners = numbers(-16, 15, rank - 2), numbers(-16, 15, rank - 2)
        im2col = Im2col(*corners, draw(st.integers(1, 256)), draw(st.integers(1, 1024)))
    return TensorMap(
        draw(st.sampled_from(list(ELEMENT_SIZES))),
        numbers(1, 2**32),
        numbers(0, 2**40 - 16, rank - 1),
        () if im2col else numbers(1, 256),
        numbers(1, 8),
        draw(st.sampled_from(list(INTERLEAVES))),
        draw(st.sampled_from(list(SPANS))),
        draw(st.sampled_from(PROMOTIONS)),
        draw(st.sampled_from(OOB_FILLS)),
        im2col,
    )


@given(maps(), ADDRESSES)
def test_a_map_survives_its_encoding(given_map: TensorMap, address: int) -> None:
    data = pack(given_map, address)
    assert len(data) == 128
    assert unpack(data) == (given_map, address)


@pytest.mark.parametrize("data", [bytes(128), b"\xff" * 128, b"tensor\0m" + b"\xff" * 120])
def test_other_bytes_are_no_map(data: bytes) -> None:
    assert unpack(data) is None
