from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress import toolchain
from gpuregress.devices.cpu.ptx.lexer import PtxError, tokens
from gpuregress.devices.cpu.ptx.parser import parse
from gpuregress.devices.cpu.ptx.tree import (
    Address,
    Call,
    Float,
    Function,
    Guard,
    Instruction,
    Integer,
    Label,
    MaskedSymbol,
    Negated,
    Pair,
    Register,
    Selected,
    Sink,
    SourceLine,
    Symbol,
    Vector,
)
from gpuregress.records import Source
from tests.devices.cpu.ptx.printing import function_text

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def _function(body: str, declarations: str = "") -> Function:
    text = f"{HEAD}{declarations}\n.visible .entry k(.param .u64 k_param_0)\n{{\n{body}\n}}\n"
    return parse(text).functions[-1]


def _only(body: str) -> Instruction:
    statements = _function(body).body
    assert statements is not None
    statement = statements[-1]
    assert isinstance(statement, Instruction)
    return statement


R1, R2 = Register("%r1"), Register("%r2")


_SELECTED = Selected(Register("%r2"), "b0")


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("mov.u32 %r1, 0x1F;", (R1, Integer(31))),
        ("mov.u32 %r1, -7;", (R1, Integer(-7))),
        ("mov.u32 %r1, 017U;", (R1, Integer(15))),
        ("mov.u32 %r1, 0b101;", (R1, Integer(5))),
        ("mov.u32 %r1, WARP_SZ;", (R1, Integer(32))),
        ("mov.f32 %f1, 0f3F800000;", (Register("%f1"), Float(0x3F800000, 32))),
        ("mov.f64 %f1, 0dBFF0000000000000;", (Register("%f1"), Float(0xBFF0000000000000, 64))),
        ("mov.f64 %f1, 1.5;", (Register("%f1"), Float(0x3FF8000000000000, 64))),
        ("mov.f64 %f1, -1.5e0;", (Register("%f1"), Float(0xBFF8000000000000, 64))),
        ("mov.u32 %r1, %tid.x;", (R1, Register("%tid.x"))),
        ("mov.b64 {%r1, %r2}, %rd1;", (Vector((R1, R2)), Register("%rd1"))),
        ("ld.global.v2.f32 {%r1, _}, [%rd1+-4];", (Vector((R1, Sink())), Address(Register("%rd1"), -4))),
        ("st.shared.u32 [tile+8], %r1;", (Address(Symbol("tile"), 8), R1)),
        ("ld.global.u32 %r1, [1024];", (R1, Address(Integer(1024)))),
        ("setp.lt.s32 %p1|%p2, %r1, 5;", (Pair(Register("%p1"), Register("%p2")), R1, Integer(5))),
        ("vmax.s32.s32.s32 %r1, %r2.b0, %r3.h1;", (Register("%r1"), _SELECTED, Selected(Register("%r3"), "h1"))),
        ("and.pred %p1, %p2, !%p3;", (Register("%p1"), Register("%p2"), Negated(Register("%p3")))),
        ("mov.u64 %rd1, table+16;", (Register("%rd1"), Symbol("table", 16))),
    ],
)
def test_operands(text: str, operands: tuple[object, ...]) -> None:
    assert _only(text).operands == operands


def test_opcodes_modifiers_and_guards() -> None:
    found = _only("@!%p1 ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%a, %b, %c, %d}, [%rd1];")
    assert found.opcode == "ld"
    assert found.modifiers == ("global", "nc", "L1::no_allocate", "L2::128B", "v4", "f32")
    assert found.guard == Guard("%p1", negated=True)
    assert found.mnemonic == "ld.global.nc.L1::no_allocate.L2::128B.v4.f32"


