"""Virtual host headers for NVRTC, which has none.

NVRTC compiles device code only and knows no host headers, while nvcc sees them all and includes some by itself. What
such a file needs of them on the device is little: types, limits, and names that NVRTC has built in (printf, assert,
malloc, memcpy, the mathematical functions). The rest of C++'s library comes from NVIDIA's libcu++ (`cuda/std`).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

PRELUDE = "gpuregress/prelude.h"
"""Included before every source: what nvcc defines without any `#include` on Linux."""

_MATH = """\
#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
"""

# As nvcc defines them, whose host compiler runs on Linux: headers of projects ask for them. C++17 has no `register`,
# and a source for C++14 may. `__typeof__` is left out: `decltype` of an lvalue is a reference, so that a copy would
# become an alias. Lambdas are compiled as with --extended-lambda.
_SYSTEM = """\
#ifndef __linux__
#define __linux__ 1
#define __unix__ 1
#endif
#ifndef __GLIBC__
#define __GLIBC__ 2
#define __GLIBC_MINOR__ 28
#endif
#ifndef __CUDACC_EXTENDED_LAMBDA__
#define __CUDACC_EXTENDED_LAMBDA__ 1
#endif
#define register
#define __asm asm
#define __asm__ asm
#define __volatile volatile
#define __const const
#define __const__ const
#define __signed signed
#define __signed__ signed
#define __alignof __alignof__
#define __extension__
#ifndef __BYTE_ORDER__
#define __ORDER_LITTLE_ENDIAN__ 1234
#define __ORDER_BIG_ENDIAN__ 4321
#define __ORDER_PDP_ENDIAN__ 3412
#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
#endif
#ifndef __CHAR_BIT__
#define __CHAR_BIT__ 8
#define __SIZEOF_SHORT__ 2
#define __SIZEOF_INT__ 4
#define __SIZEOF_LONG__ 8
#define __SIZEOF_LONG_LONG__ 8
#define __SIZEOF_SIZE_T__ 8
#define __SIZEOF_POINTER__ 8
#define __SIZEOF_FLOAT__ 4
#define __SIZEOF_DOUBLE__ 8
#define __INT_MAX__ 0x7fffffff
#define __LONG_MAX__ 0x7fffffffffffffffL
#define __SIZE_TYPE__ long unsigned int
#define __PTRDIFF_TYPE__ long int
#endif
"""

# Templates, so that the toolkit's own definitions may stand beside them.
_DEPENDENT_LAUNCHES = """\
#if __CUDA_ARCH__ >= 900
template <typename = void> static __inline__ __device__ void cudaGridDependencySynchronize() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
template <typename = void> static __inline__ __device__ void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif
"""

# What GNU's <assert.h> and CUDA's own headers declare; a template, so that a project may declare it, too.
_FAILED_ASSERTION = """\
template <typename = void> static __inline__ __device__ void __assert_fail(
    const char *assertion, const char *file, unsigned int line, const char *function) {
  __assertfail(assertion, file, line, function, sizeof(char));
}
"""

# `cuda_runtime.h` includes <stdlib.h>, and that one <sys/types.h>.
_SYSTEM_TYPES = """\
typedef unsigned char u_char, u_int8_t;
typedef unsigned short ushort, u_short, u_int16_t;
typedef unsigned int uint, u_int, u_int32_t;
typedef unsigned long ulong, u_long, u_int64_t;
typedef long ssize_t, off_t;
"""

# libcu++ nests templates of types to this depth: 10 for nvcc, 16 for other compilers. NVRTC's front end takes twice as
# long for each level, 0.7 s for the last six.
_LIBRARY_LIMIT = """\
#ifndef _CCCL_META_UNROLL_LIMIT
#define _CCCL_META_UNROLL_LIMIT 10
#endif
"""

_UNARY = """
acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p log2 logb
nearbyint rint round sin sinh sqrt tan tanh tgamma trunc
"""
_TO_INTEGER = "ilogb isfinite isinf isnan llrint llround lrint lround signbit"
_BINARY = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder"

DOUBLE_POWERS = "GPUREGRESS_DOUBLE_POWERS"
"""The macro with which powers of whole exponents are those of GNU's <cmath>."""

