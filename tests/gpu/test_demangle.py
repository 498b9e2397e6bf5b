from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.gpu.demangle import demangle


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z5saxpyPfS_fi", "saxpy"),
        ("_ZN1a1kIfEEvPT_PKS1_j6float2", "a::k<float>"),
        ("_Z4tileILi16EEvPf", "tile<16>"),
        ("_Z4tileILin3ELb1EEvPf", "tile<-3, true>"),
        ("_ZN1a1bILj8EdE1kIPKfEEvv", "a::b<8, double>::k<const float*>"),
        ("_Z1kIN1a1bEEvT_", "k<a::b>"),
        ("_ZN12_GLOBAL__N_11kEPf", "(anonymous namespace)::k"),
        ("_ZN8__main__6doubleB2v1B7cw51_3dE5ArrayIfLi1E1C7mutable7alignedE", "__main__::double"),
        ("plain", ""),
        ("_Z", ""),
        ("_Z9short", ""),
        ("_Z1kIDF16_EvT_", ""),
    ],
)
def test_names(mangled: str, name: str) -> None:
    assert demangle(mangled) == name


@given(st.text(alphabet="NIELZ_0123456789abfkKPns", max_size=30))
def test_no_text_breaks_it(tail: str) -> None:
    assert isinstance(demangle(f"_Z{tail}"), str)
