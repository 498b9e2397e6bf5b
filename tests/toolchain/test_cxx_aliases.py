from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain import cxx_aliases, cxx_declarations

TEXT = """\
typedef float real; // typedef int real;
typedef const real* input;
using Index = unsigned long long;
using half_t = __half;
template <typename T> using Pointer = T*;
#define REAL double
#if WIDE
typedef double word;
#else
typedef int word;
#endif
struct Pair { int a, b; };
template <typename T, int N, typename S = float>
__global__ void k(T* x, const real* y, input z, Index* i, REAL* r, half_t* h, word* w, Pair* p, S* s, int n, T** t);
"""


def pointees(kernel: str, **defines: str) -> tuple[str | None, ...]:
    (declared,) = cxx_declarations.declarations(TEXT)
    return cxx_aliases.pointees(kernel, declared, cxx_aliases.aliases([TEXT], defines))


def test_aliases_and_template_arguments_are_resolved() -> None:
    expected = ("int32", "float32", "float32", "uint64", "float64", "float16", None, None, "float32", None, None)
    assert pointees("k<int, 4>") == expected
    assert pointees("k<Index, 4, real>")[:1] == ("uint64",)
    assert pointees("k")[0] is None


def test_macros_of_the_compilation_take_precedence() -> None:
    assert pointees("k<int, 4>", REAL="real")[4] == "float32"


@pytest.mark.parametrize("name", ["Pointer", "word"])
def test_what_has_two_meanings_or_parameters_is_not_known(name: str) -> None:
    assert name not in cxx_aliases.aliases([TEXT], {})


def test_a_circle_ends() -> None:
    (declared,) = cxx_declarations.declarations("__global__ void k(a* x);")
    assert cxx_aliases.pointees("k", declared, {"a": "b", "b": "a"}) == (None,)


@given(st.text(alphabet="typedfusing =;*<>#\n_ab", max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    cxx_aliases.aliases([text], {})