OTHER_POWER = "nvcc computes this power in double, NVRTC by products: write pow(x, (double)n)"
"""What the compiler warns of where a source calls a function of NVRTC that GNU's <cmath> hides from nvcc."""

# GNU's <cmath> has templates for arguments of other types, which nvcc takes: a whole number becomes a double, and
# several numbers become what their sum is. NVRTC has few functions but for equal types, so that `sqrt(2)` is ambiguous.
# It has pow(float, int) and pow(double, int), too, which no template comes before: a macro gives `pow` another name.
_PROMOTIONS = f"""\
namespace gpuregress_math {{
template <class T> struct whole {{}};
template <class T> struct number {{}};
template <> struct number<float> {{ typedef float type; }};
template <> struct number<double> {{ typedef double type; }};
#define GPUREGRESS_WHOLE(T) \\
  template <> struct whole<T> {{ typedef double type; }}; template <> struct number<T> {{ typedef double type; }};
GPUREGRESS_WHOLE(bool) GPUREGRESS_WHOLE(char) GPUREGRESS_WHOLE(signed char) GPUREGRESS_WHOLE(unsigned char)
GPUREGRESS_WHOLE(short) GPUREGRESS_WHOLE(unsigned short) GPUREGRESS_WHOLE(int) GPUREGRESS_WHOLE(unsigned)
GPUREGRESS_WHOLE(long) GPUREGRESS_WHOLE(unsigned long) GPUREGRESS_WHOLE(long long) GPUREGRESS_WHOLE(unsigned long long)
#undef GPUREGRESS_WHOLE
template <class T> using number_t = typename number<T>::type;
}}
#define GPUREGRESS_UNARY(f) \\
  template <class T, class R = typename gpuregress_math::whole<T>::type> \\
  static __inline__ __host__ __device__ auto f(T x) -> decltype(f(R())) {{ return f(static_cast<R>(x)); }}
#define GPUREGRESS_BINARY(f) \\
  template <class T, class U, class R = decltype(gpuregress_math::number_t<T>() + gpuregress_math::number_t<U>())> \\
  static __inline__ __host__ __device__ R f(T x, U y) {{ return f(static_cast<R>(x), static_cast<R>(y)); }}
#define GPUREGRESS_SCALING(f, E) \\
  template <class T, class R = typename gpuregress_math::whole<T>::type> \\
  static __inline__ __host__ __device__ R f(T x, E y) {{ return f(static_cast<R>(x), y); }}
{" ".join(f"GPUREGRESS_UNARY({name})" for name in f"{_UNARY} {_TO_INTEGER}".split())}
{" ".join(f"GPUREGRESS_BINARY({name})" for name in _BINARY.split())}
GPUREGRESS_SCALING(ldexp, int) GPUREGRESS_SCALING(scalbn, int) GPUREGRESS_SCALING(scalbln, long)
template <class T, class U, class V, class R =
  decltype(gpuregress_math::number_t<T>() + gpuregress_math::number_t<U>() + gpuregress_math::number_t<V>())>
static __inline__ __host__ __device__ R fma(T x, U y, V z) {{
  return fma(static_cast<R>(x), static_cast<R>(y), static_cast<R>(z));
}}
#ifdef {DOUBLE_POWERS}
static __inline__ __host__ __device__ float gpuregress_pow(float x, float y) {{ return pow(x, y); }}
static __inline__ __host__ __device__ double gpuregress_pow(double x, double y) {{ return pow(x, y); }}
GPUREGRESS_BINARY(gpuregress_pow)
#define pow gpuregress_pow
#else
__attribute__((deprecated("{OTHER_POWER}"))) __host__ __device__ float pow(const float x, const int y);
__attribute__((deprecated("{OTHER_POWER}"))) __host__ __device__ double pow(const double x, const int y);
#endif
#undef GPUREGRESS_UNARY
#undef GPUREGRESS_BINARY
#undef GPUREGRESS_SCALING
"""

