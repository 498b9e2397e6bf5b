from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros, has_annotation, without_strings, words_of

BRANCHES = """\
#ifdef A
int first; // a comment
#elif B
int second;
#else
int third; /* two
lines */
#endif
#if 0
int never;
#endif
int always;
"""


def test_each_view_takes_one_branch() -> None:
    shown = [view.split() for view in CxxText(BRANCHES).views()]
    assert shown == [
        ["int", "first;", "int", "always;"],
        ["int", "second;", "int", "always;"],
        ["int", "third;", "int", "always;"],
    ]


def test_what_nvrtc_never_compiles_is_in_no_view() -> None:
    text = "#ifndef __CUDACC_RTC__\nint host;\n#endif\n#ifdef __CUDACC_RTC__\nint device;\n#else\nint other;\n#endif\n"
    assert [view.split() for view in CxxText(text).views()] == [["int", "device;"]]


def test_each_branch_of_nested_conditions_is_in_a_view() -> None:
    text = (
        "#if A\nint a;\n#else\n#ifdef B\nint b;\n#else\nint c;\n#endif\n#endif\n#if D\nint d;\n#else\nint e;\n#endif\n"
    )
    shown = [re.sub(r"\bint\b|[;\s]", "", view) for view in CxxText(text).views()]
    assert shown == ["ad", "be", "ce"]


def test_nested_conditions_go_with_the_branch_around_them() -> None:
    text = "#if A\n#if B\nint a;\n#else\nint b;\n#endif\n#else\nint c;\n#endif\n"
    assert [view.split() for view in CxxText(text).views()] == [["int", "a;"], ["int", "b;"], ["int", "c;"]]


@given(st.text(alphabet="#ifelsndABC/*\"'R()\\\n 01x"))
def test_views_keep_every_offset(text: str) -> None:
    source = CxxText(text)
    for view in source.views():
        assert [len(line) for line in view.split("\n")] == [len(line) for line in text.split("\n")]
        assert all(shown in (char, " ") for shown, char in zip(view, text, strict=True))
        assert len(without_strings(view)) == len(text)


def test_a_comment_in_a_string_and_a_quote_in_a_comment() -> None:
    text = 'char a[] = "// no comment"; // don\'t\nint n = 1\'000; auto r = R"x("/* )x"; int end;\n'
    (view,) = CxxText(text).views()
    assert "// no comment" in view
    assert "don" not in view
    assert view.rstrip().endswith("int end;")


def test_lines_of_windows_are_lines() -> None:
    source = CxxText("#define A \\\r\n 1\r\nint a;\r\n")
    assert source.macros["A"][0].body.split() == ["\\", "1"]
    assert source.views()[0].split() == ["int", "a;"]


MACROS = """\
#define FN __device__ __forceinline__
#define HD [[nodiscard]] FN
#define BOUNDS(n) __launch_bounds__(n)
#define OPEN namespace a {
#define CLOSE }
#define KERNEL(name) __global__ void name(float* x)
#define USES KERNEL(b)
#define N 16
"""


def test_macros_are_known_by_what_they_expand_to() -> None:
    macros = Macros([CxxText(MACROS).macros])
    assert macros.annotations == {"FN", "HD", "KERNEL", "USES"}
    assert macros.without_specifiers("HD float f(); BOUNDS(256) int N;").split() == ["float", "f();", "int", "N;"]
    assert macros.without_brackets("OPEN int a; CLOSE").split() == ["int", "a;"]


def test_attributes_with_brackets_are_no_part_of_a_declaration() -> None:
    plain = Macros([]).without_specifiers("struct __align__(sizeof(int) * (2 + 1)) S {};")
    assert plain.split() == ["struct", "S", "{};"]


def test_host_alone_is_no_annotation_of_device_code() -> None:
    assert not has_annotation("__host__ int f()", frozenset())
    assert has_annotation("__host__ __device__ int f()", frozenset())
    assert has_annotation("HD int f()", frozenset({"HD"}))


def test_a_raw_string_has_no_directives() -> None:
    text = CxxText('#define N 1\nconst char* s = R"x(\n#define N 2\n#if 0\n)x";\n')
    assert [one.rest for one in text.directives] == [" N 1"]
    assert not text.conditionals


@given(
    st.lists(st.sampled_from(["alignas", "align", "__a", "__ab", "_a", "x.y"]), min_size=1, unique=True),
    st.text("_alignbsx.y ", max_size=30),
)
def test_a_pattern_of_words_finds_what_the_plain_one_finds(names: list[str], text: str) -> None:
    for end in ("", r"\b"):
        plain = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))}){end}")
        found = [match.span() for match in re.finditer(words_of(names) + end, text)]
        assert found == [match.span() for match in plain.finditer(text)]