def test_scopes_rename_what_hides_a_name() -> None:
    body = """
    .reg .b32 x;
    mov.u32 x, 1;
    { .reg .b32 x; .param .b32 p; AGAIN: mov.u32 x, 2; bra AGAIN; }
    { .param .b32 p; AGAIN: st.param.b32 [p+0], x; bra AGAIN; }
    """
    function = _function(body)
    assert [item.name for item in function.registers] == ["x", "x@2"]
    assert [item.name for item in function.variables] == ["p", "p@2"]
    assert function.body is not None
    labels = [item.name for item in function.body if isinstance(item, Label)]
    targets = [item.operands[0] for item in function.body if isinstance(item, Instruction) and item.opcode == "bra"]
    assert targets == [Symbol(name) for name in labels]
    assert labels == ["AGAIN", "AGAIN@2"]
    stored = function.body[5]
    assert isinstance(stored, Instruction)
    assert stored.operands == (Address(Symbol("p@2")), Register("x"))


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
    found = {item.name: item for item in module.variables}
    assert (found["taps"].count, found["taps"].initializer[2], found["taps"].space) == (8, Integer(128), "const")
    assert (found["where"].initializer, found["where"].linkage) == ((Symbol("table", 4),), "visible")
    assert found["both"].initializer == (Symbol("f"), Symbol("table"))
    assert found["bytes"].initializer == (
        MaskedSymbol(Symbol("table"), 0xFF),
        MaskedSymbol(Symbol("table", 4), 0xFF00),
    )
    assert found["half"].initializer == (Float(0x3F000000, 32),)
    assert (found["grid"].count, found["grid"].initializer[3]) == (6, Integer(-4))
    assert (found["tail"].count, found["tail"].alignment) == (None, 16)
    assert (found["four"].count, found["four"].alignment) == (4, 16)
    assert found["managed"].type == "u32"
    assert (found["a"].count, found["b"].count) == (1, 3)


def test_functions_calls_and_prototypes() -> None:
    module = parse(
        HEAD
        + """
    .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;
    .weak .func (.param .align 8 .b8 r[16]) twice(.param .b32 p) .noreturn { ret; }
    .visible .entry k(.param .u64 .ptr .global .align 16 q, .param .align 8 .b8 s[24])
    .maxntid 256, 1, 1
    .minnctapersm 2
    {
      .reg .b64 %rd<3>;
      { .param .b32 p; .param .b64 r;
        proto : .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);
        call (r), %rd1, (p, p), proto;
        call.uni twice, (p);
        @%p1 call done;
      }
      targets: .branchtargets A, B;
      brx.idx %r1, targets;
      A: B: ret;
    }
    .file 1 "x.cu"
    """,
    )
    twice, kernel = module.functions[1:]
    assert (twice.results[0].count, twice.linkage, twice.directives) == (16, "weak", {"noreturn": ()})
    assert kernel.directives == {"maxntid": (256, 1, 1), "minnctapersm": (2,)}
    assert (kernel.parameters[0].pointer, kernel.parameters[1].count) == ("global", 24)
    assert kernel.branch_targets == {"targets": ("A", "B")}
    assert kernel.body is not None
    calls = [item for item in kernel.body if isinstance(item, Call)]
    assert [call.callee for call in calls] == [Register("%rd1"), Symbol("twice"), Symbol("done")]
    assert calls[0].prototype == "proto"
    assert calls[2].guard == Guard("%p1", negated=False)
    assert len(kernel.prototypes[0].parameters) == 2


