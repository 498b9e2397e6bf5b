from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.functions import declarations
from gpuregress.toolchain.functions.declarations import CxxFunction

SOURCE = """\
#define HD __host__ __device__
#define HDI HD __forceinline__
namespace a { inline namespace v1 {
/* __device__ float hidden(float x); */
template <typename T> HDI constexpr T clampz(T x, const T& lo = T(0), T hi = max(1, 2)) noexcept
{
    if (x < lo) { return lo; }
    return x;
}
__device__ float clampz(float, float);
}
struct V {
    __device__ V() : x(1) {}
    __device__ float norm() const { return x; }
    static __device__ float sq(float v) { return v * v; }
public:
    static HD auto two(int (&v)[3], volatile int *p) -> int { return 2; }
    float x;
};
}
__device__ int table[4] = {1, 2, 3, 4};
__device__ int other = f(3), more(4);
extern "C" { __device__ void put(float& out,
    const float* __restrict__ x, unsigned long long n); }
extern "C" __device__ float ext(float x) { return x; }
template <int N, typename T = float> [[nodiscard]] static __device__ std::enable_if_t<(N > 0), T>
  poly(T x, T out[N]) { auto f = [=] __device__ (int i) { return i; }; return x; }
__global__ void __launch_bounds__(256, 2) k(float* x) { __shared__ float s[3]; }
float __device__ odd(float x) { return x; }
__device__ __attribute__((noinline)) float4 att(float4 v, struct P p) { return v; }
template <> __device__ float special<float>(float x) { return x; }
int host(int x) { return x; }
"""


def found() -> dict[str, CxxFunction]:
    return {str(one): one for one in declarations.device_functions([SOURCE])}


def test_every_device_function_is_found_and_nothing_else() -> None:
    assert list(found()) == [
        "a::v1::clampz<T>(T, const T&, T)",
        "a::v1::clampz(float, float)",
        "a::V::sq(float)",
        "a::V::two(int (&)[3], volatile int*)",
        "put(float&, const float*, unsigned long long)",
        "ext(float)",
        "poly<N, T>(T, T*)",
        "odd(float)",
        "att(float4, P)",
    ]


def test_names_results_lines_and_defaults() -> None:
    clamp = found()["a::v1::clampz<T>(T, const T&, T)"]
    assert (clamp.namespace, clamp.result, clamp.line, clamp.is_twofold) == ("a::v1", "T", 5, True)
    assert [(one.name, one.default) for one in clamp.parameters] == [("x", ""), ("lo", "T(0)"), ("hi", "max(1, 2)")]
    assert {one.name: one.result for one in found().values()} == {
        "a::v1::clampz": "float",
        "a::V::sq": "float",
        "a::V::two": "int",
        "put": "void",
        "ext": "float",
        "poly": "std::enable_if_t<(N> 0), T>",
        "odd": "float",
        "att": "float4",
    }
    assert found()["put(float&, const float*, unsigned long long)"].line == 23
    assert not found()["ext(float)"].is_twofold


def test_the_span_covers_a_function_from_its_first_word_to_its_brace() -> None:
    spans = [SOURCE[slice(*one.span)] for one in declarations.scan(SOURCE)]
    assert "__device__ float norm() const { return x; }" in spans
    kernel = "__global__ void __launch_bounds__(256, 2) k(float* x) { __shared__ float s[3]; }"
    assert kernel in spans
    assert spans[0].startswith("template <typename T> HDI")
    assert spans[0].endswith("return x;\n}")


def test_macros_of_a_header_are_known_in_the_source() -> None:
    texts = ["API float f(float x);", "#define API INLINE\n#define INLINE __device__ inline"]
    assert [str(one) for one in declarations.device_functions(texts)] == ["f(float)"]


def test_a_definition_names_what_its_declaration_leaves_out() -> None:
    (one,) = declarations.device_functions(["__device__ float f(float, int);", "__device__ float f(float x, int n) {}"])
    assert [parameter.name for parameter in one.parameters] == ["x", "n"]


@pytest.mark.parametrize(
    "text",
    [
        "__device__ float (*table[2])(float);",
        "__device__ float x(3);",
        "using F = float __device__ (float);",
        "}}}{{{((",
    ],
)
def test_what_is_no_function_is_left_alone(text: str) -> None:
    assert declarations.device_functions([text]) == ()


@given(
    st.lists(st.sampled_from([*"<>(){}[];,:=&* \n", "template", "__device__", "f", "struct", "namespace", "->", '"']))
)
def test_any_text_is_scanned_to_its_end(words: list[str]) -> None:
    for function in declarations.scan(" ".join(words)):
        assert 0 <= function.span[0] < function.span[1]
