from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress import Kernel
from gpuregress.toolchain import nvrtc, nvrtc_options, source_keys
from gpuregress.toolchain.headers import host_headers, virtual_headers
from tests.toolchain.conftest import Write


@pytest.mark.parametrize(
    "name",
    [
        "iostream",
        "sys/time.h",
        "./vector",
        "GL/glut.h",
        "cublas_v2.h",
        "thrust/device_vector.h",
        "cudnn_ops.h",
        "cuda/memory_resource",
        "opencv2/cudaarithm.hpp",
    ],
)
def test_host_only_headers_are_known(name: str) -> None:
    assert host_headers.shims([name, "config.h"]).keys() == {name}


_OPENCV = ["opencv2/core/cuda/common.hpp", "opencv2/cudev.hpp", "opencv2/cudev/ptr2d/gpumat.hpp"]
_MATH_DX = ["cublasdx.hpp", "cufftdx.hpp", "cusolverdx.hpp", "cusolverdx_io.hpp"]


@pytest.mark.parametrize(
    "name", ["config.h", "cuda_fp16.h", "cub/block/block_reduce.cuh", "thrust/tuple.h", "mma.h", *_OPENCV, *_MATH_DX]
)
def test_headers_that_device_code_may_need_are_not(name: str) -> None:
    assert not host_headers.shims([name])


def test_no_header_is_in_two_lists() -> None:
    assert host_headers._names().isdisjoint(virtual_headers.HEADERS)


def test_a_shim_has_what_the_texts_use_of_the_libraries() -> None:
    text = host_headers.shims(["vector"], ["std::numeric_limits<float>::max(); thrust :: tuple<int> t;"])["vector"]
    assert text.splitlines()[-2:] == ["#include <limits>", "#include <thrust/tuple.h>"]
    assert "limits>" not in host_headers.shims(["vector"], ["pair<int, int> p;"])["vector"]
    assert "<utility>" in host_headers.shims(["vector"], ["using namespace std;\npair<int, int> p;"])["vector"]


@pytest.mark.parametrize(
    ("text", "directives"),
    [
        ("float x;", ""),
        ("std::sqrt(x) + uint8_t(1)", "#include <cmath>\n#include <stdint.h>\n"),
        ("std::max(x, std::numeric_limits<int>::min())", "#include <algorithm>\n#include <limits>\n"),
        ("int x = INT_MAX;", "#include <limits.h>\n"),
        ("typedef int8_t byte;", "#include <stdint.h>\n"),
        ("typedef unsigned long uint64_t;", ""),
        ("#define int8_t char", ""),
    ],
)
def test_what_nvcc_includes_in_every_source(text: str, directives: str) -> None:
    assert host_headers.implied([text]) == directives


def test_the_library_is_used_by_name() -> None:
    directive = ["using namespace std;\n"]
    assert not host_headers.use_library({"k", "float"}, directive)
    assert host_headers.use_library({"k", "max"}, directive)
    assert host_headers.use_library({"std", "max"}, [""])
    assert not host_headers.use_library({"max"}, [""])


HOST = """\
#include <iostream>
#include <map>
#include <thrust/device_vector.h>
#include <GL/freeglut.h>
#include <memory>
using namespace std;
static map<string, int> table;
ostream& print(ostream& out, const vector<float>& v);
__global__ void k(float* x) { x[0] = std::numeric_limits<float>::max(); }
"""

