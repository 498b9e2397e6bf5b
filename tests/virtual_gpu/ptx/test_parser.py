"""Modules, whole and without functions that no kernel reaches."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs
from gpuregress.virtual_gpu.ptx.lexer import PtxError
from gpuregress.virtual_gpu.ptx.parser import abridge, parse
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Float,
    Guard,
    Instruction,
    Integer,
    Negated,
    Pair,
    Register,
    Selected,
    Sink,
    SourceLine,
    Symbol,
    Vector,
)
from tests.virtual_gpu.ptx.printing import HEAD, function_text


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".entry k() { mov.u32 %r1, ; }", "PTX line 1: ';' starts no operand"),
        (".entry k() {\n\n mov.u32 %r1 %r2; }", "PTX line 3: expected ';'"),
        (".entry k() { ld.u32 %r1, [{]; }", "expected an address"),
        (".global .x99 y;", "is not a type"),
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
).filter(lambda item: item.mnemonic.split(".")[:2] != ["mov", "v4"])  # which becomes four


@given(st.lists(_instructions, max_size=8))
def test_what_is_printed_is_read_back(instructions: list[Instruction]) -> None:
    body = parse(HEAD + function_text(instructions)).functions[0].body
    assert body is not None
    read = [item for item in body if isinstance(item, Instruction)]
    assert [(i.opcode, i.modifiers, i.operands, i.guard) for i in read] == [
        (i.opcode, i.modifiers, i.operands, i.guard) for i in instructions
    ]


@given(st.text(alphabet=".entry func(){}[]<>,;:=+-@%rp123 ldmov_\n", max_size=80))
def test_nonsense_is_a_clear_error_or_a_tree(text: str) -> None:
    with contextlib.suppress(PtxError):
        parse(text)


def test_every_kernel_of_the_project_is_read(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("template <int N> __global__ void k(float* y) { __shared__ float s[N]; s[0] = 1; *y = s[0]; }")
    program = programs.compile(Source(str(path), options=("-lineinfo",), kernels=("k<4>", "k<8>")))
    module = parse(Path(program.ptx).read_text())
    assert {item.name for item in module.functions} == {"_Z1kILi4EEvPf", "_Z1kILi8EEvPf"}
    statements = [item for function in module.functions for item in function.body or ()]
    lines = {item.source for item in statements if isinstance(item, Instruction)}
    assert lines == {SourceLine("k.cu", 1)}


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


def test_extern_variable_is_the_one_that_is_defined() -> None:
    text = ".extern .global .align 4 .u32 shared;\n.visible .global .align 4 .u32 shared = 7;\n"
    (variable,) = parse(HEAD + text).variables
    assert (variable.linkage, variable.initializer != ()) == ("visible", True)


def test_extern_variable_that_nothing_defines() -> None:
    with pytest.raises(PtxError, match="unresolved extern variable 'shared'"):
        parse(HEAD + ".extern .global .align 4 .u32 shared;\n")
