from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes

SIMPLE = st.sampled_from(dtypes.known_names())
FIELD = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "size", "alignment"),
    [
        ("bool", 1, 1),
        ("bfloat16", 2, 2),
        ("complex64", 8, 8),
        ("complex128", 16, 16),
        ("char3", 3, 1),
        ("uchar4", 4, 4),
        ("float2", 8, 8),
        ("float3", 12, 4),
        ("float4", 16, 16),
        ("double2", 16, 16),
        ("double4", 32, 16),
        ("longlong3", 24, 8),
        ("half2", 4, 4),
        ("bfloat162", 4, 4),
        ("{a:int8,b:float64,c:int8}", 24, 8),
        ("{a:float3,b:int32}", 16, 4),
        ("{a:int8,b:float4}", 32, 16),
    ],
)
def test_layout_is_that_of_cuda(name: str, size: int, alignment: int) -> None:
    element = dtypes.parse(name)
    assert (element.size, element.alignment, element.storage.itemsize) == (size, alignment, size)


@pytest.mark.parametrize("name", ["float", "float31", "float5", "", "{}", "{a:b}", "{a:int8,a:int8}", "{a}", "Float32"])
def test_what_is_no_dtype(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        dtypes.parse(name)


@given(st.dictionaries(FIELD, SIMPLE, min_size=1, max_size=5))
def test_records_are_laid_out_as_numpy_aligns_them(fields: dict[str, str]) -> None:
    element = dtypes.from_fields(fields)
    assert dtypes.parse(element.name) == element
    assert all(part.offset % part.scalar.size == 0 for part in element.parts)
    ends = [part.offset + part.scalar.size for part in element.parts]
    assert ends == sorted(ends)
    assert ends[-1] <= element.size
    assert element.size % element.alignment == 0
    if all([part.name for part in dtypes.parse(name).parts] == [""] for name in fields.values()):
        aligned = np.dtype([(name, dtypes.parse(inner).storage) for name, inner in fields.items()], align=True)
        assert element.storage.itemsize == aligned.itemsize


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [("float32", "float32", True), ("int32", "uint32", True), ("bool", "uint8", True), ("int32", "int64", False),
     ("float16", "bfloat16", False), ("float32", "int32", False)],
)  # fmt: skip
def test_a_scalar_holds_its_own_and_whole_numbers_of_its_size(one: str, other: str, holds: object) -> None:
    first, second = (dtypes.parse(name).parts[0].scalar for name in (one, other))
    assert first.holds(second) == second.holds(first) == holds


@given(SIMPLE)
def test_columns_cover_the_parts(name: str) -> None:
    element = dtypes.parse(name)
    columns = element.columns(np.zeros((2, 3), element.storage))
    assert [column.shape for column in columns] == [(2, 3)] * len(element.parts)
    assert [column.dtype for column in columns] == [part.scalar.storage for part in element.parts]


@given(st.integers(0, 0xFFFF))
def test_bfloat16_survives_float32(bits: int) -> None:
    scalar = dtypes.parse("bfloat16").parts[0].scalar
    wide = dtypes.to_float(np.array([bits], "<u2"), scalar)
    back = int(dtypes.from_float32(wide.astype(np.float32))[0])
    assert back == bits or (np.isnan(wide[0]) and back == bits | 0x40)


@given(st.floats(width=32, allow_nan=False))
def test_bfloat16_is_the_nearest(value: float) -> None:
    scalar = dtypes.parse("bfloat16").parts[0].scalar
    bits = int(dtypes.from_float32(np.array([value], np.float32))[0])
    actual = float(dtypes.to_float(np.array([bits], "<u2"), scalar)[0])
    if not np.isfinite(actual):
        assert abs(value) >= 3.3895313892515355e38
        return
    for neighbour in (bits - 1, bits + 1):
        near = float(dtypes.to_float(np.array([neighbour & 0xFFFF], "<u2"), scalar)[0])
        if np.isfinite(near):
            assert abs(actual - value) <= abs(near - value)