def test_lines_name_the_outermost_frame() -> None:
    text = (
        HEAD
        + """
    .visible .entry k() {
      .loc 1 10 3
      mov.u32 %r1, 1;
      .loc 2 5 1, function_name $L__info_string0, inlined_at 1 10 3
      mov.u32 %r1, 2;
      .loc 2 7 1, function_name $L__info_string1+3, inlined_at 2 5 1
      mov.u32 %r1, 3;
      .loc 1 0 3
      mov.u32 %r1, 4;
    }
    .file 1 "/home/me/saxpy.cu"
    .file 2 "/usr/include/header.h"
    .section .debug_str { $L__info_string0: .b8 95, 90 }
    """
    )
    body = parse(text).functions[0].body
    assert body is not None
    lines = [item.source for item in body if isinstance(item, Instruction)]
    assert lines == [SourceLine("saxpy.cu", 10)] * 4
    assert str(lines[0]) == "saxpy.cu:10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".entry k() { mov.u32 %r1, ; }", "PTX line 1: ';' starts no operand"),
        (".entry k() {\n\n mov.u32 %r1 %r2; }", "PTX line 3: expected ';'"),
        (".entry k() { ld.u32 %r1, [{]; }", "is no address"),
        (".global .x99 y;", "is no type"),
        ("§", "'§' starts no token"),
        (".entry k() { ", "ends in the middle"),
        ("\n.nonsense", "PTX line 2: '.nonsense' starts no declaration"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(PtxError, match=message.replace("(", r"\(")):
        parse(text)


# --- round trips ------------------------------------------------------------------------------------------------------

_registers = st.integers(0, 30).map(lambda number: Register(f"%r{number}"))
_names = st.from_regex(r"[a-zA-Z_$][a-zA-Z0-9_$]{1,8}", fullmatch=True).filter(lambda name: name != "WARP_SZ")
_symbols = st.builds(Symbol, _names, st.integers(-999, 999))
_integers = st.integers(-(2**63), 2**64 - 1).map(Integer)
_floats = st.one_of(
    st.builds(Float, st.integers(0, 2**32 - 1), st.just(32)), st.builds(Float, st.integers(0, 2**64 - 1), st.just(64))
)
_plain = st.one_of(_registers, _integers, _floats, _symbols, st.just(Sink()))
_addresses = st.builds(Address, st.one_of(_registers, _names.map(Symbol)), st.integers(-(2**31), 2**31 - 1))
_operands = st.one_of(
    _plain,
    _addresses,
    _registers.map(Negated),
    st.builds(Selected, _registers, st.sampled_from(["b0", "b3", "h1", "b3210"])),
    st.builds(Pair, _registers, _registers),
    st.lists(_plain, min_size=1, max_size=4).map(lambda items: Vector(tuple(items))),
)
_instructions = st.builds(
    Instruction,
    st.sampled_from(["add", "ld", "st", "mov", "shfl"]),
    st.lists(st.sampled_from(["global", "rn", "f32", "v4", "L1::no_allocate", "u64"]), max_size=4).map(tuple),
    st.lists(_operands, max_size=4).map(tuple),
    st.one_of(st.none(), st.builds(Guard, _registers.map(lambda item: item.name), st.booleans())),
)


@given(st.lists(_instructions, max_size=8))
def test_what_is_printed_is_read_back(instructions: list[Instruction]) -> None:
    body = parse(HEAD + function_text(instructions)).functions[0].body
    assert body is not None
    read = [item for item in body if isinstance(item, Instruction)]
    assert [(i.opcode, i.modifiers, i.operands, i.guard) for i in read] == [
        (i.opcode, i.modifiers, i.operands, i.guard) for i in instructions
    ]


@given(st.text(max_size=60))
def test_any_text_is_tokens_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(PtxError):
        found = tokens(text)
        assert found[-1].kind == "end"
        assert all(item.line >= 1 for item in found)


@given(st.text(alphabet=".entry func(){}[]<>,;:=+-@%rp123 ldmov_\n", max_size=80))
def test_nonsense_is_a_clear_error_or_a_tree(text: str) -> None:
    with contextlib.suppress(PtxError):
        parse(text)


def test_every_kernel_of_the_project_is_read(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("template <int N> __global__ void k(float* y) { __shared__ float s[N]; s[0] = 1; *y = s[0]; }")
    program = toolchain.compile(Source(str(path), options=("-lineinfo",), kernels=("k<4>", "k<8>")))
    module = parse(Path(program.ptx).read_text())
    assert {item.name for item in module.functions} == {"_Z1kILi4EEvPf", "_Z1kILi8EEvPf"}
    statements = [item for function in module.functions for item in function.body or ()]
    lines = {item.source for item in statements if isinstance(item, Instruction)}
    assert lines == {SourceLine("k.cu", 1)}
