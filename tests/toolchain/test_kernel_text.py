from __future__ import annotations

from gpuregress.toolchain import kernel_text

HEAD = ".version 8.7\n.target sm_90\n.address_size 64\n"
VARIABLE = ".const .align 4 .b8 taps[100];\n"
FUNCTION = ".func (.param .b32 r) helper(.param .b32 a)\n{\n\tret;\n}\n"


def kernel(name: str, body: str) -> str:
    return f".visible .entry {name}(\n\t.param .u64 {name}_param_0\n)\n.maxntid 32\n{{\n\t{body}\n}}\n"


MODULE = HEAD + VARIABLE + kernel("one", "{ add.u32 %r1, %r1, 1; }\n\tret; // {") + FUNCTION + kernel("two", "ret;")


def test_other_kernels_are_left_out() -> None:
    text = kernel_text.of_kernels(MODULE, {"two"})
    assert "one" not in text
    for part in (HEAD, VARIABLE, FUNCTION, kernel("two", "ret;")):
        assert part in text
    changed = MODULE.replace("%r1, 1;", "%r1, 2;")
    assert kernel_text.of_kernels(changed, {"two"}) == text
    assert kernel_text.of_kernels(changed, {"one"}) != kernel_text.of_kernels(MODULE, {"one"})


def test_what_kernels_may_use_stays() -> None:
    before = kernel_text.of_kernels(MODULE, {"two"})
    for old, new in ((VARIABLE, VARIABLE.replace("100", "36")), (FUNCTION, FUNCTION.replace("ret", "trap"))):
        assert kernel_text.of_kernels(MODULE.replace(old, new), {"two"}) != before


def test_all_kernels_stay_where_all_are_launched() -> None:
    assert kernel_text.of_kernels(MODULE, {"one", "two"}) == MODULE.replace("// {", "")


def test_a_module_that_is_cut_short_ends_there() -> None:
    assert kernel_text.of_kernels(HEAD + ".visible .entry one(\n{ {", {"two"}) == HEAD
