"""Text of PTX: instructions, code without line information, kernels that do nothing."""

from __future__ import annotations

from gpuregress.lab.mutating.ptx_text import PtxText, code_of, idle

TEXT = """\
.visible .entry k(
	.param .u64 k_param_0
)
{
	.reg .b32 %r<3>;
	.loc	1 7 5
$L__tmp0:
	ld.param.u64 %rd1, [k_param_0]; // one
	{ .reg .b32 %t; mov.b32 %t, {%rs1, %rs2}; }
	@!%p1 bra.uni $L__BB0_1;
$L__BB0_1:
	ret;
}
	.file	1 "k.cu"
	.section	.debug_line	{ .b8 1; }
"""


def test_instructions_with_their_operands() -> None:
    found = list(PtxText(TEXT).instructions(["k"]))
    assert [(one.guard, one.opcode, [operand.text for operand in one.operands]) for one in found] == [
        ("", "ld.param.u64", ["%rd1", "[k_param_0]"]),
        ("", "mov.b32", ["%t", "{%rs1, %rs2}"]),
        ("!%p1", "bra.uni", ["$L__BB0_1"]),
        ("", "ret", []),
    ]
    assert all(TEXT[one.start : one.end].endswith(";") for one in found)
    assert list(PtxText(TEXT).instructions(["other"])) == []


def test_line_information_is_no_code() -> None:
    moved = TEXT.replace("1 7 5", "1 9 2").replace("__tmp0", "__tmp4").replace("// one", "// two")
    assert code_of(moved) == code_of(TEXT)
    assert "debug" not in code_of(TEXT)
    assert code_of(TEXT.replace("%rs1", "%rs3")) != code_of(TEXT)


def test_an_idle_kernel_returns_at_once() -> None:
    assert "ret;\n\tld.param.u64" in idle(TEXT, ["k"])
    assert idle(TEXT, ["other"]) == TEXT


def test_shared_arrays_of_the_launched_kernels() -> None:
    text = """\
.shared .b8 all[64];
.shared .b8 unused[64];
.entry k() { .shared .b8 own[8]; mov.u32 %r1, all; mov.u32 %r1, own; }
.entry other() { .shared .b8 own[4]; mov.u32 %r1, own; mov.u32 %r1, unused; }
"""
    assert [(one["name"], one["size"]) for one in PtxText(text).shared_arrays(["k"])] == [("all", "64"), ("own", "8")]
