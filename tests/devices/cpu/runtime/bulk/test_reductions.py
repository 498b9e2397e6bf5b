from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.devices.cpu.runtime.bulk.reductions import reduced

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
