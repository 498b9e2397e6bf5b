"""Shims for headers that only host code needs, and for the part of Torch's that kernels use.

NVRTC sees a shim where the project has no such file. A header that is in no list is an error: it might define what a
kernel depends on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path

from gpuregress.gpu.records import Record
from gpuregress.toolchain.headers.virtual_headers import MATH_FUNCTIONS

_STANDARD = """
any barrier bitset cctype cerrno cfenv charconv cinttypes clocale codecvt condition_variable coroutine
csetjmp csignal ctime ctype.h cuchar cwchar cwctype deque dirent.h dlfcn.h errno.h exception execution expected
experimental
fcntl.h fenv.h filesystem format forward_list fstream future generator getopt.h iomanip ios iosfwd iostream istream
latch libgen.h list locale locale.h malloc.h alloca.h map memory_resource mutex new numbers omp.h ostream
poll.h print pthread.h pwd.h queue random ranges regex sched.h scoped_allocator semaphore semaphore.h set
setjmp.h shared_mutex signal.h source_location spanstream sstream stack stacktrace stdexcept stop_token streambuf
string strings.h strstream syncstream system_error termios.h thread time.h typeindex typeinfo unistd.h
unordered_map unordered_set valarray values.h vector version wait.h wchar.h wctype.h cxxabi.h execinfo.h features.h
error.h glob.h ftw.h utime.h mqueue.h syslog.h grp.h spawn.h iconv.h langinfo.h netdb.h
netinet
ucontext.h ext/numeric_traits.h malloc/malloc.h
windows.h Windows.h windowsx.h direct.h io.h conio.h process.h tchar.h intrin.h x86intrin.h immintrin.h emmintrin.h
xmmintrin.h pmmintrin.h smmintrin.h nmmintrin.h
"""

_CUDA_HOST = """
cublas.h cublas_v2.h cublasLt.h cublasXt.h cublas_api.h cufft.h cufftXt.h cufftw.h cusparse.h cusparse_v2.h
cusparseLt.h cusolverDn.h cusolverSp.h cusolverRf.h cusolverMg.h cusolver_common.h nvrtc.h nvml.h nccl.h
nvgraph.h nvjpeg.h nvblas.h cuda_profiler_api.h cudaProfiler.h cuda_gl_interop.h cudaGL.h cuda_egl_interop.h
cuda_vdpau_interop.h cudaVDPAU.h cudaEGL.h cuda_d3d9_interop.h cuda_d3d10_interop.h cuda_d3d11_interop.h nvcuvid.h
cuviddec.h nvscibuf.h nvscisync.h cufile.h nppi.h npp.h nppdefs.h nvrtc_helper.h cuda_occupancy.h cutensor.h
cudalibxt.h cuda_stdint.h texture_fetch_functions.h surface_functions.h
math_functions_dbl_ptx3.h
cub/util_allocator.cuh cub/util_device.cuh cub/util_debug.cuh nvJitLink.h cudnn.h
cuda/buffer cuda/memory_pool cuda/memory_resource cuda/stream cuda/stream_ref
"""

_LIBRARIES = """
boost CL cblas cblas.h benchmark cxxopts.hpp argparse EGL fmt freeimage FreeImage.h GL gflags GLES2 GLES3 GLES31 GLFW
glad GLUT glog gtest gmock X11 hdf5.h H5Cpp.h jpeglib.h json.hpp KHR lapacke.h lapack.h lmdb.h leveldb mkl.h
mkl_cblas.h mpi.h nlohmann nvToolsExt.h nvToolsExtCuda.h nvToolsExtCudaRt.h nvtx3 numpy opencv opencv2 OpenGL
OpenCL png.h pybind11 Python.h pngpriv.h rapidjson SDL2 SDL spdlog tiffio.h vulkan zlib.h papi.h
d3d9.h d3d10.h d3d10_1.h d3d11.h d3d12.h d3dx9.h dxgi.h dxgi1_2.h dxgi1_4.h D3Dcompiler.h DirectXMath.h dynlink_d3d10.h
drm drm_fourcc.h xf86drm.h xf86drmMode.h winsock2.h ws2tcpip.h
mkl sys arpa linux mach TargetConditionals.h absl google cupti.h cupti_target.h cupti_events.h cupti_profiler_target.h
"""

_VENDORED = {
    "flatbuffers": ("base.h flatbuffers.h", b"FLATBUFFERS_LITTLEENDIAN"),
    "fmt": ("base.h core.h format.h", b"FMT_VERSION"),
    "gflags": ("gflags.h", b"FlagRegisterer"),
    "glog": ("logging.h", b"LogMessageFatal"),
    "gmock": ("gmock.h", b"InitGoogleMock"),
    "gtest": ("gtest.h", b"GTEST_TEST_"),
    "nlohmann": ("json.hpp json_fwd.hpp", b"nlohmann"),
    "pybind11": ("pybind11.h detail/common.h", b"PYBIND11_"),
    "rapidjson": ("rapidjson.h document.h", b"RAPIDJSON_"),
    "spdlog": ("spdlog.h", b"namespace spdlog"),
}
"""Folders of libraries that only host code uses, and that many clones hold a copy of: headers of each, and a text that
one of them has in every version."""

_LIBRARY_WORD = re.compile("|".join(_VENDORED).encode(), re.IGNORECASE)
"""What every file of such a library mentions, if only in a comment: its name, or that of one that it has a copy of."""
_DEVICE_CODE = re.compile(rb"\b__(?:device|global|shared|constant|managed)__\b")

_THRUST = """
adjacent_difference advance allocate_unique async binary_search copy count detail/raw_pointer_cast
detail/vector_base device_allocator
device_delete device_free device_malloc device_malloc_allocator device_new device_new_allocator device_ptr
device_reference device_vector equal event execution_policy extrema fill find for_each future gather generate
host_vector inner_product logical memory merge mismatch mr partition per_device_resource random reduce remove replace
reverse scan scatter sequence set_operations shuffle sort swap system tabulate transform transform_reduce
transform_scan uninitialized_copy uninitialized_fill unique universal_allocator universal_ptr universal_vector
system_error
"""

_CUDA_PREFIXES = (
    "nvmedia_",
    "nvsci",
    "cudnn_",
    "cudnn",
    "npp",
    "cupti_",
    "cub/device/",
    "cub/host/",
    "cub/agent/",
    "cutlass_",
)
_OF_KERNELS = re.compile(r"opencv2/(?:.*/)?(?:cuda/|cudev\b|cuda_types\b)|cu(?:blas|fft|solver)dx[._]")
"""Headers for device code that are named as those of a library of the host."""
_TORCH = ("torch/", "ATen/", "c10/", "THC/", "TH/", "caffe2/")
_TORCH_TEXTS = Path(__file__).parent.parent / "data"

_WORDS = {
    "std": {
        "algorithm": "min max swap clamp fill copy sort lower_bound upper_bound",
        "array": "array",
        "bit": "bit_cast",
        "cmath": MATH_FUNCTIONS,
        "complex": "complex",
        "cstddef": "size_t ptrdiff_t byte",
        "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
        "functional": "plus minus multiplies less greater equal_to",
        "initializer_list": "initializer_list",
        "limits": "numeric_limits",
        "optional": "optional nullopt",
        "string_view": "string_view",
        "tuple": "tuple make_tuple get tie tuple_size",
        "type_traits": "is_same is_same_v enable_if enable_if_t conditional conditional_t integral_constant "
        "true_type false_type is_integral is_floating_point is_integral_v is_floating_point_v decay "
        "decay_t remove_reference remove_const remove_cv make_unsigned underlying_type is_base_of "
        "is_pointer void_t remove_pointer is_unsigned aligned_storage aligned_storage_t alignment_of "
        "bool_constant common_type common_type_t conjunction disjunction negation invoke_result_t "
        "is_arithmetic is_arithmetic_v is_base_of_v is_class is_convertible is_convertible_v "
        "is_pointer_v is_signed is_signed_v is_trivially_copyable is_trivially_copyable_v "
        "is_unsigned_v is_void is_void_v make_signed remove_const_t remove_cv_t remove_cvref_t "
        "remove_pointer_t remove_reference_t",
        "utility": "move forward pair make_pair declval exchange index_sequence make_index_sequence",
    },
    "thrust": {
        "thrust/iterator/constant_iterator.h": "constant_iterator make_constant_iterator",
        "thrust/iterator/counting_iterator.h": "counting_iterator make_counting_iterator",
        "thrust/iterator/transform_iterator.h": "transform_iterator make_transform_iterator",
        "thrust/iterator/zip_iterator.h": "zip_iterator make_zip_iterator",
        "thrust/functional.h": "plus minus multiplies maximum minimum less greater identity",
        "thrust/pair.h": "pair make_pair",
        "thrust/tuple.h": "tuple make_tuple get tie",
    },
}
_OF_LIBCUXX = "version"
"""What libcu++ includes before it has defined anything: its other headers would end up in themselves."""
_OF_CMATH = ("algorithm", "limits", "type_traits", "utility")
"""Headers of which GNU's `<cmath>` has what `_WORDS` names."""
_CONTAINERS = ("thrust/device_vector.h", "thrust/host_vector.h")
_VOCABULARY = {
    library: {header: frozenset(names.split()) for header, names in headers.items()}
    for library, headers in _WORDS.items()
}
_QUALIFIED = re.compile(r"\b(std|thrust)\s*::\s*(\w+)")
_DIRECTIVE = re.compile(r"\busing\s+namespace\s+std\s*;")
_INTEGER = re.compile(r"\bu?int(?:8|16|32|64)_t\b")
_LIMIT = re.compile(
    r"\b(?:S?CHAR|SHRT|INT|LONG|LLONG)_(?:MAX|MIN)\b|\bU(?:CHAR|SHRT|INT|LONG|LLONG)_MAX\b|\bCHAR_BIT\b"
)
_INTEGER_DEFINED = re.compile(
    r"\btypedef\b[^;]*\bu?int(?:8|16|32|64)_t\s*;|\b(?:using|define)\s+u?int(?:8|16|32|64)_t\b"
)
_LIBRARY_NAMES = frozenset(name for names in _WORDS["std"].values() for name in names.split())
_UNQUALIFIED = re.compile(r"\b(numeric_limits|pair|make_pair|swap|array|tuple|is_same)\b")