TORCH = """\
#include <torch/extension.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
template <typename T>
__global__ void scale(torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits> x, const at::Half* h) {
  CUDA_KERNEL_LOOP(i, x.size(0)) {
    at::acc_type<T, true> sum = x[i][0];
    x[i][1] = static_cast<T>(sum * h[i] + static_cast<float>(h[0]));
    gpuAtomicAdd(&x[i][0], T(1));
  }
}
torch::Tensor run(torch::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", ([&] { scale<scalar_t><<<1, 32>>>(x); }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""


def test_a_source_with_host_headers_compiles(write: Write) -> None:
    assert ".entry" in nvrtc.compile_source(write(HOST), HOST).ptx


VENDORED = """\
#include <json/json.hpp>
#include "fmt/format.h"
#include <flatbuffers/flatbuffers.h>
using json = nlohmann::json;
struct Failure : std::runtime_error {
  Failure(const std::string& text) : std::runtime_error{text} {}
  const char* what() const noexcept override { return "failure"; }
  int code;
};
std::string print(const json& x) { if (x.empty()) throw Failure{fmt::format("{}", x)}; return x.dump(); }
__global__ void k(int* x) { x[0] = sizeof(Failure); }
"""


def test_a_copy_of_a_library_of_the_host_is_not_compiled(write: Write) -> None:
    source = write(VENDORED)
    folder = Path(source.path).parent
    texts = {
        "json/json.hpp": "namespace nlohmann {}\n#error the host's\n",
        "fmt/format.h": '#include "base.h"\n#error that of fmt\n',
        "fmt/base.h": "#define FMT_VERSION 120000\n",
        "flatbuffers/flatbuffers.h": "#ifndef FLATBUFFERS_LITTLEENDIAN\n#error unknown endianness\n#endif\n",
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert ", 16;" in nvrtc.compile_source(source, VENDORED).ptx
    before = nvrtc_options.inputs(source)
    (folder / "fmt/base.h").write_text("#define FMT_VERSION 130000\n")
    after = nvrtc_options.inputs(source)
    assert source_keys.own(source, after) != source_keys.own(source, before)
    assert after.digest == before.digest, "the results are the same"


TILES = """\
#include "{}"
#ifndef TILE
#define TILE 4
#endif
__global__ void k(int* x) {{ x[0] = TILE; }}
"""
FMT = {"fmt/base.h": "#define FMT_VERSION 120000\n"}


@pytest.mark.parametrize(
    ("name", "text", "others"),
    [
        ("fmt/v.cuh", "#define TILE 8\n", {}),
        ("util/json.hpp", "#define TILE 8\n", {}),
        ("fmt/v.h", "#define TILE 8\n", FMT),
        ("fmt/fmt.cuh", "#define TILE 8\n", FMT),
        ("fmt/v.h", "// for fmt\n#define TILE 8\n__device__ int v;\n", FMT),
        ("fmt/format.h", '#define FMT_VERSION 1\n#include "../tile.h"\n', {"tile.h": "#define TILE 8\n"}),
    ],
)
def test_a_header_of_the_project_is_no_library_of_the_host(
    write: Write, name: str, text: str, others: dict[str, str]
) -> None:
    source = write(TILES.format(name))
    for file, content in {name: text, **others}.items():
        path = Path(source.path).parent / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    assert ", 8;" in nvrtc.compile_source(source, TILES.format(name)).ptx
    assert Path(name).name in [path.name for path in nvrtc_options.inputs(source).files]


@pytest.mark.parametrize("name", ["semaphore.h", "math.h"])
@pytest.mark.parametrize("host_code", ["blank", "keep"])
def test_a_header_beside_the_including_file_is_found_first(write: Write, name: str, host_code: str) -> None:
    text = f"#include <{name}>\n{TILES.format('sub/a.cuh')}"
    source = write(text, host_code=host_code)
    folder = Path(source.path).parent / "sub"
    folder.mkdir()
    (folder / "a.cuh").write_text(f'#include "{name}"\n')
    (folder / name).write_text("#define TILE 8\n")
    assert ", 8;" in nvrtc.compile_source(source, text).ptx


def test_a_class_keeps_the_members_of_host_types_that_its_device_code_does_not_use(write: Write) -> None:
    text = """#include <map>
    #include <vector>
    class Tree {
    public:
        virtual void build(std::vector<float>& points) = 0;
    protected:
        std::vector<float> nodes;
        std::map<std::string, bool> names;
        std::unique_ptr<Tree> next{nullptr};
        std::shared_ptr<Tree> parent = nullptr;
        std::vector<bool> flags;
    };
    struct Wide : Tree {
        __device__ static float root(const float* x) { return x[0] * 2; }
        void build(std::vector<float>& points) override { nodes = points; }
        int depth;
    };
    __global__ void k(float* x, Wide* tree) { x[0] = Wide::root(x); tree->depth = sizeof(Wide); }
    """
    ptx = nvrtc.compile_source(write(text), text).ptx
    assert "st.global.u32 \t[%rd" in ptx.replace("st.global.b32", "st.global.u32")
    assert "+144], " in ptx
    assert ", 152;" in ptx


def test_thrust_may_be_in_a_namespace_of_the_project(write: Write) -> None:
    text = """#include <thrust/device_ptr.h>
    #include <thrust/device_vector.h>
    template <typename T> struct Allocator {
        typedef lib::thrust::device_ptr<T> pointer;
        __host__ __device__ Allocator() {}
    };
    void sum(const lib::thrust::device_vector<float>& x) { lib::thrust::reduce(x.begin(), x.end()); }
    __global__ void k(float* x) { Allocator<float> a; x[0] = sizeof(a); }
    """
    source = write(text, defines={"THRUST_CUB_WRAPPED_NAMESPACE": "lib"})
    assert ".entry" in nvrtc.compile_source(source, text).ptx


def test_a_source_may_include_the_header_that_libcuxx_begins_with(write: Write) -> None:
    text = "#include <type_traits>\n#include <version>\n"
    text += "__global__ void k(int* x) { x[0] = std::is_same<int, float>::value; }\n"
    assert ".entry" in nvrtc.compile_source(write(text), text).ptx


def test_a_project_s_allocator_has_what_it_inherits_of_thrust_s(write: Write) -> None:
    text = """#include <thrust/device_malloc_allocator.h>
    template <class T> struct Allocator : thrust::device_malloc_allocator<T> {
        typedef typename thrust::device_malloc_allocator<T>::pointer pointer;
        typedef typename thrust::device_malloc_allocator<T>::size_type size_type;
        int flags;
    };
    __global__ void k(float* x) { Allocator<float> a; x[0] = sizeof(a) + sizeof(Allocator<int>::size_type); }
    """
    assert ".entry" in nvrtc.compile_source(write(text), text).ptx


def test_thrust_s_pointers_and_iterators_are_names_of_device_code(write: Write) -> None:
    text = """#include <thrust/device_ptr.h>
    #include <thrust/device_vector.h>
    #include <thrust/execution_policy.h>
    #include <thrust/functional.h>
    #include <thrust/system/cuda/experimental/pinned_allocator.h>
    #include <string>
    template <class T> using pinned = thrust::host_vector<T, thrust::cuda::experimental::pinned_allocator<T>>;
    struct Buffers { pinned<int>* host; int* data; __device__ int first() { return *data; } };
    template <class T> __device__ thrust::device_ptr<T> begin(T* x);
    template <class T, class = decltype(thrust::raw_pointer_cast((T*)0))> struct View { T* data; };
    template <class F, class I> __device__ thrust::transform_iterator<F, I> mapped(I x, F f) {
        return thrust::make_transform_iterator(x, f);
    }
    template <class T> __host__ __device__ std::string name() { return "T"; }
    struct Twice { __device__ int operator()(int x) const { return 2 * x; } };
    __global__ void k(int* x) { View<int> view{x}; view.data[0] = mapped(x, Twice())[1]; }
    """
    assert ".entry" in nvrtc.compile_source(write(text, kernels=("k",)), text).ptx


def test_the_order_of_bytes_and_the_c_library_are_known(write: Write) -> None:
    text = """#include <endian.h>
    #if !defined(__GLIBC__) || __BYTE_ORDER != __LITTLE_ENDIAN || !defined(__CUDACC_EXTENDED_LAMBDA__)
    #error unknown system
    #endif
    __global__ void k(int* x) { x[0] = BYTE_ORDER; }
    """
    assert "1234" in nvrtc.compile_source(write(text, kernels=("k",)), text).ptx


def test_conditions_on_nvcc_hold(write: Write, tmp_path: Path) -> None:
    header = "#if defined(__CUDA__) || defined(__NVCC__)\n#define DEVICE __device__\n#else\n#define DEVICE\n#endif\n"
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/base.h").write_text(header)
    text = """#include "base.h"
    #include <cuda/std/utility>
    struct Pair { float a, b; DEVICE float sum() const { return a + b; } };
    #ifndef __NVCC__
    #error not nvcc
    #endif
    __global__ void k(float* x, Pair pair) { x[0] = pair.sum(); }
    """
    assert "add.f32" in nvrtc.compile_source(write(text), text).ptx


def test_torchs_complex_numbers_are_numbers_of_a_kernel(tmp_path: Path) -> None:
    text = """#include <c10/util/complex.h>
    template <typename T> __global__ void k(c10::complex<T>* out, const c10::complex<T>* in, double factor) {
        c10::complex<T> a = in[0], b = in[1];
        out[0] = a * b; out[1] = a / b; out[2] = 2 * a - b * 3 + T(1); out[3] = std::conj(a) + -b;
        out[4] = c10::complex<T>(std::abs(a), std::norm(b)); out[5] = 1 / b; out[6] = a == b ? a : T(0);
        out[7] = static_cast<c10::complex<T>>(c10::complex<double>(a) * factor);
    }
    """
    path = tmp_path / "k.cu"
    path.write_text(text)
    a, b = 1.5 - 2j, 3 + 0.25j
    out = np.zeros(8, np.complex64)
    Kernel(path, "k<float>")(1, 1, out, np.array([a, b], np.complex64), np.float64(0.5))
    expected = [a * b, a / b, 2 * a - b * 3 + 1, a.conjugate() - b, abs(a) + abs(b) ** 2 * 1j, 1 / b, 0, a / 2]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_kernels_of_torch_s_types_compile(write: Write) -> None:
    names = ("scale<float>", "scale<double>", "scale<at::Half>", "scale<c10::BFloat16>")
    compiled = nvrtc.compile_source(write(TORCH, kernels=names), TORCH)
    assert set(compiled.kernels) == set(names)


def test_functions_of_torch_s_headers_for_kernels_are_in_these_headers_only(write: Write) -> None:
    text = "#include <torch/extension.h>\n#include <cuda.h>\ntemplate <typename T>\n"
    text += (
        "__device__ T WARP_SHFL_XOR(T x, int lanes, int width = warpSize) { return __shfl_xor_sync(~0u, x, lanes); }\n"
    )
    text += "__global__ void k(float* x) { x[0] = WARP_SHFL_XOR(x[0], 1); }\n"
    assert ".entry" in nvrtc.compile_source(write(text), text).ptx
