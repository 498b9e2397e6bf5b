from __future__ import annotations

from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Float, Integer, MaskedSymbol, Symbol
from tests.virtual_gpu.ptx.printing import HEAD


def test_variables_of_every_form() -> None:
    module = parse(
        HEAD
        + """
    .const .align 4 .b8 taps[8] = {0, 0, 128, 63};
    .visible .global .align 8 .u64 where = generic(table)+4;
    .global .align 8 .u64 both[2] = {f, table};
    .global .align 1 .b8 bytes[2] = {0xFF(table), 0xFF00(table+4)};
    .global .f32 half = 0f3F000000;
    .global .s32 grid[2][3] = {{1, 2, 3}, {-4, 5, 6}};
    .extern .shared .align 16 .b8 tail[];
    .weak .global .v4 .f32 four;
    .global .attribute(.managed) .align 4 .u32 managed;
    .shared .b32 a, b[3];
    """,
    )
    actual = {item.name: item for item in module.variables}
    assert (actual["taps"].count, actual["taps"].initializer[2], actual["taps"].space) == (8, Integer(128), "const")
    assert (actual["where"].initializer, actual["where"].linkage) == ((Symbol("table", 4),), "visible")
    assert actual["both"].initializer == (Symbol("f"), Symbol("table"))
    assert actual["bytes"].initializer == (
        MaskedSymbol(Symbol("table"), 0xFF),
        MaskedSymbol(Symbol("table", 4), 0xFF00),
    )
    assert actual["half"].initializer == (Float(0x3F000000, 32),)
    assert (actual["grid"].count, actual["grid"].initializer[3]) == (6, Integer(-4))
    assert (actual["tail"].count, actual["tail"].alignment) == (None, 16)
    assert (actual["four"].count, actual["four"].alignment) == (4, 16)
    assert actual["managed"].type == "u32"
    assert (actual["a"].count, actual["b"].count) == (1, 3)


def test_an_alignment_behind_ptr_is_that_of_what_the_pointer_points_to() -> None:
    parameters = ".param .u32 n, .param .u64 .ptr .global .align 1 a, .param .u64 .ptr .align 32 b, .param .u64 .ptr c"
    (kernel,) = parse(f"{HEAD}\n.visible .entry k({parameters}) {{ ret; }}").functions
    assert [(item.name, item.alignment, item.pointer) for item in kernel.parameters] == [
        ("n", 4, None),
        ("a", 8, "global"),
        ("b", 8, "generic"),
        ("c", 8, "generic"),
    ]
