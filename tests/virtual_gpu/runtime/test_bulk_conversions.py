from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.records import TensorMap
from gpuregress.virtual_gpu.runtime.bulk_elements import fill, loaded

# What an H200 loaded, of tfloat32 and of tfloat32_ftz.
ROUNDED = {
    0x00000001: 0x00000000, 0x807FFFFF: 0x80800000, 0x3F801000: 0x3F800000, 0x3F801001: 0x3F802000,
    0x3F802FFF: 0x3F802000, 0x3F803000: 0x3F804000, 0xBF801000: 0xBF800000, 0x7F7FFFFF: 0x7F800000,
    0xFF800000: 0xFF800000, 0x7F800001: 0x7FFFE000, 0xFFFFFFFF: 0x7FFFE000, 0x00001FFF: 0x00002000,
}  # fmt: skip


@pytest.mark.parametrize("type_", ["tfloat32", "tfloat32_ftz"])
def test_tfloat32_is_rounded(type_: str) -> None:
    given = np.array(list(ROUNDED), np.uint32)
    assert loaded(given.view(np.uint8), type_).view(np.uint32).tolist() == list(ROUNDED.values())


def test_other_types_stay() -> None:
    given = np.array(list(ROUNDED), np.uint32).view(np.uint8)
    assert loaded(given, "float32_ftz") is given


@pytest.mark.parametrize(
    ("type_", "interleave", "fill_", "wanted"),
    [
        ("float16", "none", "nan", "f77f"),
        ("float64", "none", "nan", "f77f" * 4),
        ("bfloat16", "16B", "nan", "f77f" * 8),
        ("float32", "none", "zeros", "00" * 4),
    ],
)
def test_fills(type_: str, interleave: str, fill_: str, wanted: str) -> None:
    given = TensorMap(type_, (8, 8, 8), (128, 1024), (8, 1, 1), (1, 1, 1), interleave, oob_fill=fill_)
    assert fill(given).hex() == wanted
