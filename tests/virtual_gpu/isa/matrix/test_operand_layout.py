"""Layout of matrix operands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu.isa.matrix.operand_layout import (
    MatrixElement,
    StoredRows,
    element_of,
    mma_error,
    selector_error,
    types_error,
)
from tests.virtual_gpu.isa.matrix.kernels import mma_kernel
from tests.virtual_gpu.running import Running


def test_a_matrix_in_memory_has_the_bytes_of_its_rows() -> None:
    assert StoredRows(element_of("u8"), 24, 32, is_b=True).bytes == 768
    assert StoredRows(element_of("b32"), 16, 8, is_b=False).bytes == 512


def test_the_selector_names_the_lanes_that_have_the_metadata(tmp_path: Path) -> None:
    with np.load(Path(__file__).with_name("sparse.npz")) as file:
        a, b, c, d, metadata = (file[f"k32_f16_f32/{name}"] for name in "abcde")
    name = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    text = mma_kernel(name, (a.shape[2], b.shape[2], c.shape[2]), ("b32", "b32", "b32"), sparse=True)
    running = Running(tmp_path, text.replace(", 0x0;", ", 0x1;"), "k")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    moved = np.roll(metadata.reshape(-1, 4), 2, axis=1).reshape(metadata.shape)
    running.launch("k", 1, 32 * len(a), *buffers, out, running.put("e", moved))
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()


@pytest.mark.parametrize(
    ("name", "bits", "register", "parts"),
    [("f16", 16, 32, 2), ("s4", 4, 32, 8), ("f64", 64, 64, 1), ("e4m3", 8, 32, 4)],
)
def test_elements_are_packed_into_registers(name: str, bits: int, register: int, parts: int) -> None:
    element = element_of(name)
    assert element == MatrixElement(name, bits, register)
    assert element.parts == parts


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
        ("sync.m16n8k32.row.col.f32.f16.f16.f32", _SUMS, "this shape is not implemented"),
        ("sp.m16n8k32.row.col.f32.e4m3.e4m3.f32", (4, 2, 2, 4), "this shape is not implemented"),
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


TWICE = """
extern "C" __global__ void k(int* out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, a = 0x01010101 * (warp + 1), d[2] = {0, 0};
    for (int step = 0; step < 3; ++step)
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1]) : "r"(a), "r"(lane / 4 == step ? 0x01010101 : 0));
    out[2 * threadIdx.x] = d[0], out[2 * threadIdx.x + 1] = d[1];
}
"""


def test_each_warp_has_an_area_that_lasts_until_all_lanes_have_read_it(tmp_path: Path) -> None:
    running = Running(tmp_path, TWICE, "k")
    out = running.put("out", np.zeros(4 * 64, np.int32))
    running.launch("k", 1, 128, out)
    columns = 2 * (np.arange(32) % 4)[:, None] + np.arange(2)
    expected = [np.where(columns < 3, 16 * (warp + 1), 0) for warp in range(4)]  # each step adds one column of B
    assert (out.read().view(np.int32).reshape(4, 32, 2) == np.array(expected)).all()
