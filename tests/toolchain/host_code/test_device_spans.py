from __future__ import annotations

import pytest

from gpuregress.toolchain.host_code.device_spans import device_spans
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "int a; __device__ int f(int x) { if (x) { x = 1; } return x; } int b;",
            ["__device__ int f(int x) { if (x) { x = 1; } return x; }"],
        ),
        ("__constant__ int t[] = {1, 2}, u = 3; int b;", ["__constant__ int t[] = {1, 2}, u = 3;"]),
        ("struct S { __device__ S() : a{1}, b{2} { f(); } int a; };", ["__device__ S() : a{1}, b{2} { f(); }"]),
        ("HD int f() { return 1; } int b;", ["HD int f() { return 1; }"]),
        ("BEGIN(k) o[0] = 1; o[1] = 2; END int b;", ["BEGIN(k) o[0] = 1; o[1] = 2; END"]),
        ("KERNEL(k) int main() { return 1; }", ["KERNEL(k)"]),
        ("KERNEL(k) { return; } int b;", ["KERNEL(k) { return; }"]),
        ("struct S { __device__ } int b;", ["__device__ "]),
        ("__device__ int f(", ["__device__ int f("]),
    ],
)
def test_device_code_ends_with_its_declaration(text: str, expected: list[str]) -> None:
    head = "#define HD __host__ __device__\n#define KERNEL(n) __global__ void n()\n"
    head += "#define BEGIN(n) __global__ void n(int* o) {\n#define END }\n"
    source = CxxText(head + text)
    found = device_spans(source.code, Macros([source.macros]))
    assert [source.code[start:end] for start, end in found] == expected
