from __future__ import annotations

import itertools

import pytest

from gpuregress.foundation import dtypes
from gpuregress.toolchain import cxx_types
from gpuregress.toolchain.cxx_types import dtype_of, dtype_of_type


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", "float32"),
        ("const double", "float64"),
        ("__half", "float16"),
        ("__nv_bfloat16", "bfloat16"),
        ("__half2", "half2"),
        ("float4", "float4"),
        ("ulonglong2", "ulonglong2"),
        ("std::size_t", "uint64"),
        ("cuda::std::int16_t", "int16"),
        ("uint8_t", "uint8"),
        ("thrust::complex< double >", "complex128"),
        ("cuda::std::complex<float>", "complex64"),
        ("signed", "int32"),
        ("unsigned", "uint32"),
        ("short int", "int16"),
        ("float*", None),
        ("vec<float, 4>", None),
        ("float5", None),
        ("unsigned signed", None),
        ("char int", None),
        ("long char", None),
        ("void", None),
        ("", None),
    ],
)
def test_types_of_cxx(name: str, dtype: str | None) -> None:
    assert dtype_of_type(name) == dtype


def test_words_of_an_integer_type_come_in_any_order() -> None:
    for words in itertools.permutations(["unsigned", "long", "int", "long"]):
        assert dtype_of_type(" ".join(words)) == "uint64"


def test_a_dtype_has_its_own_name() -> None:
    for name in dtypes.known_names():
        assert dtype_of(name) == name
    assert dtype_of("{id: int32, score: float32}") == "{id:int32,score:float32}"


def test_every_type_has_a_dtype_that_exists() -> None:
    for dtype in cxx_types.DTYPES.values():
        assert dtypes.parse(dtype).name == dtype
