from __future__ import annotations

import pytest

from gpuregress.foundation.records import Im2col, TensorMap
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.runtime.tensor_tiles import (
    OUTSIDE,
    box_counts,
    chunk_places,
    element_offsets,
    row_bytes,
    shared_places,
    whole_chunks,
)


def test_a_box_with_elements_outside() -> None:
    given = TensorMap("float32", (5, 3), (32,), (4, 2), (1, 1))
    assert element_offsets(given, (2, -1)).tolist() == [OUTSIDE] * 4 + [8, 12, 16, OUTSIDE]


def test_element_strides_skip_rows() -> None:
    given = TensorMap("uint8", (16, 8), (16,), (16, 5), (1, 2))
    assert element_offsets(given, (0, 1))[::16].tolist() == [16, 48, 80]


def test_pixels_follow_the_bounding_box() -> None:
    given = TensorMap("float16", (8, 4, 3, 2), (16, 64, 192), (), (1, 1, 1, 1), im2col=Im2col((-1, -1), (-1, -1), 8, 5))
    pixels = element_offsets(given, (0, 1, 1, 0), (1, 1))[::8]
    # From (w, h) = (1, 1): (2, 1), then the next image from its lower corner, each one further by the offsets.
    assert pixels.tolist() == [2 * 16 + 2 * 64, 3 * 16 + 2 * 64, 192, 192 + 16, 192 + 32]


@pytest.mark.parametrize(("swizzle", "wanted"), [("32B", [0, 1, 9, 8]), ("64B", [0, 1, 9, 8]), ("128B", [0, 1, 9, 8])])
def test_chunks_move_within_their_line(swizzle: str, wanted: list[int]) -> None:
    places, size = shared_places(64, 8, 0, swizzle)
    assert (sorted(places.tolist()), size) == (list(range(64)), 1024)
    assert places[[0, 1, 8, 9]].tolist() == wanted
    assert (places[:8] == range(8)).all()


def test_the_pattern_follows_addresses() -> None:
    places, size = shared_places(8, 8, 128 * 3, "128B")
    assert (places.tolist(), size) == ([3, 2, 1, 0, 7, 6, 5, 4], 128)


def test_a_short_row_is_followed_by_a_gap() -> None:
    places, size = shared_places(6, 3, 0, "64B")
    assert (places.tolist(), size) == ([0, 1, 2, 4, 5, 6], 112)
    places, size = shared_places(6, 0, 0, "64B")
    assert (places.tolist(), size) == (list(range(6)), 96)
    places, size = shared_places(3, 1, 128, "32B")
    assert (places.tolist(), size) == ([1, 3, 5], 96)


def test_only_a_swizzle_moves_the_chunks_of_a_copy() -> None:
    plain = TensorMap("uint8", (64, 8), (64,), (64, 2), (1, 1))
    assert chunk_places(plain, 128, 0) == (None, 128)
    places, size = chunk_places(replace(plain, swizzle="64B"), 128, 1024 + 128)
    assert places is not None
    assert (places.tolist(), size) == ([1, 0, 3, 2, 5, 4, 7, 6], 128)


def test_images_of_pixels_have_steps() -> None:
    given = TensorMap("float16", (8, 2, 5), (16, 32), (), (1, 1, 2), im2col=Im2col((0,), (0,), 8, 5))
    assert element_offsets(given, (0, 1, 0), (0,))[::8].tolist() == [16, 64, 80, 128, 144]


INTERLEAVED = TensorMap("uint16", (6, 4, 3), (96, 384), (8, 9, 1), (1, 1, 1), "16B")
"""Three tensors of four slices of eight channels and six elements."""


def test_slices_of_channels() -> None:
    assert INTERLEAVED.size == 2 * 384 + 3 * 96 + 6 * 16
    assert box_counts(INTERLEAVED) == (8, 1, 1)
    assert row_bytes(INTERLEAVED) == 128
    offsets = element_offsets(INTERLEAVED, (-1, 3, 1)).tolist()
    assert offsets == [OUTSIDE, *(384 + 3 * 96 + 16 * place for place in range(6)), OUTSIDE]


def test_a_store_ends_with_a_whole_chunk() -> None:
    given = TensorMap("uint16", (13, 4), (32,), (16, 1), (1, 1))
    assert whole_chunks(given).extents == (16, 4)
    assert whole_chunks(INTERLEAVED) is INTERLEAVED