# The sizes are those of GNU's library for 64 bits, so that a class with such members has the layout that nvcc gives it.
_STD = """\
#pragma once
#ifndef GPUREGRESS_HOST_STD
#define GPUREGRESS_HOST_STD
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
extern "C++" {
typedef struct _IO_FILE FILE;
typedef unsigned long pthread_t;
namespace std {
template <class, class = void> class vector { long state[3]; };
template <class Allocator> class vector<bool, Allocator> { long state[5]; };
template <class, class = void, class = void> class basic_string {
  long state[4];
public:
  basic_string() = default;
  template <class Text> __host__ __device__ basic_string(const Text*) {}
};
typedef basic_string<char> string;
template <class, class, class = void, class = void> class map { long state[6]; };
template <class, class, class = void, class = void> class multimap { long state[6]; };
template <class, class, class = void, class = void, class = void> class unordered_map { long state[7]; };
template <class, class = void, class = void> class set { long state[6]; };
template <class, class = void, class = void, class = void> class unordered_set { long state[7]; };
template <class, class = void> class list { long state[3]; };
template <class, class = void> class deque { long state[10]; };
template <class, class = void> class queue { long state[10]; };
template <class, class = void> class stack { long state[10]; };
template <int words> class nullable_state {
  long state[words];
public:
  nullable_state() = default;
  __host__ __device__ nullable_state(decltype(nullptr)) {}
};
template <class> struct function : nullable_state<4> { using nullable_state::nullable_state; };
template <class> struct shared_ptr : nullable_state<2> { using nullable_state::nullable_state; };
template <class> class weak_ptr { long state[2]; };
template <class, class = void> struct unique_ptr : nullable_state<1> { using nullable_state::nullable_state; };
template <class, class = void> class basic_ostream;
template <class, class = void> class basic_istream;
typedef basic_ostream<char> ostream;
typedef basic_istream<char> istream;
template <class, class = void, class = void> class basic_stringstream;
template <class, class = void, class = void> class basic_istringstream;
template <class, class = void, class = void> class basic_ostringstream;
typedef basic_stringstream<char> stringstream;
typedef basic_istringstream<char> istringstream;
typedef basic_ostringstream<char> ostringstream;
class type_description;
typedef type_description type_info;  // NVRTC reserves the name
class thread { long state; };
class mutex { long state[5]; };
class recursive_mutex { long state[5]; };
class condition_variable { long state[6]; };
class exception {
public:
  __host__ __device__ exception() {}
  virtual __host__ __device__ ~exception() {}
  virtual __host__ __device__ const char* what() const noexcept { return ""; }
};
class logic_error : public exception {
public:
  template <class Text> explicit __host__ __device__ logic_error(const Text&) {}
};
class runtime_error : public exception {
public:
  template <class Text> explicit __host__ __device__ runtime_error(const Text&) {}
};
struct invalid_argument : logic_error { using logic_error::logic_error; };
struct domain_error : logic_error { using logic_error::logic_error; };
struct length_error : logic_error { using logic_error::logic_error; };
struct out_of_range : logic_error { using logic_error::logic_error; };
struct range_error : runtime_error { using runtime_error::runtime_error; };
struct overflow_error : runtime_error { using runtime_error::runtime_error; };
struct underflow_error : runtime_error { using runtime_error::runtime_error; };
}
}
#endif
"""

