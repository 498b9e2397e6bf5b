"""Device code that kernels reach: through calls, macros, members, headers and constants."""

from __future__ import annotations

from pathlib import Path

from gpuregress.lab.mutating import device_code

HEADER = Path("/include/h.cuh")
SOURCE = Path("/k.cu")


def bodies(files: dict[Path, str], *roots: str) -> list[str]:
    found = device_code.reached(files, roots)
    return [" ".join(one.text[start:end].split()) for one in found for start, end in one.bodies]


def test_calls_lead_into_headers() -> None:
    files = {
        SOURCE: '#include "h.cuh"\nnamespace a { __global__ void k(int *p) { *p = TWICE(N); } }\n',
        HEADER: "#define TWICE(x) twice(x)\nconstexpr int N = 3;\nconstexpr int M = 4;\n"
        "__device__ int twice(int x) { return 2 * x; }\n__device__ int thrice(int x) { return 3 * x; }\n",
    }
    assert bodies(files, "a::k") == ["{ *p = TWICE(N); }", "constexpr int N = 3;", "{ return 2 * x; }", "twice(x)"]
    assert bodies(files, "thrice") == ["{ return 3 * x; }"]


def test_members_and_operators_of_a_reached_class() -> None:
    text = (
        "struct Pair { int a; __device__ int sum(int b) const { return a + b; } };\n"
        "__device__ Pair operator+(Pair x, Pair y) { return {x.a + y.a}; }\n"
        "__global__ void k(int *p) { Pair one{1}; *p = (one + one).sum(2); }\n"
    )
    assert bodies({SOURCE: text}, "k")[:2] == ["{ return a + b; }", "{ return {x.a + y.a}; }"]


def test_code_that_is_no_ascii() -> None:
    assert bodies({SOURCE: "__global__ void k(int *größe) { *größe = 1 + 2; }"}, "k") == ["{ *größe = 1 + 2; }"]
