"""Mutants of a source: of reached device code alone, each once, in the order of its lines."""

from __future__ import annotations

from pathlib import Path

from gpuregress.lab.mutating import cuda_mutants, device_code

TEXT = """\
// a < b in a comment, "a < b" in a string, µ
#if 0
__device__ int dead(int a) { return a < 1; }
#endif
template <typename T> __device__ T used(T a) { return a < T(1) ? a : a + a; }
#ifdef WIDE
__device__ int width(int a) { return a <= 8; }
#else
__device__ int width(int a) { return a <= 4; }
#endif
__device__ int unused(int a) { return a < 2; }
__global__ void other(int n, int *out) { if (n < 3) *out = n; }
__global__ void kernel(int n, int *out) { if (n < 4) *out = used(n) + width(n); printf("%d < 5", n); }
int host(int n) { return n < 6; }
"""


def test_lines_and_order() -> None:
    found = cuda_mutants.find_mutants(device_code.reached({Path("/k.cu"): TEXT}, ["kernel"]))
    boundaries = [(one.line, one.what) for one in found if one.operator == "boundary"]
    assert boundaries == [
        (5, "`a < T(1)` → `a <= T(1)`"),
        (7, "`a <= 8` → `a < 8`"),
        (9, "`a <= 4` → `a < 4`"),
        (13, "`n < 4` → `n <= 4`"),
    ]
    assert [one.edits for one in found] == sorted(one.edits for one in found)
    assert len({(one.operator, one.edits) for one in found}) == len(found)
