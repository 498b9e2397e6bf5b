"""Types that the compiler is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import TypeLayout
from gpuregress.lab.drafts import types
from gpuregress.lab.drafts.launch_facts import HostProgram
from gpuregress.lab.drafts.types import KnownTypes
from gpuregress.session import compilation
from gpuregress.toolchain.build_options.options import NO_OPTIONS

TEXT = """#include <vector>
typedef float real;
namespace n { struct P { real x, y; }; }
struct Body { n::P pos; int id; bool on; };
struct Inner { double x; };
struct Link { Link *next; int value; Inner *inner; };
class Hidden { int a; public: int b; __host__ __device__ Hidden() {} };
struct HostOnly { std::vector<int> v; };
__global__ void k(Body *b, Link *l, Hidden *h, real *v) { b->id = l->value + h->b; }
int main() {
    int n = 10; Body *b; Link *l; HostOnly *o;
    cudaMalloc(&b, n * sizeof(Body)); cudaMalloc(&l, n * sizeof(Link)); o = (HostOnly *)malloc(sizeof(HostOnly));
    Inner *i = (Inner *)malloc(sizeof(Inner));
    k<<<1, n>>>(b, l, 0, 0);
}
"""


def test_sizes_and_members_are_those_of_the_compiler(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(TEXT)
    found = HostProgram(source)
    found.ask_types()
    assert found.types.sizes == {"Body": 16, "Link": 24, "Hidden": 8, "Inner": 8}
    assert found.types.dtype("Body") == "{pos_x:float32,pos_y:float32,id:int32,on:bool}"
    assert found.types.dtype("real") == "float32"
    assert found.types.layouts["Link"].pointers == ("next", "inner")
    facts = found.facts(found.kernels[0])
    assert facts is not None
    sizes = [one.memory.bytes.number for one in facts.launch.arguments[:2]]  # type: ignore[union-attr]
    assert sizes == [160, 240]


def test_nothing_is_compiled_where_nothing_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(compilation, "compile_source", asked.append)
    source = tmp_path / "a.cu"
    source.write_text(
        "#define real float\nstruct HostOnly { int a; };\ntemplate <typename T> __global__ void k(T *t, real *v) {}\n"
        "int main() { float *v; cudaMalloc(&v, 64); HostOnly *o = (HostOnly *)malloc(sizeof(HostOnly));\n"
        "k<<<1, 8>>>(v, v); }\n"
    )
    found = HostProgram(source)
    found.ask_types()
    assert found.types == KnownTypes({"T": "T", "real": "float"})
    assert asked == []


def test_a_type_that_the_compiler_does_not_know_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("struct A { int a; };\n__global__ void k(A *a) {}\n")
    found = types.ask(types.question(source, NO_OPTIONS, HostProgram(source).program, ["A", "Missing", "Absent<int>"]))
    assert found == {"A": TypeLayout("class", 4, found["A"].fields)}


def test_sizes_of_members_of_class_templates_are_those_of_the_instance_that_is_launched(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        """template <int N, class in_t, class weight_t_> struct Traits {
  using weight_t = weight_t_;
  using scan_t = decltype(in_t() * weight_t());
  using pair_t = struct { scan_t a[N]; };
};
template <class Tr> __global__ void k(typename Tr::pair_t *p) { p[0].a[0] = 1; }
template <int N, class in_t, class weight_t> void launch(int n) {
  using Tr = Traits<N, in_t, weight_t>;
  char *p; cudaMalloc(&p, n * sizeof(typename Tr::pair_t));
  k<Tr><<<1, 1, sizeof(typename Tr::scan_t) + 2 * sizeof(typename Tr::weight_t)>>>((typename Tr::pair_t *)p);
}
int main() { launch<3, float, double>(10); }
"""
    )
    found = HostProgram(source)
    found.ask_types()
    facts = found.facts(found.kernels[0])
    assert facts is not None
    (argument,) = facts.launch.arguments
    assert argument.memory.bytes.number == 240  # type: ignore[union-attr]
    assert facts.launch.shared.number == 24
