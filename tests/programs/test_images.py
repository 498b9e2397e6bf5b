"""Images that the driver's linker has put together."""

from __future__ import annotations

import struct

import pytest

from gpuregress.programs import images
from tests.programs.suites import fat_binary

_HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def _linked(*parts: bytes) -> bytes:
    body = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    return struct.pack("<4sHHQ", b"GLNK", 1, 16, len(body)) + body


def test_parts_become_one_module() -> None:
    first = (_HEAD + '.extern .func helper;\n.file 1 "a.cu"\n').encode()
    second = (_HEAD + '.visible .func helper { ret; }\n.file 1 "b.cu"\n').encode()
    text = images.ptx_of(_linked(fat_binary(first), second))
    assert text.count(".version") == 1
    assert '.file 2 "b.cu"' in text
    assert "{ ret; }" in text


def test_parts_of_machine_code_are_left_out() -> None:
    cubin = b"\x7fELF" + bytes(60)
    text = images.ptx_of(_linked(cubin, fat_binary(_HEAD.encode())))
    assert text.count(".version") == 1
    with pytest.raises(images.NoPtx, match="nvcc -gencode arch=compute_90"):
        images.ptx_of(_linked(cubin))


def test_names_of_one_module_are_kept_apart() -> None:
    first = (
        _HEAD
        + """
.global .align 1 .b8 $str[2] = {97, 0};
.global .u64 table[2] = {$str, both}, both = 4;
.visible .func (.param .b32 result) helper(.param .b64 .ptr .global text) { st.param.b32 [result], count; ret; }
.func twice(.param .b32 add) { ld.param.u32 %r1, [add+4]; add.s32 %r1, %r1, 2; mov.u64 %rd1, $str; ret; }
.visible .entry first() { call twice; ret; }
"""
    )
    second = (
        _HEAD
        + """
.file 1 "twice both.cu"
.global .align 1 .b8 $str[2] = {98, 0}, both;
.weak .func count() { ret; }
.extern .func (.param .b32 result) helper(.param .b64 .ptr .global text);
.func twice() { mov.u64 %rd1, $str; mov.u64 %rd2, $str$1+4; ret; }
.visible .entry second() { call twice; call helper; ret; }
"""
    )
    text = images.ptx_of(_linked(first.encode(), second.encode()))
    for expected in (
        ".b8 $str[2] = {97, 0}",
        ".u64 table[2] = {$str, both}, both = 4;",
        "mov.u64 %rd1, $str; ret; }",
        ".b8 $str$module1[2] = {98, 0}, both$module1;",
        ".func twice$module1() { mov.u64 %rd1, $str$module1; mov.u64 %rd2, $str$1+4; ret; }",
        ".visible .entry second() { call twice$module1; call helper; ret; }",
        '"twice both.cu"',
    ):
        assert expected in text


def test_weak_definitions_are_kept_once() -> None:
    weak = """
.weak .func twice(.param .b64 x); // declared; {
.weak .func twice(.param .b64 x)
{ { add.s32 %r1, %r1, FIRST; } // }
ret; }
.weak .global .align 4 .b8 table[2] = {FIRST, 5};
.visible .entry NAME() { call twice; ret; }
"""
    first = _HEAD + weak.replace("FIRST", "1").replace("NAME", "a") + ".weak .func strong() { trap; }"
    second = _HEAD + weak.replace("FIRST", "2").replace("NAME", "b") + ".visible .func strong() { ret; }"
    text = images.ptx_of(_linked(first.encode(), second.encode()))
    assert "%r1, 1;" in text
    assert "{1, 5}" in text
    for absent in ("%r1, 2;", "{2, 5}", "trap"):
        assert absent not in text
    assert text.count(".entry") == 2
