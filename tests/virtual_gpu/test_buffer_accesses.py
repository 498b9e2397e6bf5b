from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs
from gpuregress.virtual_gpu import buffer_accesses
from gpuregress.virtual_gpu.buffer_accesses import Accesses

SOURCE = """
__device__ float table[4];
__constant__ float taps[4];
struct Pair { const float *in; float *out; };
__device__ __noinline__ void put(float *p, float v) { *p = v; }
extern "C" {
__global__ void copy(float *out, const float *x) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void axpby(float *y, const float *x) { y[threadIdx.x] = 2 * x[threadIdx.x] + y[threadIdx.x]; }
__global__ void scan(float *y, const float *x) { y[threadIdx.x] = x[0]; __syncthreads(); y[32] = y[0] + y[1]; }
__global__ void count(unsigned *h, const int *x) { atomicAdd(h + x[threadIdx.x], 1u); }
__global__ void castaway(float *out, const float *x) { ((float *)x)[threadIdx.x] = 1; out[0] = 1; }
__global__ void nothing(float *out, const float *x) {}
__global__ void called(float *out, const float *x) { put(out + threadIdx.x, x[threadIdx.x]); }
__global__ void packed(Pair p, float *other) { p.out[threadIdx.x] = p.in[threadIdx.x]; }
__global__ void chosen(float *a, float *b, int c) { (c ? a : b)[threadIdx.x] = 1; }
__global__ void looped(float *y, int n) { for (int i = 0; i < n; i++) y[i] += 1; }
__global__ void variable(float *out) { table[threadIdx.x] = taps[threadIdx.x]; out[0] = 1; }
__global__ void indirect(float **rows, int n) { rows[n][threadIdx.x] = 1; }
}
"""


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("accesses") / "k.cu"
    path.write_text(SOURCE)
    names = [line.partition("__global__ void ")[2].partition("(")[0] for line in SOURCE.splitlines() if "__gl" in line]
    return Path(programs.compile(Source(str(path), kernels=tuple(names))).ptx).read_text()


def told(actual: Accesses, number: int, size: int = 8) -> str:
    """`r` read, `f` read first, `w` written, `u` updated."""
    kinds = (("r", actual.read), ("f", actual.read_first), ("w", actual.written), ("u", actual.updated))
    return "".join(letter for letter, places in kinds if actual.of_parameter(number, size, places))


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        ("copy", ("w", "rf")),
        ("axpby", ("rfw", "rf")),
        ("scan", ("rw", "rf")),
        ("count", ("rfwu", "rf")),
        ("castaway", ("w", "w")),
        ("nothing", ("", "")),
        ("called", ("w", "rf")),
        ("chosen", ("w", "w")),
        ("looped", ("rfw",)),
    ],
)
def test_what_a_kernel_does_with_its_pointers(ptx: str, kernel: str, parameters: tuple[str, ...]) -> None:
    actual = buffer_accesses.of_kernel(ptx, kernel)
    assert tuple(told(actual, number) for number in range(len(parameters))) == parameters
    assert (actual.reads_anywhere, actual.writes_anywhere) == (False, False)


def test_pointers_inside_a_struct_are_its_parameters(ptx: str) -> None:
    actual = buffer_accesses.of_kernel(ptx, "packed")
    assert (actual.read, actual.written) == ({0}, {8})
    assert (told(actual, 0, 16), told(actual, 1)) == ("rfw", "")


def test_variables_are_named(ptx: str) -> None:
    actual = buffer_accesses.of_kernel(ptx, "variable")
    assert {"table"} <= actual.written
    assert {"taps"} <= actual.read


def test_an_address_from_memory_may_be_anything(ptx: str) -> None:
    assert buffer_accesses.of_kernel(ptx, "indirect").writes_anywhere
