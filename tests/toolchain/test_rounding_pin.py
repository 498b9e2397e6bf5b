from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain.rounding_pin import pin

OPCODES = st.sampled_from(["add", "sub", "mul"])
TYPES = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("add.f32 %f1, %f2, %f3;", "add.rn.f32 %f1, %f2, %f3;"),
        ("\t@%p1 sub.f64 %fd1, %fd2, %fd3;", "\t@%p1 sub.rn.f64 %fd1, %fd2, %fd3;"),
        ("@!%p1 mul.ftz.sat.f32 %f1, %f2, %f3;", "@!%p1 mul.rn.ftz.sat.f32 %f1, %f2, %f3;"),
        ("{mul.f16 %rs3,%rs1,%rs2;\n}", "{mul.rn.f16 %rs3,%rs1,%rs2;\n}"),
        ("$L1: add.f32x2 %rd1, %rd2, %rd3;", "$L1: add.rn.f32x2 %rd1, %rd2, %rd3;"),
        ("add.f32.bf16 %f1, %rs1, %f3;", "add.rn.f32.bf16 %f1, %rs1, %f3;"),
    ],
)
def test_each_form_gets_rn(before: str, after: str) -> None:
    assert pin(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "add.rn.f32 %f1, %f2, %f3;",
        "add.rz.ftz.f32 %f1, %f2, %f3;",
        "mul.rm.f64 %fd1, %fd2, %fd3;",
        "fma.rn.f32 %f1, %f2, %f3, %f4;",
        "add.s32 %r1, %r2, %r3;",
        "mul.wide.s32 %rd1, %r1, 4;",
        "mul.lo.u32 %r1, %r2, %r3;",
        "atom.global.add.f32 %f1, [%rd1], %f2;",
        "red.global.add.f32 [%rd1], %f2;",
        "// add.f32 %f1, %f2, %f3;",
        "/* add.f32\n mul.f64 */",
        '.pragma "add.f32";',
        ".reg .f32 %add.f32;",
        "vadd.f32 x;",
        "add.f321 x;",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert pin(text) == text


def test_a_comment_in_between_hides_nothing_behind_it() -> None:
    assert (
        pin("// a\nadd.f32 a, b, c; /* x */ mul.f32 a, b, c;")
        == "// a\nadd.rn.f32 a, b, c; /* x */ mul.rn.f32 a, b, c;"
    )


LINES = st.one_of(
    st.builds(
        lambda o, f, t: f"{o}{f}.{t} %a, %b, %c;",
        OPCODES,
        st.sampled_from(["", ".ftz", ".sat"]),
        st.sampled_from(TYPES),
    ),
    st.builds(
        lambda o, r, t: f"{o}.{r}.{t} %a, %b, %c;", OPCODES, st.sampled_from(["rn", "rz"]), st.sampled_from(TYPES)
    ),
    st.sampled_from(["mov.f32 %a, 0f3F800000;", "// add.f32", '.file 1 "mul.f32"', "add.s64 %a, %b, %c;", "ret;"]),
)


@given(st.lists(LINES, max_size=20))
def test_pinning_twice_is_pinning_once_and_only_adds_rn(lines: list[str]) -> None:
    text = "\n".join(lines)
    pinned = pin(text)
    assert pin(pinned) == pinned
    assert pinned.replace(".rn", "") == text.replace(".rn", "")
    code = [line for line in pinned.splitlines() if not line.startswith(("//", ".file"))]
    assert not any(re.match(r"(add|sub|mul)(\.ftz|\.sat)*\.b?f\d", line) for line in code)


@given(st.text(alphabet='ad.f32mul \n/*"\\;', max_size=60))
def test_no_text_breaks_it_and_lines_stay(text: str) -> None:
    assert pin(text).count("\n") == text.count("\n")