# Thrust's containers have no members here, but their sizes, because classes of projects have such members. Thrust's
# own headers for kernels declare none of them but references, in an inline namespace where none is given.
_THRUST_TEXT = """\
#pragma once
#ifndef GPUREGRESS_THRUST
#define GPUREGRESS_THRUST
#ifdef THRUST_CUB_WRAPPED_NAMESPACE
namespace THRUST_CUB_WRAPPED_NAMESPACE {
#endif
namespace thrust {
template <class> class device_ptr;
#ifdef THRUST_CUB_WRAPPED_NAMESPACE
template <class> class device_reference;
#endif
template <class, class = void> class device_vector { long state[4]; };
template <class, class = void> class host_vector { long state[4]; };
template <class T> struct device_malloc_allocator {
  typedef T value_type;
  typedef device_ptr<T> pointer;
  typedef decltype(sizeof(0)) size_type;
};
template <class T> struct device_allocator : device_malloc_allocator<T> {};
template <class T> __host__ __device__ T* raw_pointer_cast(T* pointer) { return pointer; }
}
#ifdef THRUST_CUB_WRAPPED_NAMESPACE
}
#endif
#endif
"""

_PINNED = "thrust/system/cuda/experimental/pinned_allocator.h"
_PINNED_TEXT = f"""\
{_THRUST_TEXT}
#ifndef GPUREGRESS_THRUST_PINNED
#define GPUREGRESS_THRUST_PINNED
#include <thrust/detail/config.h>
THRUST_NAMESPACE_BEGIN
namespace system {{ namespace cuda {{ namespace experimental {{
template <class T> struct pinned_allocator {{ typedef T value_type; }};
}} }} }}
namespace cuda {{ namespace experimental {{ using system::cuda::experimental::pinned_allocator; }} }}
THRUST_NAMESPACE_END
#endif
"""

