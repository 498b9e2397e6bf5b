"""Fused sums against an H100's: two warps of each distribution of operands, for every form of mma.

`tensor_core.npz` has arrays `FORM/a|b|c|d` of [warp][lane][register], uint32: the operands, and what the card gave. The
distributions are small, wide, narrow, sparse (60 % zeros), all bit patterns, big exponents, and special numbers.
`sparse.npz` has the same of an H200 for `mma.sp`, with the metadata in `e`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.devices.cpu.isa.matrix.kernels import mma_kernel
from tests.devices.cpu.running import Running

with np.load(Path(__file__).with_name("tensor_core.npz")) as _file:
    VECTORS = dict(_file)
with np.load(Path(__file__).with_name("sparse.npz")) as _file:
    SPARSE = dict(_file)
FORMS, SPARSE_FORMS = (sorted({name.partition("/")[0] for name in vectors}) for vectors in (VECTORS, SPARSE))


@pytest.mark.parametrize("form", FORMS)
def test_sums_have_the_bits_of_a_card(form: str, tmp_path: Path) -> None:
    _, depth, *kinds = form.split("_")
    left, right, result = kinds[0], kinds[-2], kinds[-1]
    a, b, c, d = (VECTORS[f"{form}/{name}"] for name in "abcd")
    name = f"mma.sync.aligned.m16n8{depth}.row.col.{result}.{left}.{right}.{result}"
    counts = (a.shape[2], b.shape[2], c.shape[2])
    running = Running(tmp_path, mma_kernel(name, counts, ("b32", "b32", "b32")), "k")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    running.launch("k", 1, 32 * len(a), *buffers, out)
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()


@pytest.mark.parametrize("form", SPARSE_FORMS)
def test_sparse_sums_have_the_bits_of_a_card(form: str, tmp_path: Path) -> None:
    depth, *kinds = form.split("_")
    left, right, result = kinds[0], kinds[-2], kinds[-1]
    a, b, c, d, metadata = (SPARSE[f"{form}/{name}"] for name in "abcde")
    name = f"mma.sp::ordered_metadata.sync.aligned.m16n8{depth}.row.col.{result}.{left}.{right}.{result}"
    text = mma_kernel(name, (a.shape[2], b.shape[2], c.shape[2]), ("b32", "b32", "b32"), sparse=True)
    running = Running(tmp_path, text, "k")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    running.launch("k", 1, 32 * len(a), *buffers, out, running.put("e", metadata))
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()


def test_the_selector_names_the_lanes_that_have_the_metadata(tmp_path: Path) -> None:
    a, b, c, d, metadata = (SPARSE[f"k32_f16_f32/{name}"] for name in "abcde")
    name = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    text = mma_kernel(name, (a.shape[2], b.shape[2], c.shape[2]), ("b32", "b32", "b32"), sparse=True)
    running = Running(tmp_path, text.replace(", 0x0;", ", 0x1;"), "k")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    moved = np.roll(metadata.reshape(-1, 4), 2, axis=1).reshape(metadata.shape)
    running.launch("k", 1, 32 * len(a), *buffers, out, running.put("e", moved))
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()


def test_every_form_that_was_measured_is_there() -> None:
    assert (len(FORMS), len(SPARSE_FORMS)) == (14, 12)
