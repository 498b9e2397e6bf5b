from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.parser import abridge, parse
from gpuregress.virtual_gpu.ptx.tree import Instruction

TEXT = """//
.version 8.0
.target sm_90 // { an open brace, as a comment; .entry too
.address_size 64
.file 1 "{odd.cu"
.global .align 8 .u64 table[2] = {pointed, 0};
.shared .align 4 .b8 outer[64];
.func (.param .b32 r) called (.param .b32 x)
;
.visible .entry first (
    .param .u64 p /* } */
)
.maxntid 32, 1, 1
{
    .reg .b32 %r<3>;
    { .reg .b32 %inner; }
    call.uni (%r1), called, (%r2);
    ret;
}
.visible .entry second()
{
    .shared .align 4 .b8 tile[100];
    .reg .b32 %r<3>;
    mov.u32 %r1, other;
}
.func (.param .b32 r) called (.param .b32 x)
{
    call.uni deep, ();
    ret;
}
.func deep() { ret; }
.func other() { ret; }
.func .noreturn pointed()
{
    ret;
}
.section .debug_str { .b8 1 }
"""


def names(kernels: tuple[str, ...]) -> set[str]:
    return {item.name for item in parse(TEXT, kernels).functions if item.body}


@pytest.mark.parametrize(
    ("kernels", "kept"),
    [
        (("first",), {"first", "called", "deep", "pointed"}),
        (("second",), {"second", "other", "pointed"}),
        (("first", "second"), {"first", "second", "called", "deep", "other", "pointed"}),
        ((), {"first", "second", "called", "deep", "other", "pointed"}),
        (("absent",), {"pointed"}),
    ],
)
def test_only_functions_that_the_kernels_reach_are_parsed(kernels: tuple[str, ...], kept: set[str]) -> None:
    assert names(kernels) == kept


def test_lines_stay_the_same_and_shared_variables_are_kept() -> None:
    whole = {item.name: item for item in parse(TEXT).functions}
    part = {item.name: item for item in parse(TEXT, ("first",)).functions}
    assert whole.keys() == part.keys()
    for name, function in part.items():
        assert function.ptx_line == whole[name].ptx_line
        assert function.is_skipped == (name in {"second", "other"})
        lines = [item.ptx_line for item in function.body or () if isinstance(item, Instruction)]
        assert function.is_skipped or lines == [
            item.ptx_line for item in whole[name].body or () if isinstance(item, Instruction)
        ]
    assert [item.name for item in part["second"].variables] == ["tile"]
    assert abridge(TEXT, ("first",)).text.count("\n") == TEXT.count("\n")


def test_a_text_with_aliases_stays_whole() -> None:
    text = TEXT + ".alias another, deep;\n"
    assert abridge(text, ("second",)).text == text