_CUFFT = """\
#include <cuComplex.h>
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
typedef int cufftHandle;
"""

_HANDLES = """\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuComplex.h>
typedef struct cublasContext* cublasHandle_t;
typedef struct cudnnContext* cudnnHandle_t;
typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef struct cusolverSpContext* cusolverSpHandle_t;
typedef struct cusparseContext* cusparseHandle_t;
typedef struct cusparseMatDescr* cusparseMatDescr_t;
typedef struct cusparseSpMatDescr* cusparseSpMatDescr_t;
"""

_DIRECTX = """\
#pragma once
namespace DirectX {
struct XMFLOAT2 { float x, y; };
struct XMFLOAT3 { float x, y, z; };
struct XMFLOAT4 { float x, y, z, w; };
}
"""


def is_host_library(name: str) -> bool:
    """Tell whether a header has a name of a library of the host that a project may hold a copy of.

    Such a library is large and no device code: NVRTC 13.0 was seen to die in a copy of nlohmann's `json.hpp`.

    Args:
        name: as the directive spells it, `fmt/format.h`.
    """
    return bool(_library(name))


def _library(name: str) -> str:
    """Return the library of a header, "" where it is none of those."""
    folder, _, rest = name.partition("/")
    if rest and folder in _VENDORED:
        return folder
    return "nlohmann" if name.rpartition("/")[2] == "json.hpp" else ""


