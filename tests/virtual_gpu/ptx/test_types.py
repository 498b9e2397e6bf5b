from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.modifiers import BITS, FLOATS, INDEX_BITS, is_signed, is_type, size


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [("pred", 1), ("s4", 1), ("u8", 1), ("e5m2x2", 2), ("bf16", 2), ("f16x2", 4), ("f32x2", 8), ("b128", 16)],
)
def test_a_type_has_the_size_of_the_register_that_holds_it(name: str, bytes_: int) -> None:
    assert size(name) == bytes_


def test_only_integers_of_32_and_64_bits_are_followed_as_indices() -> None:
    assert INDEX_BITS == {"b32": 32, "s32": 32, "u32": 32, "b64": 64, "s64": 64, "u64": 64}


def test_signed_types_are_the_integers_that_begin_with_s() -> None:
    integers = {name for name in BITS if is_signed(name)} - {"samplerref", "surfref"}
    assert integers == {"s4", "s8", "s16", "s32", "s64", "s16x2"}
    assert not any(map(is_signed, FLOATS))


def test_a_modifier_that_is_no_type_has_no_size() -> None:
    assert not is_type("rn")
    with pytest.raises(KeyError):
        size("rn")
