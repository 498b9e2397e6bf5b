"""Types of C++ and the element types (dtypes) that hold them."""

from __future__ import annotations

import re
from functools import lru_cache

from gpuregress.foundation import dtypes

_BY_DTYPE = {
    "bool": "bool",
    "int8": "char, signed char",
    "uint8": "unsigned char, uchar",
    "int16": "short",
    "uint16": "unsigned short, ushort",
    "int32": "int",
    "uint32": "unsigned, uint",
    "int64": "long, long long, ptrdiff_t, clock_t",
    "uint64": "unsigned long, unsigned long long, ulong, size_t",
    "float16": "half, __half",
    "bfloat16": "nv_bfloat16, __nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "half2": "half2, __half2",
    "bfloat162": "nv_bfloat162, __nv_bfloat162",
    "complex64": "cuComplex, cuFloatComplex, complex<float>, thrust::complex<float>",
    "complex128": "cuDoubleComplex, complex<double>, thrust::complex<double>",
}
_INTEGER_WORDS = frozenset(("unsigned", "signed", "char", "short", "int", "long"))
_QUALIFIERS = re.compile(r"\b(?:const|volatile)\b")
_SPACES = re.compile(r"\s*([<>,*&]|::)\s*|\s+")
_VECTOR = re.compile(r"(?:u?(?:char|short|int|longlong)|float|double)[1-4]")
DTYPES = {name: dtype for dtype, names in _BY_DTYPE.items() for name in names.split(", ")} | {
    f"{dtype}_t": dtype for dtype in _BY_DTYPE if dtype.startswith(("int", "uint"))
}


@lru_cache(maxsize=1024)
def dtype_of_type(name: str) -> str | None:
    """Return the dtype that holds a C++ type; None if there is none, as for a pointer.

    Args:
        name: `float`, `unsigned long long`, `std::size_t`, `float4`; words of an integer type in any order.
    """
    plain = _SPACES.sub(lambda match: match[1] or " ", _QUALIFIERS.sub(" ", name).strip()).strip()
    plain = plain.removeprefix("::").removeprefix("cuda::").removeprefix("std::")
    words = plain.split()
    if words and _INTEGER_WORDS.issuperset(words):
        return _integer(words)
    return plain if _VECTOR.fullmatch(plain) else DTYPES.get(plain)


def dtype_of(name: str) -> str | None:
    """Return the dtype with this name, or the one that holds the C++ type with this name; None if there is none.

    Args:
        name: `float32`, `{id:int32,score:float32}`, `float`, `unsigned long long`.
    """
    try:
        return dtypes.parse(name).name
    except ValueError:
        return dtype_of_type(name)


def _integer(words: list[str]) -> str | None:
    """`long unsigned int` → `uint64`; `long` has 64 bits, as with every CUDA on Linux."""
    signs = [word for word in words if word in ("unsigned", "signed")]
    base = " ".join(sorted(word for word in words if word in ("char", "short", "long")))
    if len(signs) > 1 or words.count("int") > 1 or (base == "char" and "int" in words):
        return None
    if signs == ["unsigned"]:
        return DTYPES.get(f"unsigned {base}".strip())
    return DTYPES.get(base or "int")
