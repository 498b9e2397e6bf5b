from __future__ import annotations

import pytest

from gpuregress.toolchain.host_code.declarations import class_spans, device_spans
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("struct S { int a; OPEN(f) a = 1; END int b; }; int c;", ["{ int a; OPEN(f) a = 1; END int b; }"]),
        ("template <class T, int n = 2> class S : B<T> { struct T {}; };", ["{ struct T {}; }"]),
        ("CLASS(S) int a; OVER int b;", ["(S) int a; OVER"]),
        ("template <class T> void f(T t) { } enum class E { a }; struct S; struct S *p;", []),
    ],
)
def test_classes_end_with_their_bracket(text: str, expected: list[str]) -> None:
    head = "#define OPEN(n) void n() {\n#define END }\n#define CLASS(n) struct n {\n#define OVER };\n"
    source = CxxText(head + text)
    found = class_spans(source.code, Macros([source.macros]))
    assert [source.code[body:end] for _, body, end in found] == expected
