"""Sums of products as tensor cores compute them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation.errors import UnsupportedError
from tests.virtual_gpu.isa.matrix.kernels import mma_kernel
from tests.virtual_gpu.running import Running

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


# --- sm_80, from the literature -----------------------------------------------------------------------------------

WIDE = np.random.default_rng(11)
LANES = np.arange(32)
GROUP, INNER = LANES >> 2, 2 * (LANES & 3)
Array = npt.NDArray[Any]


def halves(shape: tuple[int, int]) -> Array:
    """Random numbers of f16 whose exponents are far apart."""
    return (WIDE.normal(size=shape) * 2.0 ** WIDE.integers(-9, 6, shape)).astype(np.float16)


def run(folder: Path, depth: int, card: str, a: Array, b: Array, c: Array) -> Array:
    """Results of a warp's m16n8k8 or m16n8k16 of f16 with f32: of lanes' registers (uint32)."""
    name = f"mma.sync.aligned.m16n8k{depth}.row.col.f32.f16.f16.f32"
    text = mma_kernel(name, (a.shape[1], b.shape[1], c.shape[1]), ("b32", "b32", "b32"))
    running = Running(folder, text, "k", card=card)
    buffers = [running.put(name, np.ascontiguousarray(array)) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(c))
    running.launch("k", 1, 32, *buffers, out)
    return out.read().view(np.uint32).reshape(c.shape)


def registers(a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """The registers of m16n8k8 that hold three matrices."""
    pairs_a = np.stack([a[GROUP + 8 * half, INNER + part] for half in (0, 1) for part in (0, 1)], 1)
    pairs_b = np.stack([b[INNER + part, GROUP] for part in (0, 1)], 1)
    sums = np.stack([c[GROUP + 8 * (item // 2), INNER + item % 2] for item in range(4)], 1)
    return pairs_a.view(np.uint32), pairs_b.view(np.uint32), sums.astype(np.float32).view(np.uint32)


def fused(a: Array, b: Array, c: Array, fraction: int) -> Array:
    """The rule for numbers that are not special, in exact f64: f32 toward zero of terms that are truncated."""
    products = a.astype(np.float64)[:, :, None] * b.astype(np.float64)[None]
    exponents = np.frexp(a)[1][:, :, None] + np.frexp(b)[1][None] - 2
    terms = np.concatenate([products, c[:, None].astype(np.float64)], 1)
    greatest = np.concatenate([exponents, np.frexp(c)[1][:, None] - 1], 1)[:].max(1)
    total = np.ldexp(np.trunc(np.ldexp(terms, fraction - greatest[:, None])).sum(1), greatest - fraction)
    nearest = total.astype(np.float32)
    truncated: Array = np.where(np.abs(nearest) > np.abs(total), np.nextafter(nearest, np.float32(0)), nearest)
    return truncated


@pytest.mark.parametrize(("card", "fraction"), [("sm_80", 24), ("sm_90", 25)])
def test_terms_are_truncated_to_the_bits_of_the_card(card: str, fraction: int, tmp_path: Path) -> None:
    a, b, c = halves((16, 8)), halves((8, 8)), WIDE.normal(size=(16, 8)).astype(np.float32)
    expected = registers(a, b, fused(a, b, c, fraction))[2]
    assert (run(tmp_path, 8, card, *registers(a, b, c)) == expected).all()
    assert (expected != registers(a, b, fused(a, b, c, 49 - fraction))[2]).any(), "the cards do not differ here"


def test_sm_80_sums_a_long_row_in_two_halves(tmp_path: Path) -> None:
    a, b, c = halves((32, 8)).view(np.uint32), halves((32, 4)).view(np.uint32), np.zeros((32, 4), np.uint32)
    first = run(tmp_path, 8, "sm_80", a[:, :2], b[:, :1], c)
    second = run(tmp_path, 8, "sm_80", a[:, 2:], b[:, 1:], first)
    assert (run(tmp_path, 16, "sm_80", a, b, c) == second).all()
    assert (run(tmp_path, 16, "sm_90", a, b, c) != second).any()


@pytest.mark.parametrize("form", ["m16n8k32.row.col.f32.e4m3.e4m3.f32", "m16n8k32.row.col.f32.f16.f16.f32"])
def test_sm_80_refuses_products_of_which_nothing_is_known(form: str, tmp_path: Path) -> None:
    is_sparse = "e4m3" not in form
    name = f"mma{'.sp::ordered_metadata' if is_sparse else ''}.sync.aligned.{form}"
    counts = (4, 4, 4) if is_sparse else (4, 2, 4)
    what = "sparse products" if is_sparse else "products of 8-bit floats"
    with pytest.raises(UnsupportedError, match=f"of sm_80 no {what} are known"):
        Running(tmp_path, mma_kernel(name, counts, ("b32", "b32", "b32"), sparse=is_sparse), "k", card="sm_80")


def test_every_form_that_was_measured_is_there() -> None:
    assert (len(FORMS), len(SPARSE_FORMS)) == (14, 12)


def test_sums_stop_at_the_range_only_where_the_instruction_says_so(tmp_path: Path) -> None:
    for word, expected in (("satfinite.", 2**31 - 1), ("", -(2**31) + 16 * 127 * 127 - 1)):
        name = f"mma.sync.aligned.m8n8k16.row.col.{word}s32.s8.s8.s32"
        running = Running(tmp_path, mma_kernel(name, (1, 1, 2), ("b32", "b32", "s32")), "k")
        ones = running.put("a", np.full(32, 0x7F7F7F7F, np.uint32))
        start = running.put("c", np.full(64, 2**31 - 1, np.int32))
        out = running.put("d", np.zeros(64, np.int32))
        running.launch("k", 1, 32, ones, ones, start, out)
        assert set(out.read().view(np.int32)) == {expected}


@pytest.mark.parametrize(("limit", "result"), [(".satfinite", 0x7FFF_FFFF), ("", 0x7FFF_FFF0 + 16 * 255 * 255)])
def test_a_sum_that_does_not_fit_is_cut_off_only_where_that_is_asked_for(
    limit: str, result: int, tmp_path: Path
) -> None:
    name = f"mma.sync.aligned.m8n8k16.row.col{limit}.s32.u8.u8.s32"
    running = Running(tmp_path, mma_kernel(name, (1, 1, 2), ("b32", "b32", "b32")), "k")
    a, b = (running.put(name, np.full(32, 0xFFFF_FFFF, np.uint32)) for name in "ab")
    c, d = (running.put(name, np.full(64, 0x7FFF_FFF0, np.uint32)) for name in "cd")
    running.launch("k", 1, 32, a, b, c, d)
    assert (d.read().view(np.uint32) == result).all()
