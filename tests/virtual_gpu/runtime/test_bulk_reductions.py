from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.virtual_gpu.runtime.bulk_elements import reduced

Array = npt.NDArray[Any]


def _bytes(values: list[Any], dtype: Any) -> npt.NDArray[np.uint8]:
    return np.array(values, dtype).view(np.uint8)


@pytest.mark.parametrize(
    ("operation", "type_", "dtype", "old", "new", "wanted"),
    [
        ("add", "u32", np.uint32, [2**32 - 1, 1], [2, 2], [1, 3]),
        ("min", "s32", np.int32, [-1, 5], [3, 4], [-1, 4]),
        ("max", "uint64", np.uint64, [1, 2**63], [2, 1], [2, 2**63]),
        ("inc", "u32", np.uint32, [3, 4, 5], [4, 4, 4], [4, 0, 0]),
        ("dec", "u32", np.uint32, [0, 3, 9], [4, 4, 4], [4, 2, 4]),
        ("and", "b32", np.uint32, [6], [3], [2]),
        ("or", "b64", np.uint64, [6], [3], [7]),
        ("xor", "b32", np.uint32, [6], [3], [5]),
        ("add", "f16", np.float16, [1, 2048], [0.5, 1], [1.5, 2048]),
        ("add", "f64", np.float64, [1], [2**-52], [1 + 2**-52]),
        ("min", "f16", np.float16, [np.nan, 2], [1, np.nan], [1, 2]),
    ],
)
def test_reductions(operation: str, type_: str, dtype: Any, old: list[Any], new: list[Any], wanted: list[Any]) -> None:
    result = reduced(_bytes(old, dtype), _bytes(new, dtype), operation, type_)
    assert result.view(dtype).tolist() == wanted


def test_bfloat16_is_rounded_once() -> None:
    old, new = _bytes([0x3F80, 0x7F80, 0x4380], np.uint16), _bytes([0x3B80, 0xFF80, 0x3F80], np.uint16)
    assert reduced(old, new, "add", "bf16").view(np.uint16).tolist() == [0x3F80, 0x7FFF, 0x4380]


# What an H200 stored: operation and type, then bits of the target, of the source, and of the result.
MEASURED = [
    ("add", "f32", "u4", 0x0080FFFF, 0x00000001, 0x00810000),
    ("add", "float32", "u4", 0x00000000, 0x00001FFF, 0x00001FFF),
    ("add", "tfloat32", "u4", 0x3F800000, 0x33800001, 0x3F800001),
    ("add", "float32_ftz", "u4", 0x00000001, 0x0080FFFF, 0x0080FFFF),
    ("add", "tfloat32_ftz", "u4", 0x80000000, 0x807FFFFF, 0x80000000),
    ("add", "f64", "u8", 0xFFF5366043AABAE1, 0x661B4977C9100842, 0xFFF5366043AABAE1),
    ("add", "float64", "u8", 0x7FFFFFFF7FFFFFFF, 0xFFFFFFFF7FC00000, 0xFFFFFFFF7FC00000),
    ("min", "f16", "u2", 0x0000, 0x8000, 0x8000),
    ("max", "float16", "u2", 0x8000, 0x0000, 0x0000),
    ("min", "bf16", "u2", 0x8000, 0x0000, 0x8000),
    ("max", "bfloat16", "u2", 0x0000, 0x8000, 0x0000),
]


@pytest.mark.parametrize(("operation", "type_", "width", "old", "new", "wanted"), MEASURED)
def test_subnormal_numbers_nans_and_zeros(
    operation: str, type_: str, width: str, old: int, new: int, wanted: int
) -> None:
    result = reduced(_bytes([old], width), _bytes([new], width), operation, type_)
    assert hex(result.view(width)[0]) == hex(wanted)
