from __future__ import annotations

import pytest

from gpuregress.toolchain.host_code import declarations
from gpuregress.toolchain.host_code.declarations import Declared
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros


def read(text: str) -> tuple[Declared, ...]:
    source = CxxText(text)
    (view,) = declarations.views(source, Macros([source.macros]))
    return view.declarations


@pytest.mark.parametrize(
    ("text", "kind", "names", "is_device"),
    [
        ("template <typename T> __global__ void __launch_bounds__(256) k(T* x) {}", "function", ("k",), True),
        ('extern "C" __global__ void k(float4* __restrict__ y) {}', "function", ("k",), True),
        ("int a::Host::run(int n) const { return n; }", "function", ("run",), False),
        ("PYBIND11_MODULE(X, m) { m.def(1); }", "function", ("PYBIND11_MODULE",), False),
        ("__host__ static float* make(int n);", "prototype", ("make",), False),
        ("static __constant__ float c[4], d;", "variable", ("c", "d"), True),
        ("void (*callback)(int) = 0;", "variable", ("callback",), False),
        ("struct __align__(8) S { int a; };", "class", ("S",), False),
        ("typedef struct { int a; } T;", "class", ("T",), False),
        ("enum Kind { A, B = 2 };", "enum", ("A", "B", "Kind"), False),
        ("using F = float;", "alias", ("F",), False),
        ("typedef float F4[4];", "alias", ("F4",), False),
        ("using std::cout;", "alias", ("cout",), False),
        ("using namespace a::b;", "namespace", ("b",), False),
        ('static_assert(sizeof(int) == 4, "no");', "assertion", ("int",), False),
        ("template void host<float>(int);", "instantiation", ("host",), False),
        ("template __global__ void k<float>(float*);", "instantiation", ("k",), True),
    ],
)
def test_declarations_of_each_kind(text: str, kind: str, names: tuple[str, ...], *, is_device: bool) -> None:
    first = read(f"int before;\n{text}\nint after;")[1]
    assert first.kind == kind
    assert first.names == names or kind == "assertion"
    assert first.is_device == is_device
    assert f"int before;\n{text}\nint after;"[first.start : first.end] == text


def test_spans_begin_with_the_specifiers_that_the_grammar_does_not_see() -> None:
    text = "int before;\n__device__ __forceinline__ float f() { return 1; }\nint after;"
    _, function, _ = read(text)
    assert text[function.start : function.head_end].strip() == "__device__ __forceinline__ float f()"
    assert text[function.end :] == "\nint after;"


def test_namespaces_are_looked_into() -> None:
    found = read('namespace a { int x; namespace b { void f() {} } } extern "C" { int g(); }')
    assert [one.names for one in found] == [("x",), ("f",), ("g",)]


def test_members_of_a_class() -> None:
    (found,) = read("struct S { S() : a(1) {} __device__ int get() const { return a; } int host(); int a; };")
    assert [(one.kind, one.names, one.is_device) for one in found.members] == [
        ("function", ("S",), False),
        ("function", ("get",), True),
        ("prototype", ("host",), False),
        ("variable", ("a",), False),
    ]


def test_a_macro_may_annotate() -> None:
    found = read(
        "#define FN __device__ inline\n#define K(n) __global__ void n(int* x)\nFN int f() { return 1; }\nK(k) {}"
    )
    assert [one.is_device for one in found] == [True, True]


def test_three_closing_brackets_are_no_launch() -> None:
    text = "template <class T> __device__ A<B<C<T>>> f(A<B<C<T>>> a) { return {}; } int g() { return 1; }"
    assert [(one.kind, one.names) for one in read(text)] == [("function", ("f",)), ("function", ("g",))]


def test_a_macro_call_with_a_declaration_as_argument_ends_with_its_bracket() -> None:
    text = """#define DEPRECATED(declaration, hint) declaration __attribute__((deprecated(hint)))
DEPRECATED(
    API double size_of(enum type one),
    "use size()");
DEPRECATED(API struct node * make(
    struct context * of),
    "use new");
enum order { up, down };
template <order o> __global__ void sort(float* x) {}
DEPRECATED(int64_t, uint32_t);
DEPRECATED(__device__ float scale(float x), "use mul");
"""
    declared = [(one.kind, one.names[0], one.is_device) for one in read(text)]
    assert declared == [
        ("macro", "DEPRECATED", False),
        ("macro", "DEPRECATED", False),
        ("enum", "up", False),
        ("function", "sort", True),
        ("macro", "DEPRECATED", False),
        ("macro", "DEPRECATED", True),
    ]


def test_a_macro_call_with_odd_arguments_is_a_declaration_of_its_own() -> None:
    text = """#define COMPARE(name, op) inline bool name(int a, int b) { return a op b; }
COMPARE(equal, ==);
COMPARE(less, <);
COMPARE(differ, !=);
COMPARE(less_or_equal, <=);
COMPARE( >, greater );
COMPARE(SMALL LARGE
            OTHER, sum);
template <class T> bool is_null(T* p) { return p == nullptr; }
"""
    declared = [(one.kind, text[one.start : one.end].partition("(")[0]) for one in read(text)]
    assert declared == [("macro", "COMPARE")] * 6 + [("function", "template <class T> bool is_null")]


def test_a_function_ends_with_its_body_where_the_grammar_misreads_its_head() -> None:
    text = (
        "template <class T> constexpr auto operator==(T l, T r) noexcept(noexcept(f(l))) -> decltype(g(l), f(l) == 0)"
    )
    (declared,) = read(f"{text}\n{{\n  return f(l) == 0;\n}}\n")
    assert declared.end == len(text) + len("\n{\n  return f(l) == 0;\n}")
