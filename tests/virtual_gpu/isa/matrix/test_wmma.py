"""Products of fragments against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running

Array = npt.NDArray[Any]

HEAD = "#include <mma.h>\nusing namespace nvcuda;\n"
WMMA = """
extern "C" __global__ void NAME(const A* a, const B* b, const C* c, C* d)
{
    wmma::fragment<wmma::matrix_a, M, N, K, TA, wmma::LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, TB, wmma::LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::load_matrix_sync(fa, a, SA);
    wmma::load_matrix_sync(fb, b, SB);
    wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, N, wmma::mem_row_major);
}
"""

FORMS: list[tuple[tuple[int, int, int], str, str, type[Any]]] = [
    ((16, 16, 16), "__half", "__half", np.float32),
    ((32, 8, 16), "__half", "__half", np.float32),
    ((8, 32, 16), "__half", "__half", np.float16),
    ((16, 16, 16), "__nv_bfloat16", "__nv_bfloat16", np.float32),
    ((16, 16, 8), "float", "wmma::precision::tf32", np.float32),
    ((8, 8, 4), "double", "double", np.float64),
    ((16, 16, 16), "signed char", "signed char", np.int32),
    ((32, 8, 16), "unsigned char", "unsigned char", np.int32),
]
LAYOUTS = [("row_major", "col_major"), ("col_major", "row_major")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the sources: headers that name their file are compiled anew for each path."""
    return tmp_path_factory.mktemp("wmma")


def _defined(words: dict[str, object], kernel: str) -> str:
    """A kernel with its words, which are those of no other kernel; mma.h has parameters of these names."""
    before = "".join(f"#define {name} {word}\n" for name, word in words.items())
    return before + kernel + "".join(f"#undef {name}\n" for name in words)


def _wmma(form: int, layouts: tuple[str, str]) -> str:
    (m, n, k), cxx, tag, result = FORMS[form]
    names = {np.float32: "float", np.float16: "__half", np.float64: "double", np.int32: "int"}
    strides = (k if layouts[0] == "row_major" else m, n if layouts[1] == "row_major" else k)
    words = {
        "A": cxx, "B": cxx, "C": names[result], "TA": tag, "TB": tag, "LA": layouts[0], "LB": layouts[1], "M": m,
        "N": n, "K": k, "SA": strides[0], "SB": strides[1],
    }  # fmt: skip
    return _defined(words, WMMA.replace("NAME", f"k{form}_{layouts[0]}"))


ALL = HEAD + "".join(_wmma(form, layouts) for form in range(len(FORMS)) for layouts in LAYOUTS)
"""One source, for mma.h takes longer than its kernels."""


@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_wmma(form: int, layouts: tuple[str, str], folder: Path) -> None:
    (m, n, k), cxx, _, result = FORMS[form]
    kernel = f"k{form}_{layouts[0]}"
    running = Running(folder, ALL, only=kernel)
    generator = np.random.default_rng(11)
    a, b, c = (generator.integers(0, 9, size) for size in ((m, k), (k, n), (m, n)))
    storage = {"__half": np.float16, "float": np.float32, "double": np.float64, "signed char": np.int8}
    stored: list[Array] = [
        np.ascontiguousarray(matrix if layout == "row_major" else matrix.T)
        for matrix, layout in zip((a, b), layouts, strict=True)
    ]
    if cxx == "__nv_bfloat16":
        stored = [dtypes.from_float32(matrix.astype(np.float32)) for matrix in stored]
    else:
        stored = [matrix.astype(storage.get(cxx, np.uint8)) for matrix in stored]
    buffers = [running.put(name, matrix) for name, matrix in zip("ab", stored, strict=True)]
    addend, out = running.put("c", c.astype(result)), running.put("d", np.zeros((m, n), result))
    running.launch(kernel, 1, 32, *buffers, addend, out)
    assert (out.read().view(result).reshape(m, n) == a @ b + 2 * c).all()


MIXED = """
extern "C" __global__ void NAME(const half* a, const half* b, const C* c, D* d)
{
    wmma::fragment<wmma::matrix_a, M, N, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, M, N, 16, C> fc;
    wmma::fragment<wmma::accumulator, M, N, 16, D> fd;
    wmma::load_matrix_sync(fa, a + blockIdx.x * M * 16, 16);
    wmma::load_matrix_sync(fb, b + blockIdx.x * N * 16, N);
    wmma::load_matrix_sync(fc, c + blockIdx.x * M * N, N, wmma::mem_row_major);
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d + blockIdx.x * M * N, fd, N, wmma::mem_row_major);
}
"""

# `FORM/a|b|c|d`: row-major matrices as uint32 words, one of each distribution, and what an H200 gave.
with np.load(Path(__file__).with_name("wmma_mixed.npz")) as _file:
    MIXED_VECTORS = dict(_file)
MIXED_FORMS = sorted({name.partition("/")[0] for name in MIXED_VECTORS})


def _mixed(form: str) -> str:
    shape, result, addend = form.split("_")
    m, n = shape[1:].removesuffix("k16").split("n")
    names = {"f32": "float", "f16": "half"}
    words: dict[str, object] = dict(zip("MNCD", (m, n, names[addend], names[result]), strict=True))
    return _defined(words, MIXED.replace("NAME", form))


ALL_MIXED = HEAD + "".join(map(_mixed, MIXED_FORMS))


@pytest.mark.parametrize("form", MIXED_FORMS)
def test_accumulators_of_two_types_have_the_bits_of_a_card(form: str, folder: Path) -> None:
    running = Running(folder, ALL_MIXED, only=form)
    a, b, c, d = (MIXED_VECTORS[f"{form}/{name}"] for name in "abcd")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    running.launch(form, len(a), 32, *buffers, out)
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()


BEHIND_THE_END = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* a, float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::load_matrix_sync(x, a, 16);
  wmma::load_matrix_sync(y, a + 16, 16);
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, x, y, c);
  wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
"""


def test_a_fragment_from_behind_the_end_is_a_fault_with_element_and_line(tmp_path: Path) -> None:
    running = Running(tmp_path, BEHIND_THE_END)
    a, out = running.put("a", np.zeros(256, np.float16)), running.put("out", np.zeros(256, np.float32))
    with pytest.raises(KernelFault, match=r"read of 2 bytes at a\[256\] \(a has 256\), thread \(15,0,0\).*k.cu:9"):
        running.launch("k", 1, 32, a, out)
