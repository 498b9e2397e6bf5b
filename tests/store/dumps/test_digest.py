"""Digests of raw bytes."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash

from gpuregress.foundation import dtypes
from gpuregress.store.dumps import digest

PADDED = "{id:uint8,score:float32}"


def test_pieces_have_the_digest_of_the_whole() -> None:
    element, array = dtypes.parse("float32"), np.arange(24, dtype="<f4").reshape(4, 6)
    whole = digest.of_array(array, element)
    assert whole == xxhash.xxh3_128(array.tobytes()).hexdigest()
    running = digest.RawDigest(element)
    running.add(array[:1])
    running.add(array[1:])
    assert running.hexdigest() == whole
    assert digest.of_array(array.T, element) != whole


def test_padding_counts_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    element = dtypes.parse(PADDED)
    raw = np.arange(3 * element.size, dtype=np.uint8)
    array = raw.view(element.storage)
    clean = raw.reshape(3, element.size).copy()
    clean[:, 1:4] = 0
    expected = xxhash.xxh3_128(clean.tobytes()).hexdigest()
    assert digest.of_array(array, element) == expected
    monkeypatch.setattr(digest, "PIECE", 2)
    assert digest.of_array(array, element) == expected
