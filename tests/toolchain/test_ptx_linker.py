"""PTX modules that are linked: one module, whatever they share."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.toolchain import ptx_linker

HEAD = ".version 8.{}\n.target sm_{}\n.address_size 64\n"
OWN = (
    HEAD.format(0, 90)
    + """.file 1 "kernel.py"
.extern .func (.param .b32 result) half(.param .b32 x);
.extern .global .align 4 .b8 table[16];
.visible .entry kernel() {
.loc 1 7 5
.shared .align 4 .b8 tile[16];
call (result), half, (x); mov.u64 %rd1, table; ret; }
"""
)
OTHER = (
    HEAD.format(4, 50)
    + """.file 1 "half.cu"
.file 2 "inlined.h"
.visible .global .align 4 .b8 table[16];
.visible .func (.param .b32 result) half(.param .b32 x)
{
.loc 2 3 9, function_name $L__info_string0, inlined_at 1 12 3
.shared .align 4 .b8 tile[16];
ret; }
"""
)


def test_the_newest_version_and_the_first_modules_target_stay() -> None:
    text = ptx_linker.linked(OWN, [OTHER])
    assert text.startswith(".version 8.4\n.target sm_90\n.address_size 64\n")
    assert (text.count(".version"), text.count(".target"), text.count(".address_size")) == (1, 1, 1)


def test_a_definition_takes_the_place_of_declarations() -> None:
    text = ptx_linker.linked(OWN, [OTHER])
    assert ".extern" not in text
    prototype = ".visible .func (.param .b32 result) half(.param .b32 x);"
    assert text.index(prototype) < text.index(".visible .global .align 4 .b8 table[16];") < text.index(".entry kernel")


def test_a_weak_function_that_is_kept_is_declared_before_the_modules_that_call_it() -> None:
    weak = ".weak .func twice() { ret; }\n"
    text = ptx_linker.linked(OWN + weak, [OTHER + weak + ".visible .func caller() { call twice; ret; }\n"])
    assert text.count(".weak .func twice() {") == 1
    assert text.index(".weak .func twice();") < text.index("call twice;") < text.index(".weak .func twice() {")


def test_lines_keep_their_files_and_the_calls_that_they_are_inlined_into() -> None:
    text = ptx_linker.linked(OWN, [OTHER])
    for expected in (
        '.file 1 "kernel.py"',
        '.file 2 "half.cu"',
        '.file 3 "inlined.h"',
        ".loc 1 7 5",
        ".loc 3 3 9, function_name $L__info_string0, inlined_at 2 12 3",
    ):
        assert expected in text


def test_variables_of_functions_may_have_one_name() -> None:
    assert ptx_linker.linked(OWN, [OTHER]).count(".b8 tile[16]") == 2


@pytest.mark.parametrize("name", ["half", "table"])
def test_two_definitions_of_one_name_are_refused(name: str) -> None:
    keeps = ".visible .func" if name == "half" else ".visible .global"
    again = HEAD.format(0, 90) + "".join(line for line in OTHER.splitlines(keepends=True) if keeps in line) + "{ ret; }"
    with pytest.raises(CompileError, match=f"{name} is defined in two of the PTX modules that are linked"):
        ptx_linker.linked(OWN, [OTHER, again])


def test_a_module_alone_stays_as_it_is() -> None:
    assert ptx_linker.linked(OWN, []) == OWN
