from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.host_code import blanking, declarations, reachability
from gpuregress.toolchain.host_code.blanking import Replacement
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros


def blanked(text: str) -> str:
    source = CxxText(text)
    macros = Macros([source.macros])
    views = declarations.views(source, macros)
    (edits,), _ = reachability.select([views], macros, ())
    return blanking.replaced(text, blanking.replacements(source, views, edits, macros))


def test_lines_comments_and_directives_stay() -> None:
    text = """\
#include <cstdio>
int main() // host
{
#ifdef A
  printf("/*");
#else
  puts("{");
#pragma omp parallel
#endif
}
__global__ void k() {}
"""
    assert [line.rstrip() for line in blanked(text).splitlines()] == [
        "#include <cstdio>",
        "           // host",
        "",
        "#ifdef A",
        "",
        "#else",
        "",
        "",
        "#endif",
        "",
        "__global__ void k() {}",
    ]


def test_a_function_whose_head_depends_on_a_condition() -> None:
    text = "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  g();\n}\n__device__ int d;\n"
    assert blanked(text).split() == ["#ifdef", "A", "#else", "#endif", "__device__", "int", "d;"]


def test_a_kernel_in_one_branch_and_host_code_in_the_other() -> None:
    text = "#if A\n__global__ void k() { int a; }\n#else\nvoid k() { int b; }\n#endif\n"
    assert blanked(text).split() == ["#if", "A", "__global__", "void", "k()", "{", "int", "a;", "}", "#else", "#endif"]


def test_annotations_of_lambdas_go() -> None:
    text = "#define HD __host__ __device__\n__global__ void k() { auto f = [=] HD (int i) { return s[i]; }; }\n"
    assert "[=]    (int i)" in blanked(text)
    assert "#define HD __host__ __device__" in blanked(text)
    plain = blanked("__device__ void f() { auto g = [] __device__ { return 1; }; }")
    assert plain.replace(" ", "") == "__device__voidf(){autog=[]{return1;};}"


def test_replacements_inside_others_are_left_out() -> None:
    changes = [Replacement(0, 4, "    "), Replacement(2, 3, "xx"), Replacement(3, 6, "   "), Replacement(7, 7, "@")]
    assert blanking.replaced("abcdefgh", changes) == "      g@h"


@given(st.text(alphabet="voidk(){}<>;,=#if\nelse_g\"'1 ", max_size=80))
def test_blanking_keeps_every_line(text: str) -> None:
    assert blanked(text).count("\n") == text.count("\n")
