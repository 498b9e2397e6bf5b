"""Images of buffers survive their text and their JSON; damaged ones are refused."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import BufferImage, ErrorMaps, ImageLayer, from_json, to_json
from gpuregress.foundation.records.maps.images import pack, unpack


@given(st.binary(max_size=5000))
def test_bytes_survive_their_text(cells: bytes) -> None:
    assert unpack(pack(cells), len(cells)) == cells


@pytest.mark.parametrize("text", ["", "AAAA", pack(b"abc"), pack(b"abcde"), "not base64!"])
def test_damaged_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(text, 4)


def test_a_text_that_would_fill_the_memory_is_not_inflated() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(50_000_000), 9)).decode()
    with pytest.raises(ValueError, match="it has 11 cells, not 10"):
        unpack(bomb, 10)


def test_an_image_survives_its_json_and_keeps_its_size() -> None:
    layer = ImageLayer(0.5, 2.0, pack(bytes(6)))
    image = BufferImage((2, 3, 7), (2, 4), layer, shares=layer, block=(2, 7), launch="grid 3, block 14")
    assert (image.size, image.cells) == ((6, 7), (3, 2))
    assert from_json(ErrorMaps, json.loads(json.dumps(to_json(ErrorMaps(image=image))))) == ErrorMaps(image=image)
    assert "expected" not in to_json(image)