def is_library_file(name: str, path: Path, content: bytes) -> bool:
    """Tell whether a file is from a copy of a library of the host, and not the project's own under such a name.

    Args:
        name: as the directive spells it.
        path: the file that it leads to.
        content: of the file.
    """
    library = _library(name)
    if not library or not _LIBRARY_WORD.search(content):
        return False
    headers, text = _VENDORED[library]
    if text in content:
        return True
    folder = library_folder(name, path)
    if folder is None:
        return False
    for header in headers.split():
        try:
            if text in (folder / header).read_bytes():
                return True
        except OSError:
            continue
    return False


def library_folder(name: str, path: Path) -> Path | None:
    """Return the folder of the library whose header a file is named as; None where it is in none.

    Args:
        name: as the directive spells it.
        path: the file that it leads to.
    """
    library = _library(name)
    for parent in path.parents:
        if parent.name == library:
            return parent
    return None


def has_device_code(path: Path, content: bytes) -> bool:
    """Tell whether a header may have code or variables of the device."""
    return path.suffix in (".cu", ".cuh") or _names_device_code(content)


@lru_cache(maxsize=64)
def _names_device_code(content: bytes) -> bool:
    return _DEVICE_CODE.search(content) is not None


def shims(names: Iterable[str], texts: Collection[str] = ()) -> dict[str, str]:
    """Return the texts of those headers that stand for host-only ones.

    The host's headers include each other, in ways that change. So each shim has what the texts use of the standard
    library and of Thrust's vocabulary.

    Args:
        names: as the directives spell them; only of headers that the project does not have.
        texts: what is compiled.
    """
    known: dict[str, str] = {}
    for name in names:
        text = _shim(name)
        if text is not None:
            known[name] = text
    used = _used(texts) if known else []
    with_names: dict[str, str] = {}
    for name, text in known.items():
        if name == _OF_LIBCUXX:
            with_names[name] = text
            continue
        # Thrust's headers of iterators include others that have a shim, and would end up in themselves.
        headers = [header for header in used if name in _CONTAINERS or not header.startswith("thrust/iterator/")]
        with_names[name] = text + "".join(f"#include <{header}>\n" for header in headers)
    return with_names


def _used(texts: Collection[str]) -> list[str]:
    """The headers of the library's names that the texts have."""
    words: set[tuple[str, str]] = set()
    uses_std = any("using namespace std" in text for text in texts)
    for text in texts:
        qualified, unqualified = _names_in(text)
        words |= qualified
        if uses_std:
            words.update(("std", name) for name in unqualified)
    headers: set[str] = set()
    for library, name in words:
        headers.update(header for header, known in _VOCABULARY[library].items() if name in known)
    return sorted(headers)


@lru_cache(maxsize=512)
def _names_in(text: str) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """Find the qualified and the unqualified names of a text that may be the libraries'."""
    return frozenset(_QUALIFIED.findall(text)), frozenset(_UNQUALIFIED.findall(text))


