from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.virtual_gpu.ptx.modifiers import is_ordered, lanes, rounding_of, space_of, type_of
from gpuregress.virtual_gpu.ptx.tree import Instruction


def _instruction(mnemonic: str) -> Instruction:
    opcode, *modifiers = mnemonic.split(".")
    return Instruction(opcode, tuple(modifiers), (), None, 3)


@pytest.mark.parametrize(
    ("mnemonic", "expected"),
    [("ld.global.v4.f32", "f32"), ("min.s32.relu", "s32"), ("cvt.rn.f16x2.f32", "f32"), ("mov.b128", "b128")],
)
def test_the_type_is_the_last_modifier_that_is_one(mnemonic: str, expected: str) -> None:
    assert type_of(_instruction(mnemonic)) == expected


def test_an_instruction_without_a_type_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"membar.gl at PTX line 3 .*: no type"):
        type_of(_instruction("membar.gl"))


@pytest.mark.parametrize(
    ("mnemonic", "space", "elements"),
    [("ld.u8", "", 1), ("ld.global.nc.v2.f32", "global", 2), ("st.shared::cluster.v4.b32", "shared", 4)],
)
def test_space_and_vector_width_of_an_access(mnemonic: str, space: str, elements: int) -> None:
    assert space_of(_instruction(mnemonic)) == space
    assert lanes(_instruction(mnemonic)) == elements


def test_rounding_falls_back_to_the_default() -> None:
    assert rounding_of(_instruction("add.rz.f32")) == "rz"
    assert rounding_of(_instruction("add.f32")) == "rn"
    assert rounding_of(_instruction("cvt.s32.f32"), "rzi") == "rzi"


@pytest.mark.parametrize("word", ["volatile", "acquire", "relaxed", "mmio"])
def test_volatile_and_atomic_accesses_are_ordered(word: str) -> None:
    assert is_ordered(_instruction(f"ld.{word}.global.u32"))
    assert not is_ordered(_instruction("ld.global.u32"))
