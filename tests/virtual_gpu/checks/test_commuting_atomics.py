from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.checks.program_facts import commuting_kind, usual_kind
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction


def function(*lines: str) -> Function:
    body = "\n".join(lines)
    registers = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;"
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{registers}\n{body}\nret;\n}}\n"
    return next(one for one in parse(text).functions if one.name == "k")


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["atom.global.add.u32 %r1, [%rd1], 1;"], "add.u32"),
        (["red.shared.max.s32 [%rd1], %r2;"], "max.s32"),
        (["red.global.xor.b64 [%rd1], %rd2;"], "xor.b64"),
        (["atom.global.add.u32 %r1, [%rd1], 1;", "mov.u32 %r2, %r1;"], ""),
        (["red.global.add.f32 [%rd1], %f1;"], ""),
        (["atom.global.exch.b32 %r1, [%rd1], 1;"], ""),
        (["atom.global.inc.u32 %r1, [%rd1], 1;"], ""),
        (["atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;"], ""),
        (["st.global.u32 [%rd1], 1;"], ""),
    ],
)
def test_which_operations_commute(lines: list[str], kind: str) -> None:
    found = function(*lines)
    (first, *_) = (item for item in found.body or () if isinstance(item, Instruction))
    assert commuting_kind(first, effects.registers_read(found.body or ())) == kind
    assert usual_kind([found]) == kind


def test_the_kind_of_most_operations_is_the_usual_one() -> None:
    add, most = "red.global.add.u32 [%rd1], 1;", "red.global.max.u32 [%rd1], 1;"
    assert usual_kind([function(add, most, most)]) == "max.u32"
    assert usual_kind([]) == ""