_PRELUDE_TEXT = f"{_MATH}{_PROMOTIONS}{_SYSTEM_TYPES}{_DEPENDENT_LAUNCHES}{_FAILED_ASSERTION}{_SYSTEM}{_LIBRARY_LIMIT}"

MATH_FUNCTIONS = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint llround log log10 log1p log2 logb
lrint lround modf nan nearbyint nextafter pow remainder remquo rint round scalbln scalbn signbit sin sinh sqrt
tan tanh tgamma trunc
"""

# libcu++ defines these as macros and global types under NVRTC, unguarded: ours must be the same ones.
# They are templates, and projects include C headers inside `extern "C"`.
_LIMITS = '#pragma once\nextern "C++" {\n#include <cuda/std/climits>\n}\n'
_FLOAT = '#pragma once\nextern "C++" {\n#include <cuda/std/cfloat>\n}\n'
_STDINT = '#pragma once\nextern "C++" {\n#include <cuda/std/cstdint>\n}\n'

# Sources include the driver's header out of habit or for these. See `_driver_types` for the rest of it.
_CUDA = """\
#pragma once
#include <stdint.h>
#define CUDA_VERSION 13050
typedef unsigned long long CUdeviceptr, CUtexObject, CUsurfObject;
typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;
"""

_ENDIAN = """\
#pragma once
#define __LITTLE_ENDIAN __ORDER_LITTLE_ENDIAN__
#define __BIG_ENDIAN __ORDER_BIG_ENDIAN__
#define __PDP_ENDIAN __ORDER_PDP_ENDIAN__
#define __BYTE_ORDER __BYTE_ORDER__
#define LITTLE_ENDIAN __LITTLE_ENDIAN
#define BIG_ENDIAN __BIG_ENDIAN
#define BYTE_ORDER __BYTE_ORDER
"""
_STDARG = "#pragma once\n"  # NVRTC has va_list and its macros built in
_STDDEF = "#pragma once\ntypedef decltype(sizeof(0)) size_t;\ntypedef long ptrdiff_t;\n"
_STDLIB = f"{_STDDEF}#define EXIT_SUCCESS 0\n#define EXIT_FAILURE 1\n#define RAND_MAX 2147483647\n"
_STDIO = _STDDEF
_STRING = _STDDEF
# NVRTC has assert built in, but, as in C, NDEBUG may change between two inclusions: NVRTC's own macro honours it.
_ASSERT = "#pragma once\n"

# libcu++ has functions of its own for whole numbers, which a using-directive would make ambiguous with the global ones.
_ABS = """\
#pragma once
#include <cuda/std/detail/__config>
#include <cuda/std/__cccl/prologue.h>
_CCCL_BEGIN_NAMESPACE_CUDA_STD
using ::abs;
using ::labs;
using ::llabs;
_CCCL_END_NAMESPACE_CUDA_STD
#include <cuda/std/__cccl/epilogue.h>
"""

# The functions of <cmath> in `std` hide those that libcu++ has for complex numbers.
_COMPLEX = """\
#define GPUREGRESS_COMPLEX(f) \\
  template <class T, class... More> static __inline__ __host__ __device__ \\
  auto f(const cuda::std::complex<T>& z, const More&... more) -> decltype(cuda::std::f(z, more...)) { \\
    return cuda::std::f(z, more...); \\
  }