def implied(texts: Collection[str]) -> str:
    """Return what nvcc includes in every source, as far as the texts use it.

    `cuda_runtime.h` includes `<cmath>`, `<limits.h>` and, by way of the C library, the integers of `<stdint.h>`. GNU's
    `<cmath>` includes the parts of the standard library that its special functions need, such as `std::max`.

    Args:
        texts: what is compiled.
    """
    uses = [_implicit_use(text) for text in texts]
    included = ""
    if any(use.has_limits for use in uses):
        included += "#include <limits.h>\n"
    if any(use.has_math for use in uses):
        included += "#include <cmath>\n"
    for header in _OF_CMATH:
        if any(header in use.library for use in uses):
            included += f"#include <{header}>\n"
    defines_integers = any(use.defines_integers for use in uses)  # perhaps as other types
    if not defines_integers and any(use.has_integers for use in uses):
        included += "#include <stdint.h>\n"
    return included


class _ImplicitUse(Record):
    """What a text uses of the headers that nvcc includes."""

    has_math: bool
    has_limits: bool
    has_integers: bool
    defines_integers: bool
    library: frozenset[str]


@lru_cache(maxsize=512)
def _implicit_use(text: str) -> _ImplicitUse:
    """Search a text; cached, since attempts and kernels of a source share their headers."""
    names = {name for library, name in _names_in(text)[0] if library == "std"}
    return _ImplicitUse(
        has_math=not names.isdisjoint(MATH_FUNCTIONS.split()),
        has_limits=_LIMIT.search(text) is not None,
        has_integers=_INTEGER.search(text) is not None,
        defines_integers=_INTEGER_DEFINED.search(text) is not None,
        library=frozenset(header for header in _OF_CMATH if not names.isdisjoint(_VOCABULARY["std"][header])),
    )


def use_library(words: Collection[str], texts: Collection[str]) -> bool:
    """Tell whether device code may use names of C++'s library: qualified, or known ones below a using-directive.

    Args:
        words: of device code and what it reaches.
        texts: what is compiled.
    """
    if "std" in words:
        return True
    return not _LIBRARY_NAMES.isdisjoint(words) and any(_DIRECTIVE.search(text) for text in texts)


@lru_cache(maxsize=2)
def torch_text(*, is_of_device: bool = False) -> str:
    """Return what kernels use of Torch's headers.

    Args:
        is_of_device: whether with the functions that only its `.cuh` files have: a project may define its own.
    """
    text = (_TORCH_TEXTS / "torch.h").read_text(encoding="ascii")
    if is_of_device:
        text += (_TORCH_TEXTS / "torch_device.h").read_text(encoding="ascii")
    return text


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset((*_STANDARD.split(), *_CUDA_HOST.split(), *_LIBRARIES.split()))


def _shim(name: str) -> str | None:
    plain = re.sub(r"^(?:\./)+", "", name)
    if plain.startswith(_TORCH):
        return torch_text(is_of_device=plain.endswith(".cuh"))
    first, _, rest = plain.partition("/")
    if plain == _PINNED:
        return _PINNED_TEXT
    if first == "thrust":
        stem = rest.removesuffix(".h")
        known = _THRUST.split()
        return _THRUST_TEXT if stem in known or stem.partition("/")[0] in known else None
    if plain == _OF_LIBCUXX:
        return "#pragma once\n"
    if plain in ("time.h", "ctime"):
        return f"{_STD}#define CLOCKS_PER_SEC 1000000L\n"
    if plain == "DirectXMath.h":
        return _DIRECTX
    if plain == "unistd.h":
        return f"{_STD}#define _POSIX_VERSION 200809L\n"
    if _OF_KERNELS.match(plain):
        return None
    if plain.startswith("cufft"):
        return f"{_STD}{_CUFFT}"
    if plain.startswith(("cublas", "cusparse", "cusolver", "cudnn")):
        return f"{_STD}{_HANDLES}"
    if plain in _names() or first in _names() or plain.startswith(_CUDA_PREFIXES) or is_host_library(plain):
        return _STD
    return None
