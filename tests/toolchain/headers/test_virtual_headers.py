from __future__ import annotations

import pytest

from gpuregress.toolchain import nvrtc, nvrtc_options
from gpuregress.toolchain.headers import virtual_headers
from tests.toolchain.conftest import Write


def _compile(write: Write, text: str, **settings: object) -> nvrtc_options.NvrtcResult:
    return nvrtc.compile_source(write(text, **settings), text)


@pytest.mark.slow
def test_ordinary_host_headers_are_there(write: Write) -> None:
    includes = "".join(f"#include <{name}>\n" for name in virtual_headers.HEADERS if "/" not in name)
    text = (
        includes
        + """
    #include <cuda_runtime.h>
    __global__ void k(float* x, double* d, int n) {
        x[0] = std::sqrt(x[0]) + std::pow(x[1], 2.f) + std::max(x[2], x[3]) + M_PI + INFINITY + FLT_MAX + INT_MAX;
        std::uint8_t u = 3; std::size_t z = n; uint q = UINT32_MAX; x[1] = u + z + q;
        x[5] = std::numeric_limits<float>::infinity();
        if (std::is_same<int, float>::value || std::isnan(x[6])) { std::printf("%d", n); memcpy(x, d, 8); }
        assert(n > 0);
    }
    """
    )
    ptx = _compile(write, text, kernels=("k",)).ptx
    assert "vprintf" in ptx
    assert "__assertfail" in ptx


def test_nvcc_knows_the_constants_of_math_without_an_include(write: Write) -> None:
    _compile(write, "__global__ void k(double* x) { x[0] = INFINITY; x[1] = M_PI; x[2] = NAN; uint n = 1; x[n] = n; }")


def test_templates_of_the_library_nest_as_deep_as_for_nvcc(write: Write) -> None:
    # NVRTC's own 16 levels take its front end longer than all else of most sources.
    text = "#include <type_traits>\nstatic_assert(_CCCL_META_UNROLL_LIMIT == 10);\n__global__ void k() {}\n"
    _compile(write, text)
    _compile(write, text.replace("10", "12"), defines={"_CCCL_META_UNROLL_LIMIT": "12"})


def test_dependent_launches_are_there_from_sm_90_on(write: Write) -> None:
    text = "__global__ void k() { cudaGridDependencySynchronize(); cudaTriggerProgrammaticLaunchCompletion(); }"
    ptx = _compile(write, text, arch="sm_90a").ptx
    assert "griddepcontrol.wait" in ptx
    assert "griddepcontrol.launch_dependents" in ptx
    own = "static inline __device__ void cudaGridDependencySynchronize() {}\n"
    assert "griddepcontrol.wait" not in _compile(write, own + text).ptx


def test_cudas_header_brings_what_it_brings_to_nvcc(write: Write) -> None:
    text = "#include <cuda.h>\n__global__ void k(uint8_t* x, CUtexObject t) { x[0] = sizeof(t); }"
    assert _compile(write, text, kernels=("k",)).kernels == {"k": "_Z1kPhy"}


@pytest.mark.parametrize(
    "statement",
    [
        "ssize_t i = -1; x[0] = i + sizeof(off_t) + sizeof(u_int16_t);",
        'int l; __asm__ __volatile__("mov.u32 %0, %%laneid;" : "=r"(l)); __asm("" ::: "memory"); x[0] = l;',
        "__extension__ __signed__ char c = -1; const __volatile int v = 2; x[0] = c + v + __alignof(int);",
        "for (register int i = 0; i < 4; i++) x[i] = i;",
        "static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__); x[0] = __CHAR_BIT__ * __SIZEOF_POINTER__;",
    ],
)
def test_gnus_keywords_and_the_systems_types_are_known_without_an_include(write: Write, statement: str) -> None:
    _compile(write, f"__global__ void k(float* x) {{ {statement} }}")


@pytest.mark.parametrize(
    "text",
    [
        "#include <cudaTypedefs.h>\nPFN_cuTensorMapEncodeTiled_v12000 encode();\n__global__ void k(int* x) { *x = 1; }",
        "#include <cuda.h>\n__global__ void k(CUtensorMapDataType* x) { *x = CU_TENSOR_MAP_DATA_TYPE_FLOAT32; }",
        "#include <cuda.h>\nstatic CUmodule module;\nCUresult last;\n__global__ void k(int* x) { *x = 1; }",
    ],
)
def test_the_drivers_header_has_its_types(write: Write, text: str) -> None:
    _compile(write, text)


def test_a_header_of_the_project_wins_over_ours(write: Write) -> None:
    write("#define OURS 41\n", "limits.h")
    text = "#include <limits.h>\n__global__ void k(int* x) { x[0] = OURS; }"
    assert ", 41;" in _compile(write, text, kernels=("k",)).ptx


def test_mathematical_functions_promote_their_arguments_as_gnus_library(write: Write) -> None:
    text = """struct Dual { float x; };
    __device__ Dual sqrt(Dual d);
    template <class T> __device__ Dual pow(Dual d, T n);
    __device__ float hypot(short x, short y);
    __global__ void k(float* y, float f, double d, int i, unsigned u, short s) {
        static_assert(sizeof(sqrt(i)) == 8 && sizeof(floor(u)) == 8 && sizeof(exp(f)) == 4 && sizeof(log(d)) == 8);
        static_assert(sizeof(pow(f, d)) == 8 && sizeof(pow(2, u)) == 8 && sizeof(pow(f, f)) == 4);
        static_assert(sizeof(atan2(i, f)) == 8 && sizeof(fmod(f, f)) == 4 && sizeof(fmax(f, d)) == 8);
        static_assert(sizeof(sqrt(Dual())) == 4 && sizeof(pow(Dual(), i)) == 4 && sizeof(hypot(s, s)) == 4);
        static_assert(sizeof(std::pow(f, u)) == 8 && sizeof(std::sqrt(s)) == 8 && sizeof(std::floor(f)) == 4);
        y[0] = sqrt(i) + pow(f, u) + std::hypot(f, d);
    }
    """
    ptx = nvrtc.compile_source(write(text), text).ptx
    assert "sqrt.rn.f64" in ptx


def test_a_using_directive_for_std_leaves_functions_of_whole_numbers_alone(write: Write) -> None:
    text = """#include <cmath>
    #include <cstdlib>
    #include <algorithm>
    using namespace std;
    __global__ void k(float* y, int* n, long m) { n[0] = abs(n[1]) + max(n[2], RAND_MAX); y[0] = abs(y[1]) + abs(m); }
    """
    assert ".entry" in nvrtc.compile_source(write(text), text).ptx


def test_functions_of_complex_numbers_stand_beside_those_of_real_ones(write: Write) -> None:
    text = """#include <cmath>
    #include <complex>
    __global__ void k(float* y, std::complex<float>* z) {
        y[0] = std::abs(z[0]) + std::abs(y[1]) + std::exp(y[2]) + std::norm(z[2]) + std::pow(z[1], 2).real();
        z[1] = std::exp(z[0]) * std::sqrt(z[1]) + std::conj(z[2]);
    }
    """
    assert ".entry" in nvrtc.compile_source(write(text), text).ptx
