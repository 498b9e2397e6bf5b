from __future__ import annotations

from pathlib import Path

from gpuregress.lab.drafts import compiled
from gpuregress.lab.drafts.compiled import CompiledKernel, Slot
from gpuregress.virtual_gpu.buffer_accesses import Accesses

TEXT = """#include <cstdio>
struct Pair { float *out; const float *in; };
namespace a { __device__ unsigned hits[16]; }
__device__ double sum;
__constant__ float taps[4];
__global__ void k(Pair p, float *x) { extern __shared__ float s[]; p.out[threadIdx.x] = p.in[0] + s[0]; }
__global__ void variables(int n) { a::hits[threadIdx.x % 16] = n; sum = taps[0]; }
__global__ void prints() { printf("hello\\n"); }
"""


def test_the_roles_of_pointers_and_of_members(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(TEXT)
    found = compiled.compiled(source, "k")
    out, given = Slot("p_out", "float*", const=False, number=0), Slot("p_in", "float*", const=False, number=0, offset=8)
    unused = Slot("x", "float*", const=False, number=1)
    assert [found.role(one)[0] for one in (out, given, unused)] == ["", "fill", ""]
    assert [found.writes(one) for one in (out, given, unused)] == [True, False, False]
    assert found.has_dynamic_memory
    assert found.written_variables == {}


def test_the_variables_that_a_kernel_writes(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(TEXT)
    assert compiled.compiled(source, "variables").written_variables == {"a::hits": 64, "sum": 8}
    assert compiled.compiled(source, "prints").written_variables == {}
    assert not compiled.compiled(source, "prints").has_dynamic_memory


def test_the_variables_that_a_kernel_reads(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "struct C { int n; float w[4]; };\n__constant__ float taps[4], other[4]; namespace a { __constant__ C c; }\n"
        "__device__ __noinline__ float of(const float *p, int k) { return p[k]; }\n"
        "__global__ void direct(float *x, int k) { x[0] = taps[k]; }\n"
        "__global__ void called(float *x, int k) { x[0] = of(taps, k); }\n"
        "__global__ void chosen(float *x, int k) { const float *p = k ? taps : x; x[0] = p[k] + a::c.w[k]; }\n"
        "__global__ void none(float *x) { x[0] = 1; }\n"
    )
    names = ("taps", "other", "a::c", "c")
    read = {
        one: [name for name in names if compiled.compiled(source, one).reads_variable(name)]
        for one in ("direct", "called", "chosen", "none")
    }
    assert read == {"direct": ["taps"], "called": ["taps"], "chosen": ["taps", "a::c", "c"], "none": []}
    assert CompiledKernel().reads_variable("taps")


def test_nothing_is_known_of_a_kernel_that_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("__global__ void k(int *x) { x[0] = missing; }\n")
    found = compiled.compiled(source, "k")
    problem = f'{source}:1: error: identifier "missing" is undefined'
    assert found == CompiledKernel(problem=problem, needs="nothing")
    assert found.writes(Slot("x", "int*", const=False, number=0))


def test_what_is_updated_or_reached_by_unknown_addresses_is_filled() -> None:
    slot = Slot("x", "int*", const=False, number=0)
    updated = CompiledKernel(accesses=Accesses((0,), updated={0}, read={0}, written={0}))
    anywhere = CompiledKernel(accesses=Accesses((0,), writes_anywhere=True))
    assert (updated.role(slot)[0], anywhere.role(slot)[0], anywhere.writes(slot)) == ("zeros", "fill", True)