namespace std {
GPUREGRESS_COMPLEX(abs) GPUREGRESS_COMPLEX(exp) GPUREGRESS_COMPLEX(log) GPUREGRESS_COMPLEX(pow) GPUREGRESS_COMPLEX(sqrt)
GPUREGRESS_COMPLEX(sin) GPUREGRESS_COMPLEX(cos) GPUREGRESS_COMPLEX(tan)
GPUREGRESS_COMPLEX(sinh) GPUREGRESS_COMPLEX(cosh) GPUREGRESS_COMPLEX(tanh)
}
#undef GPUREGRESS_COMPLEX
"""

# The real one refuses NVRTC for the sake of cub's host functions. The rest of what it includes is for kernels.
_CUB = """
block/block_adjacent_difference block/block_discontinuity block/block_exchange block/block_histogram block/block_load
block/block_merge_sort block/block_radix_rank block/block_radix_sort block/block_reduce block/block_scan
block/block_store
thread/thread_load thread/thread_operators thread/thread_reduce thread/thread_scan thread/thread_store
warp/warp_exchange warp/warp_load warp/warp_merge_sort warp/warp_reduce warp/warp_scan warp/warp_store
iterator/arg_index_input_iterator iterator/cache_modified_input_iterator iterator/cache_modified_output_iterator
iterator/tex_obj_input_iterator util_ptx util_type
"""

_LIBCUXX = """
algorithm array atomic bit chrono complex concepts functional initializer_list iterator limits memory numeric
optional ratio span string_view tuple type_traits utility variant
"""


def _in_std(header: str, names: Iterable[str] = ()) -> str:
    using = " ".join(f"using ::{name};" for name in names)
    return f'#pragma once\nextern "C++" {{\n#include <{header}>\nnamespace std {{ {using} }}\n}}\n'


def _libcuxx(name: str) -> str:
    using = "namespace std { using namespace cuda::std; }"
    more = _COMPLEX if name == "complex" else ""
    return f'#pragma once\nextern "C++" {{\n#include <cuda/std/{name}>\n{using}\n{more}}}\n'


_INTEGERS = [
    f"{sign}int{kind}{bits}_t" for sign in ("", "u") for kind in ("", "_fast", "_least") for bits in (8, 16, 32, 64)
]

HEADERS: dict[str, str] = {
    PRELUDE: _PRELUDE_TEXT,
    "assert.h": _ASSERT,
    "cassert": _ASSERT,
    "cfloat": _FLOAT,
    "climits": _LIMITS,
    "cmath": _in_std("math.h", MATH_FUNCTIONS.split()),
    "cstddef": _in_std("stddef.h", ("size_t", "ptrdiff_t")),
    "cstdint": _in_std("stdint.h", [*_INTEGERS, "intptr_t", "uintptr_t", "intmax_t", "uintmax_t"]),
    "cstdio": _in_std("stdio.h", ("size_t", "printf")),
    "cstdarg": _in_std("stdarg.h", ("va_list",)),
    "cstdlib": _in_std("stdlib.h", ("size_t", "malloc", "free", "abs")),
    "cstring": _in_std("string.h", ("size_t", "memcpy", "memset")),
    "cub/cub.cuh": "#pragma once\n" + "".join(f"#include <cub/{name}.cuh>\n" for name in _CUB.split()),
    "cuda.h": _CUDA,
    "cuda/std/__cstdlib/abs.h": _ABS,
    "endian.h": _ENDIAN,
    "float.h": _FLOAT,
    "inttypes.h": "#pragma once\n#include <stdint.h>\n",
    "limits.h": _LIMITS,
    "math.h": _MATH,
    "memory.h": _STRING,
    "stdbool.h": "#pragma once\n",
    "stddef.h": _STDDEF,
    "stdint.h": _STDINT,
    "stdio.h": _STDIO,
    "stdarg.h": _STDARG,
    "stdlib.h": _STDLIB,
    "string.h": _STRING,
    "sys/types.h": _STDDEF,
    "thrust/detail/complex/stream.h": "#pragma once\n",  # the stream operators of thrust/complex.h
    **{name: _libcuxx(name) for name in _LIBCUXX.split()},
}

LIBRARY = frozenset(_LIBCUXX.split())
"""The headers that take NVRTC the most time; they have nothing for a text without the word `std`."""

WITHOUT_LIBRARY = "#pragma once\n#include <stddef.h>\n#include <stdint.h>\n#include <limits.h>\n#include <float.h>\n"


_OF_CCCL = re.compile(r"(?:cub|cuda|thrust)/(?!.*\bversion\b)")
_VERSIONS = "#pragma once\n#include <cuda/std/version>\n#include <cub/version.cuh>\n#include <thrust/version.h>\n"


def without_cccl(names: Iterable[str]) -> dict[str, str]:
    """Return texts in place of CCCL's headers among some names: macros with its versions, for which no code is read.

    Args:
        names: as the directives spell them; only of headers that there are, and that the project does not have.
    """
    return dict.fromkeys(filter(_OF_CCCL.match, names), _VERSIONS)


_FROM_CUDA = """
cooperative_groups cooperative_groups.h crt cub cuda cudaEGL.h cudaGL.h cudaProfilerTypedefs.h cudaTypedefs.h
cudaVDPAU.h cuda_bf16.h cuda_fp16.h cuda_fp4.h cuda_fp6.h cuda_fp8.h cuda_pipeline.h cuda_runtime.h
cuda_runtime_api.h cuda_tile.h driver_types.h nv thrust
"""

SHADOWABLE = frozenset([*(name.partition("/")[0] for name in HEADERS), *_FROM_CUDA.split()])
"""The names that CUDA's headers and those above include with `<…>`, or the first folder of each.

