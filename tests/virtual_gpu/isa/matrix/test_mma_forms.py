from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.isa.matrix.operand_layout import mma_error, selector_error, types_error

_SUMS = (4, 4, 2, 4)


@pytest.mark.parametrize(
    ("text", "counts", "message"),
    [
        ("sync.m16n8k16.row.col.f32.f16.f16.f32", _SUMS, ""),
        ("sync.m16n8k16.row.col.f16.f16.f16.f16", (2, 4, 2, 2), ""),
        ("sync.m16n8k16.row.col.f64.f64.f64.f64", (4, 8, 4, 4), ""),
        ("sync.m8n8k32.row.col.satfinite.s32.s4.u4.s32", (2, 1, 1, 2), ""),
        ("sp.m16n8k64.row.col.f32.e4m3.e5m2.f32", (4, 4, 4, 4), ""),
        ("sync.m16n8k16.row.row.f32.f16.f16.f32", _SUMS, "A is row and B col in this shape"),
        ("sync.m16n8k16.col.col.f32.f16.f16.f32", _SUMS, "A is row and B col in this shape"),
        ("sync.m16n8k16.row.col.f32.f16.f16.f16", _SUMS, "C is f16, and D f32"),
        ("sync.m16n8k16.row.col.f16.bf16.bf16.f16", _SUMS, "a product of bf16 has a result of f32"),
        ("sync.m16n8k16.row.col.f32.f16.bf16.f32", _SUMS, "there is no product of f16 and bf16"),
        ("sync.m16n8k32.row.col.s32.s8.s4.s32", (4, 4, 2, 4), "there is no product of s8 and s4"),
        ("sync.m16n8k16.row.col.satfinite.f32.f16.f16.f32", _SUMS, "satfinite is for integers"),
        ("sync.m16n8k16.row.col.f32.f16.f16.f32", (4, 2, 2, 4), "the vectors of registers have other sizes"),
        ("sync.m16n8k32.row.col.f32.f16.f16.f32", _SUMS, "this shape is not there"),
        ("sp.m16n8k32.row.col.f32.e4m3.e4m3.f32", (4, 2, 2, 4), "this shape is not there"),
    ],
)
def test_forms_of_mma(text: str, counts: tuple[int, ...], message: str) -> None:
    words = text.split(".")
    assert mma_error(words, words[1], words[-4:], counts) == message


def test_types_of_a_warpgroup() -> None:
    assert not types_error("f16", "e4m3", "e5m2")
    assert types_error("f32", "s8", "u8") == "a product of s8 has a result of s32"


@pytest.mark.parametrize(("selector", "chunks"), [(3, 4), (1, 8), (0, 16)])
def test_selectors(selector: int, chunks: int) -> None:
    assert not selector_error(selector, chunks)
    assert selector_error(selector + 1, chunks).endswith(f" is {selector + 1}, and at most {selector} here")
