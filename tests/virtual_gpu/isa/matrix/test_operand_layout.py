"""Layouts of operands: sizes, and the metadata of sparse rows, whose results an H200 gave (see `test_fused_sum`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.virtual_gpu.isa.matrix.operand_layout import StoredRows, element_of
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
