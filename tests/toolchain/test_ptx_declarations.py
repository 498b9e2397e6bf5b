from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Parameter
from gpuregress.toolchain import ptx_declarations

MODULE = """
.version 8.0
.target sm_90
.address_size 64
// .entry commented(.param .u32 x) { }
.const .align 4 .b8 d_filter[68];
.visible .global .align 4 .u32 counter = 5;
.global .align 1 .b8 $str[7] = {37, 100, 0};
.func (.param .b32 r) helper(.param .b64 a) { .reg .b64 %rd<2>; ret; }
.visible .entry k(
	.param .u64 .ptr .global .align 4 k_param_0,
	.param .u64 k_param_1,
	.param .u64 k_param_2,
	.param .u32 k_param_3,
	.param .f64 k_param_4,
	.param .align 8 .b8 k_param_5[24],
	.param .u8 k_param_6,
	.param .u64 k_param_7,
	.param .b32 k_param_8
)
.maxntid 256, 1, 1
{
	ld.param.u64 %rd1, [k_param_1];
	ld.param.u64 %rd2, [k_param_2];
	ld.param.u64 %rd7, [k_param_7];
	ld.param.u64 %rd5, [k_param_5+8];
	mov.u64 %rd8, %rd7;
	{ .reg .b32 t; }
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd9, %rd8;
	ld.global.u64 %rd4, [%rd3+8];
	ret;
}
.weak .entry none() { ret; }
"""


def test_parameters_get_size_alignment_and_kind() -> None:
    module = ptx_declarations.parse(MODULE)
    assert list(module.entries) == ["k", "none"]
    assert module.entries["k"].parameters == (
        Parameter(8, 8, "pointer"),
        Parameter(8, 8, "pointer"),
        Parameter(8, 8, "word"),
        Parameter(4, 4, "integer"),
        Parameter(8, 8, "float"),
        Parameter(24, 8, "struct"),
        Parameter(1, 1, "integer"),
        Parameter(8, 8, "pointer"),
        Parameter(4, 4, "struct"),
    )
    assert module.entries["none"].parameters == ()


def test_variables_and_target() -> None:
    module = ptx_declarations.parse(MODULE)
    assert module.variables == ("d_filter", "counter")
    assert module.target == "sm_90"


@given(st.text(alphabet='.entrypam ()[]{};,k0123456789%\n"/*', max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    ptx_declarations.parse(text)


def test_constants_that_have_no_first_contents() -> None:
    text = """
.const .align 4 .b8 taps[68];
.visible .const .align 4 .f32 gain;
.const .align 8 .f64 known[2] = {1, 2};
.const .u32 lonely;
.func helper() { .reg .f32 %f; ld.const.f32 %f, [gain]; ret; }
.visible .entry direct(.param .u64 a) { .reg .f32 %f; ld.const.f32 %f, [taps+4]; ld.const.f64 %g, [known]; ret; }
.visible .entry calls(.param .u64 a) { call helper, (); ret; }
.visible .entry none(.param .u64 a) { /* taps */ ret; }
"""
    actual = ptx_declarations.unset_constants(text)
    assert actual == {"direct": ("taps",), "calls": ("gain",), "none": ()}
    assert ptx_declarations.unset_constants(".const .f32 set = 1;") == {}


def test_managed_variables() -> None:
    text = ".global .attribute(.managed) .align 4 .u32 hits;\n.global .align 4 .attribute(.managed) .b8 table[12];\n"
    assert ptx_declarations.parse(text).variables == ("hits", "table")
    assert ptx_declarations.variable_sizes(text) == {"hits": 4, "table": 12}


def test_the_bytes_of_a_modules_variables() -> None:
    assert ptx_declarations.variable_bytes(MODULE) == 68 + 4 + 7
    text = """
.visible .const .align 8 .f64 taps[3][2] = {1, 2};
.global .align 1 .b8 big[5000000000];
.weak .global .align 16 .v4 .f32 corners[2];
.extern .global .align 4 .b32 elsewhere[];
.global .texref image;
.shared .align 4 .b8 tile[64];
.global .align 2 .f16x2 pairs[5], more[2];
.global .align 8 .u64 here = generic(big);
"""
    assert ptx_declarations.variable_bytes(text) == 48 + 5_000_000_000 + 32 + 8 + 4 * (5 + 2) + 8


def test_the_code_that_a_kernel_can_reach() -> None:
    text = """
.func helper() { { ld.const.f32 %f, [gain]; } ret; }
.visible .entry calls(.param .u64 a) .maxntid 32 { call helper, (); /* tex.2d */ }
.visible .entry alone(.param .u64 a)
{ mov.u32 %r, 1; { ret; } }
"""
    assert ptx_declarations.reachable_code(text, "alone").split() == ["mov.u32", "%r,", "1;", "{", "ret;", "}"]
    assert "[gain]" in ptx_declarations.reachable_code(text, "calls")
    assert "tex" not in ptx_declarations.reachable_code(text, "calls")
    assert ptx_declarations.reachable_code(text, "gone") == ""


def test_the_sizes_of_variables() -> None:
    text = (
        ".visible .global .align 4 .u32 counter;\n.global .align 8 .f64 table[4][8] = {1.0};\n"
        ".const .align 16 .v4 .f32 v[2];\n.extern .global .align 4 .b8 unsized[];\n.global .u16 a[2], b;\n"
        ".visible .entry k(\n)\n{\n.shared .align 4 .f32 s[9];\nret;\n}\n"
    )
    assert ptx_declarations.variable_sizes(text) == {"counter": 4, "table": 256, "v": 32, "a": 4, "b": 2}
