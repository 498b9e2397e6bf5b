from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.host_code import declarations, reachability, unit
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros
from gpuregress.toolchain.host_code.unit import Replacement, UnitBuilder, words


def builder(folder: Path, **files: str) -> UnitBuilder:
    """Build from files of a folder: `k` is the source, others are headers."""
    paths = [folder / ("k.cu" if name == "k" else f"{name}.h") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    return UnitBuilder(paths, tuple(files.values()), (folder,), ())


def test_included_files_with_host_code_are_texts_named_by_their_paths(tmp_path: Path) -> None:
    k = '#include "a.h"\n#include "c.h"\n#include <vector>\n__global__ void k() {}\n'
    unit = builder(tmp_path, k=k, a='#include "b.h"\n#include "c.h"\n', b="void host();\n", c="#define C 1\n").unit()
    path = tmp_path.resolve()
    assert unit.text == k.replace('"a.h"', f'"{path}/a.h"')
    assert unit.headers == {
        f"{path}/a.h": f'#include "{path}/b.h"\n#include "{path}/c.h"\n',
        f"{path}/b.h": "            \n",
    }
    assert unit.missing == ("vector",)


def test_nothing_changes_without_host_code(tmp_path: Path) -> None:
    k = '#include "a.h"\n__global__ void k() {}\n'
    unit = builder(tmp_path, k=k, a="#define A 1\n").unit()
    assert (unit.text, unit.headers) == (k, {})


def test_names_of_the_library_are_noticed_outside_host_code(tmp_path: Path) -> None:
    head = "#include <algorithm>\n"
    host = f"{head}int main() {{ std::min(1, 2); }}\n__global__ void k() {{}}\n"
    assert not builder(tmp_path, k=host).unit().uses_library
    used = f"{head}__device__ int f() {{ return std::min(1, 2); }}\n"
    assert builder(tmp_path, k='#include "a.h"\n', a=used).unit().uses_library


def test_a_library_that_was_missed_is_there_for_the_next_attempt(tmp_path: Path) -> None:
    text = "#include <algorithm>\nusing namespace std;\n__device__ void f(int* x) { rotate(x, x, x); }\n"
    built = builder(tmp_path, k=text)
    assert not built.unit().uses_library
    assert built.drop({(tmp_path / "k.cu", 3)})
    assert built.unit().uses_library
    assert not built.drop({(tmp_path / "k.cu", 3)})


def test_what_keeps_its_host_code_is_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("int main() {}\n")
    kept = UnitBuilder([tmp_path / "k.cu"], ["int main() {}\n"], (tmp_path,), (), keeps=True)
    assert kept.unit().text == "int main() {}\n"
    assert not kept.drop({(tmp_path / "k.cu", 1)})


def test_only_what_is_no_device_code_can_be_dropped(tmp_path: Path) -> None:
    k = "struct Host { Unknown x; };\n__global__ void k(Host* h) {}\nstruct Both { __device__ void f(); };\n"
    built = builder(tmp_path, k=k)
    assert "struct Host" in built.unit().text
    assert not built.drop({(tmp_path / "k.cu", 2), (tmp_path / "k.cu", 3), (tmp_path / "other.h", 1)})
    assert built.drop({(tmp_path / "k.cu", 1)})
    assert "struct Host" not in built.unit().text
    assert not built.drop({(tmp_path / "k.cu", 1)})


def test_a_file_that_is_reached_by_way_of_another_folder_is_known_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    header = tmp_path / "a.h"
    texts = ['#include "../a.h"\n__global__ void k(Host* h) {}\n', "struct Host { Unknown x; };\n"]
    header.write_text(texts[1])
    built = UnitBuilder([tmp_path / "deep/k.cu", tmp_path / "deep/../a.h"], texts, (tmp_path / "deep",), ())
    assert built.drop({(header, 1)})


def test_words_of_what_a_job_asks_for() -> None:
    assert words(["k<Traits<4>, float>", "x::y"]) == ["k", "Traits", "float", "x", "y"]


def test_headers_of_a_large_library_are_parsed_only_where_the_compiler_refuses_them(tmp_path: Path) -> None:
    many = {f"h{at}": "void host();\n" for at in range(50)}
    built = builder(tmp_path, k="int main() {}\n__global__ void k() {}\n", **many)
    assert built.unit().text.split() == ["__global__", "void", "k()", "{}"]
    assert not built.unit().headers
    assert built.drop({(tmp_path / "h1.h", 1)})
    assert len(built.unit().headers) == 50


@pytest.mark.parametrize(
    ("k", "a", "missing"),
    [
        ('#include "a.h"\n#include "gone.h"\n', "#include <known>\n", "gone.h"),
        ('#include "a.h"\n#include "gone.h"\n', '#pragma once\n#include "k.cu"\n#include <first.h>\n', "first.h"),
        ('#include "a.h"\n', "#ifndef A_H\n#define A_H\n#include <gone.h>\n#endif\n", "gone.h"),
        ('#include "a.h"\n#include "gone.h"\n', "#ifdef A\n#include <first.h>\n#endif\n", ""),
        ('#ifdef A\n#include "a.h"\n#endif\n#include "gone.h"\n', "#include <first.h>\n", ""),
        ('#include "a.h"\n', "#include <known>\n", ""),
    ],
)
def test_the_header_at_which_the_compiler_surely_stops(tmp_path: Path, k: str, a: str, missing: str) -> None:
    assert builder(tmp_path, k=k, a=a).missing_header(lambda name: name != "known") == missing


@pytest.mark.parametrize(
    ("dependent", "is_dropped"),
    [
        ("namespace n { struct Other { Host host; }; }", True),
        ("typedef std::map<int, n::Host> Other;", True),
        ("template <class T> struct Other : n::Host {};", True),
        ("template <class T> struct Other : n::Host {\n  using n::Host::Host;\n};", True),
        ("struct Other { Later later; };\nstruct Later { const n::Host* host; };", True),
        ("struct Other {\n#ifdef A\n  int a;\n#endif\n  n::Host* host;\n};", True),
        ("struct Other { Host host; };", False),
        ("namespace m { struct Other { Host host; }; }", False),
        ("namespace n::m { struct Other { Host host; }; }", True),
        ("template <typename Host> struct Other { n::Host host; };", False),
        ("struct Other {\n#ifdef A\n  Host host;\n#endif\n};", False),
        ("struct Other { int Host; };", False),
        ("struct Other { static constexpr int f(int Host) { return (Host); } };", False),
        ("struct Other { std::Host host; };", False),
        ("namespace n { struct Other { static constexpr int f(int x) { return std::Host(x); } }; }", False),
        ("template <class Host> struct Other { Host host; };", False),
        ("struct Other { struct Host* host; };", False),
        ("struct Host;\nstruct Other { Host* host; };", False),
        ("struct Other { __device__ void f(Host* host); };", False),
    ],
)
def test_what_needs_a_dropped_class_is_dropped_with_it(tmp_path: Path, dependent: str, *, is_dropped: bool) -> None:
    host = "namespace n { struct Host { Unknown x; }; }\n"
    built = builder(tmp_path, k=f"{host}{dependent}\n__global__ void k(Other* o) {{ n::Host* host; }}\n")
    assert built.drop({(tmp_path / "k.cu", 1)})
    text = built.unit().text
    assert ("struct Other" not in text and "Other;" not in text) is is_dropped
    assert "Later" not in text


def test_members_that_need_a_dropped_class_are_dropped_with_it(tmp_path: Path) -> None:
    k = "struct Host { Unknown x; };\nstruct S {\n  S(Host* host) {}\n  S(int* x) {}\n  __device__ int f();\n};\n"
    built = builder(tmp_path, k=f"{k}__global__ void k(S* s, Host* host) {{}}\n")
    assert built.drop({(tmp_path / "k.cu", 1)})
    assert "S(struct gpuregress_host_type_" in built.unit().text.splitlines()[2]
    assert "__host__ __device__ S(int* x)" in built.unit().text


@pytest.mark.parametrize(
    ("header", "is_parsed"),
    [
        ("inline void host() {}\n", True),
        ("#ifndef H_H\n#define H_H\nnamespace n {\nstatic int host() {\n}\n}\n#endif\n", True),
        ("#ifndef __CUDACC_RTC__\ninline void host() {}\n#endif\n", False),
        ("#ifdef HOST\ninline void host() {}\n#endif\n", False),
        ("#define HD __host__ __device__\ninline HD int both() { return 1; }\n", False),
        ("inline ELSEWHERE int both() { return 1; }\n", False),
        ("__device__ inline int f() { return 1; }\ninline constexpr int both() { return 1; }\n", False),
    ],
)
def test_headers_of_a_large_library_are_parsed_at_once_if_one_has_a_function_of_the_host(
    tmp_path: Path, header: str, *, is_parsed: bool
) -> None:
    many = {f"h{at}": "#define H 1\n" for at in range(50)}
    text = '#include "first.h"\n__global__ void k() {}\n'
    for k, expected in ((text, is_parsed), (f"#ifdef A\n{text}#endif\n", False)):
        built = builder(tmp_path, k=k, first='#include "h.h"\n', h=header, **many)
        assert built.is_partial is not expected


def test_a_macro_that_declares_a_class_with_functions_of_the_host_is_expanded_at_once(tmp_path: Path) -> None:
    k = """\
#define NAMED(type, name) \\
  template <> struct type ## _of<type> { \\
    static std::string text() { return name; } \\
    static constexpr int size() { return sizeof(name); } \\
  };
template <class T> struct int_of;
NAMED(int, "int")
__global__ void k(int* x) { x[0] = int_of<int>::size(); }
"""
    text = builder(tmp_path, k=k).unit().text
    assert '__host__ __device__ static constexpr int size() { return sizeof("int"); }' in text
    assert "std::string" not in text.splitlines()[6]
    assert text.splitlines()[7] == k.splitlines()[7]
    without = k.replace("int_of<int>::size()", "0")
    assert not builder(tmp_path, k=without).unit().text.splitlines()[6].strip()


def test_members_of_the_host_are_dropped_before_their_class(tmp_path: Path) -> None:
    k = "struct S {\n  S(Unknown u) { f(u); }\n  __device__ int f();\n};\n__global__ void k(S* s) {}\n"
    built = builder(tmp_path, k=k)
    assert "  __host__ __device__ S(Unknown u) ;" in built.unit().text
    assert built.drop({(tmp_path / "k.cu", 2)})
    assert "S(struct gpuregress_host_type_" in built.unit().text
    assert "Unknown" not in built.unit().text
    assert not built.drop({(tmp_path / "k.cu", 2)})


def test_macros_that_make_functions_of_the_host_too_are_expanded_in_their_lines(tmp_path: Path) -> None:
    define = "#define MAKE(name) __global__ void name##_k() {} void name() { name##_k<<<1, 1>>>(); }"
    again = define.replace("MAKE", "AGAIN")
    two = f"#ifdef A\n{again}\n#else\n#define AGAIN(name)\n#endif\nAGAIN(two)\n"
    k = f"{define}\nMAKE(\n  one)\nstruct Host {{ Unknown x; }};\n{two}"
    built = builder(tmp_path, k=k)
    assert built.drop({(tmp_path / "k.cu", 4)})
    assert built.drop({(tmp_path / "k.cu", line) for line in (2, 4, 10)})
    lines = built.unit().text.split("\n")
    assert lines[0] == define
    assert lines[1].split() == ["__global__", "void", "one_k()", "{}"]
    assert [line.strip() for line in (lines[2], lines[3], lines[9])] == ["", "", "AGAIN(two)"]
    assert not built.drop({(tmp_path / "k.cu", 10)})


def test_strings_and_numbers_of_expanded_macros_are_those_that_the_compiler_would_make(tmp_path: Path) -> None:
    k = """\
#define MAKE(name, f, op) \\
  __device__ float name(float x) { return f(x) * 1.0f + length(#op) + length("f, op"); } \\
  void name##_host() { Unknown y; }
MAKE(one, sinf, x  "\\n")
"""
    built = builder(tmp_path, k=k)
    assert built.drop({(tmp_path / "k.cu", 4)})
    built.drop({(tmp_path / "k.cu", 4)})
    made = r'__device__ float one(float x) { return sinf(x) * 1.0f + length("x \"\\n\"") + length("f, op"); }'
    assert made in built.unit().text


def test_macros_before_what_the_grammar_misreads_are_expanded(tmp_path: Path) -> None:
    k = "#define KIND(n) __device__ static int kind() { return n; } public:\n"
    k += "struct S : Base {\n  KIND(4)\n\n  S()\n  : Base(1) {}\n"
    k += "  __device__ int f();\n};\n__global__ void k(S* s) {}\n"
    built = builder(tmp_path, k=k)
    assert "  S()" in built.unit().text
    assert built.drop({(tmp_path / "k.cu", 5)})
    assert "  __host__ __device__ S()" in built.unit().text


def test_macros_that_make_a_type_and_functions_are_expanded_wherever_they_are_called(tmp_path: Path) -> None:
    k = "#define KIND(E, ...) enum E { __VA_ARGS__ }; inline int named(E e) { return host(#__VA_ARGS__); }\n"
    k += "KIND(First,\n  A, B)\nKIND(Second, C)\n__global__ void k(First a, Second b) {}\n"
    built = builder(tmp_path, k=k)
    assert "KIND(Second, C)" in built.unit().text
    assert built.drop({(tmp_path / "k.cu", 2)})
    stays = " ".join(built.unit().text.partition("\n")[2].split())
    assert stays == "enum First { A, B }; enum Second { C }; __global__ void k(First a, Second b) {}"


def test_the_body_of_a_virtual_function_goes_before_the_function(tmp_path: Path) -> None:
    k = "struct S : I {\n  int size() const override { return host(); }\n  __device__ float f();\n};\n"
    built = builder(tmp_path, k=f"{k}__global__ void k(S* s) {{}}\n")
    place = {(tmp_path / "k.cu", 2)}
    assert built.drop(place)
    assert "  __host__ __device__ int size() const override { __trap(); } " in built.unit().text
    assert built.drop(place)
    assert "size" not in built.unit().text


def test_a_file_included_within_a_declaration_is_left_as_it_is(tmp_path: Path) -> None:
    k = '__global__ void k(int* o)\n{\n#include "a.h"\n}\nint main() {}\n'
    unit = builder(tmp_path, k=k, a='o[0] = 1;\n#include "b.h"\n', b="f(1);\n").unit()
    assert not unit.headers
    assert "main" not in unit.text


def test_what_is_nested_too_deeply_to_be_read_stays_as_it_is(tmp_path: Path) -> None:
    k = "namespace n {" * 1500 + "int h();" + "}" * 1500 + "\n"
    assert builder(tmp_path, k=k).unit().text == k


# --- test_blanking ----------------------------------------------------------------------------------------------------


def blanked(text: str) -> str:
    source = CxxText(text)
    macros = Macros([source.macros])
    views = declarations.views(source, macros)
    (edits,), _ = reachability.select([views], macros, ())
    return unit.replaced(text, unit.replacements(source, views, edits, macros))


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
    assert unit.replaced("abcdefgh", changes) == "      g@h"


@given(st.text(alphabet="voidk(){}<>;,=#if\nelse_g\"'1 ", max_size=80))
def test_blanking_keeps_every_line(text: str) -> None:
    assert blanked(text).count("\n") == text.count("\n")


def test_a_class_whose_base_the_compiler_refuses_is_dropped_with_its_device_code(tmp_path: Path) -> None:
    k = "template <class T>\nstruct S : Gone<T> {\n  __device__ int f();\n};\n__global__ void k(int* x) { x[0] = 1; }\n"
    built = builder(tmp_path, k=k)
    assert not built.drop({(tmp_path / "k.cu", 3)})
    assert built.drop({(tmp_path / "k.cu", 2)})
    assert built.unit().text.split() == ["__global__", "void", "k(int*", "x)", "{", "x[0]", "=", "1;", "}"]
