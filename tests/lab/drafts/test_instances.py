from __future__ import annotations

import pytest

from gpuregress.lab.drafts import fills
from gpuregress.lab.host_programs.objects import SeenLaunch
from gpuregress.lab.host_programs.scalars import constant
from gpuregress.toolchain import cxx_declarations


@pytest.mark.parametrize(
    ("template", "given", "types", "name", "guessed"),
    [
        ("typename T, int N", ("double", "32"), ("float*",), "f<double, 32>", []),
        ("typename T, int N = 8", (), ("int*",), "f<int, 8>", []),
        ("typename T, bool B", ("T", "1"), ("half*",), "f<half, true>", []),
        ("typename T, int N", (), ("Item*",), "f<float, 128>", ["T", "N"]),
        ("typename T, Mode M", ("int", "0"), ("int*",), "f<int, (Mode)0>", []),
        ("typename T, size_t N", ("int", "4"), ("int*",), "f<int, 4>", []),
        ("int N, class T = V<N>", ("N",), (), "f<128>", ["N"]),
        ("typename index_t, int N", ("", "4"), (), "f<int, 4>", ["index_t"]),
    ],
)
def test_template_arguments(
    template: str, given: tuple[str, ...], types: tuple[str, ...], name: str, guessed: list[str]
) -> None:
    (kernel,) = cxx_declarations.declarations(f"template <{template}> __global__ void f(T *x) {{}}")
    one = (constant(1),) * 3
    launch = SeenLaunch("f", given, one, one, constant(0), (None,), types, ("x",), "a.cu:1", 0)
    assert fills.instance_of(kernel, launch)[1:] == (name, guessed)
