from __future__ import annotations

import pytest

from gpuregress.foundation.records import MemberLayout, TypeLayout
from gpuregress.toolchain import layouts
from gpuregress.toolchain.layouts import DataMember


def test_the_question_has_a_row_for_each_type_and_member() -> None:
    asked = layouts.question({"P": (DataMember("a", "int"), DataMember("b.c", "float")), "Q": ()})
    rows = [line for line in asked.splitlines() if "::code, " in line]
    assert [row.rsplit(", ", 2)[1:] for row in rows if "(" not in row] == [["0", "2,"], ["0", "0,"]]
    assert "__builtin_offsetof(P, b.c)" in asked


def test_the_answer_is_read_from_the_table_of_the_compiled_code() -> None:
    table = "7, 12, 0, 2, 2, 4, 0, 1, 4, 4, 4, 2, 7, 48, 0"  # the last zero is left out
    types = {"P": (DataMember("a", "int"), DataMember("v", "float")), "curandState": ()}
    found = layouts.answer(f".global .align 4 .u32 gpuregress_layouts[16] = {{{table}}};", types)
    assert found == {
        "P": TypeLayout(
            "class", 12, (MemberLayout("a", "int", "int", 0, 4, 1), MemberLayout("v", "float", "float", 4, 4, 2))
        ),
        "curandState": TypeLayout("class", 48),
    }
    assert layouts.answer("", types) == {}


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        (TypeLayout("uint", 2), "uint16"),
        (TypeLayout("enum", 4), "int32"),
        (
            TypeLayout(
                "class", 12, (MemberLayout("a", "int", "int", 0, 4, 1), MemberLayout("v", "f", "float", 4, 4, 2))
            ),
            "{a:int32,v_0:float32,v_1:float32}",
        ),
        (
            TypeLayout(
                "class", 8, (MemberLayout("p.x", "half", "class", 0, 2, 1), MemberLayout("n", "int", "int", 4, 4, 1))
            ),
            "{p_x:float16,n:int32}",
        ),
        (
            TypeLayout("class", 16, (MemberLayout("a", "int", "int", 0, 4, 1),)),
            None,
        ),  # alignas, or a member that was missed
        (
            TypeLayout(
                "class", 8, (MemberLayout("b", "int", "int", 4, 4, 1), MemberLayout("a", "int", "int", 0, 4, 1))
            ),
            "{b:int32,a:int32}",
        ),
        (
            TypeLayout(
                "class", 12, (MemberLayout("a", "char", "int", 0, 1, 1), MemberLayout("b", "int", "int", 8, 4, 1))
            ),
            None,
        ),
        (TypeLayout("class", 8, (MemberLayout("p", "int*", "pointer", 0, 8, 1),)), None),
        (TypeLayout("class", 48), None),
        (TypeLayout("void", 0), None),
    ],
)
def test_the_dtype_of_a_layout(layout: TypeLayout, dtype: str | None) -> None:
    assert layouts.dtype(layout) == dtype
