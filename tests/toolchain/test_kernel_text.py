from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain import kernel_text

HEAD = ".version 8.7\n.target sm_90\n.address_size 64\n"
VARIABLE = ".const .align 4 .b8 taps[100];\n"
FUNCTION = ".func (.param .b32 r) helper(.param .b32 a)\n{\n\tret;\n}\n"


def kernel(name: str, body: str) -> str:
    return f".visible .entry {name}(\n\t.param .u64 {name}_param_0\n)\n.maxntid 32\n{{\n\t{body}\n}}\n"


MODULE = HEAD + VARIABLE + kernel("one", "{ add.u32 %r1, %r1, 1; }\n\tret; // {") + FUNCTION + kernel("two", "ret;")


def test_other_kernels_are_left_out() -> None:
    text = kernel_text.of_kernels(MODULE, {"two"})
    assert "one" not in text
    for part in (HEAD, VARIABLE, FUNCTION, kernel("two", "ret;")):
        assert part in text
    changed = MODULE.replace("%r1, 1;", "%r1, 2;")
    assert kernel_text.of_kernels(changed, {"two"}) == text
    assert kernel_text.of_kernels(changed, {"one"}) != kernel_text.of_kernels(MODULE, {"one"})


def test_what_kernels_may_use_stays() -> None:
    before = kernel_text.of_kernels(MODULE, {"two"})
    for old, new in ((VARIABLE, VARIABLE.replace("100", "36")), (FUNCTION, FUNCTION.replace("ret", "trap"))):
        assert kernel_text.of_kernels(MODULE.replace(old, new), {"two"}) != before


def test_all_kernels_stay_where_all_are_launched() -> None:
    assert kernel_text.of_kernels(MODULE, {"one", "two"}) == MODULE.replace("// {", "")


def test_a_module_that_is_cut_short_ends_there() -> None:
    assert kernel_text.of_kernels(HEAD + ".visible .entry one(\n{ {", {"two"}) == HEAD


KERNELS = """\
// template __global__ void comment<int>(int*);
template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }
const char* text = R"(template __global__ void text<int>(int*);)";
template <> __global__ void scale<char>(char* x) { x[0] = 1; }
extern template __global__ void scale<long>(long*);
template <typename T> struct Tile { template <typename U> static U of(U u) { return u; } };
template struct Tile<int>;
template __device__ int helper<int>(int);
"""


@pytest.mark.parametrize(
    "instantiation",
    [
        "template __global__ void scale<float>(float*);",
        "template\\\n __launch_bounds__(256, 2) __global__ void\n    scale<float>(  // of floats\n    float*);",
        "#define MAKE(T) template __global__ void scale<T>(T*);",
        "#define MAKE(T) \\\n    template __global__ void scale<T>( \\\n        T*)",
    ],
)
def test_explicit_instantiations_of_kernels_are_blanked(instantiation: str) -> None:
    text = kernel_text.without_instantiations(f"{KERNELS}{instantiation}\nMAKE(int)\n{KERNELS}")
    blanked = text.removeprefix(KERNELS).removesuffix(f"\nMAKE(int)\n{KERNELS}")
    assert set(blanked.removeprefix("#define MAKE(T)")) <= set(" \\\n")
    assert len(blanked) == len(instantiation)
    assert blanked.count("\n") == instantiation.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "template __global__ void cut<int>(\n#if A\nint*);\n#else\nfloat*);\n#endif\n",
        "template __global__ void open<int>(int* x) { x[0] = 1; }",
        "x = object.template get<int>(); __global__ void plain(int* x);",
        "template __global__ void end<int>(int*)",
        "",
    ],
)
def test_what_is_not_sure_to_be_an_instantiation_stays(text: str) -> None:
    assert kernel_text.without_instantiations(text) == text


@given(st.text(alphabet="template<>__global__ void(){};#\\\n\"/*R'.:", max_size=60))
def test_lines_and_positions_never_change(text: str) -> None:
    blanked = kernel_text.without_instantiations(text)
    assert [len(line) for line in blanked.split("\n")] == [len(line) for line in text.split("\n")]
    assert kernel_text.without_instantiations(blanked) == blanked