A file or folder of this name in a project's folder comes before theirs, though no file of the project includes it.
"""


@lru_cache(maxsize=1)
def cuda_folders() -> tuple[Path, ...]:
    """The folders of NVIDIA's own headers, as their wheels install them: CUDA's, then CCCL's (cub, thrust, libcu++).

    Empty where the wheels are not installed.
    """
    spec = importlib.util.find_spec("nvidia")
    locations = spec.submodule_search_locations if spec is not None else None
    for location in locations or ():
        include = Path(location) / "cu13" / "include"
        if (include / "cuda_fp16.h").is_file():
            return (include, include / "cccl")
    return ()


_DRIVER_FUNCTION = re.compile(r"^[ \t]*(?:__CUDA_DEPRECATED\s+)?CUresult\s+CUDAAPI\s+\w+\s*\([^;]*;", re.MULTILINE)
# A name of the driver beyond the few of `_CUDA`. Reading its header takes 25 ms, which most sources are spared.
_DRIVER_NAME = re.compile(
    r"\bCU(?!tensorMap\b|deviceptr\b|texObject\b|surfObject\b|DA_VERSION\b)\w|\bcudaTypedefs\.h\b"
)


def virtual_headers(folders: Iterable[Path], texts: Iterable[str] = ()) -> dict[str, str]:
    """Return the headers to give NVRTC, except those that the project has files of its own for.

    Args:
        folders: the project's, in the order of the search.
        texts: what is compiled. Where they name more of the driver's types than kernels need, `cuda.h` has them all.
    """
    own = tuple(folders)
    headers = {name: text for name, text in HEADERS.items() if not any((folder / name).is_file() for folder in own)}
    if "cuda.h" in headers and any(_DRIVER_NAME.search(text) for text in texts):
        headers["cuda.h"] = _driver_types()
    return headers


@lru_cache(maxsize=1)
def _driver_types() -> str:
    """The driver's header without the functions, which NVRTC refuses because they are the host's."""
    for folder in cuda_folders():
        header = folder / "cuda.h"
        if header.is_file():
            return _DRIVER_FUNCTION.sub("", header.read_text(encoding="utf-8"))
    return _CUDA


# --- names of macros that break the headers which the compiler includes by itself -------------------------------------


TABLE = Path(__file__).parent.parent / "data" / "header_names.txt"
_KEYWORDS = frozenset(
    (
        *("alignas", "bool", "char", "class", "const", "constexpr", "delete", "double", "enum", "extern", "float"),
        *("inline", "int", "long", "namespace", "new", "noexcept", "operator", "private", "public", "return", "short"),
        *("signed", "sizeof", "static", "struct", "template", "true", "typedef", "typename", "union", "unsigned"),
        "void",
    )
)


def breaks_headers(name: str, text: str) -> bool:
    """Tell whether a macro breaks the compiler's own headers.

    Args:
        name: of the macro.
        text: its value; a keyword may become another word, as `inline` becomes `__forceinline__`.
    """
    if name in _KEYWORDS and (not text or text.isidentifier()):
        return False
    return name in _names()


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(TABLE.read_text(encoding="ascii").split())
