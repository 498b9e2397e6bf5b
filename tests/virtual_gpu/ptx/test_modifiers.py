"""Modifiers and types of instructions, and errors about forms that are not there."""

from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.virtual_gpu.ptx.modifiers import (
    BITS,
    FLOATS,
    INDEX_BITS,
    is_ordered,
    is_signed,
    is_type,
    lanes,
    rounding_of,
    size,
    space_of,
    type_of,
    unsupported,
)
from gpuregress.virtual_gpu.ptx.tree import Instruction, SourceLine


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
    assert rounding_of(_instruction("cvt.s32.f32")) == "rn"


@pytest.mark.parametrize("word", ["volatile", "acquire", "relaxed", "mmio"])
def test_volatile_and_atomic_accesses_are_ordered(word: str) -> None:
    assert is_ordered(_instruction(f"ld.{word}.global.u32"))
    assert not is_ordered(_instruction("ld.global.u32"))


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [("pred", 1), ("s4", 1), ("u8", 1), ("e5m2x2", 2), ("bf16", 2), ("f16x2", 4), ("f32x2", 8), ("b128", 16)],
)
def test_a_type_has_the_size_of_the_register_that_holds_it(name: str, bytes_: int) -> None:
    assert size(name) == bytes_


def test_only_integers_of_32_and_64_bits_are_followed_as_indices() -> None:
    assert INDEX_BITS == {"b32": 32, "s32": 32, "u32": 32, "b64": 64, "s64": 64, "u64": 64}


def test_signed_types_are_the_integers_that_begin_with_s() -> None:
    integers = {name for name in BITS if is_signed(name)} - {"samplerref", "surfref"}
    assert integers == {"s4", "s8", "s16", "s32", "s64", "s16x2"}
    assert not any(map(is_signed, FLOATS))


def test_a_modifier_that_is_no_type_has_no_size() -> None:
    assert not is_type("rn")
    with pytest.raises(KeyError):
        size("rn")


@pytest.mark.parametrize(
    ("source", "why", "expected"),
    [
        (None, "", "add.f128 at PTX line 12 is not supported by the cpu device"),
        (SourceLine("k.cu", 4), "its type", "add.f128 at k.cu:4 is not supported by the cpu device: its type"),
    ],
)
def test_an_unsupported_instruction_is_named_with_its_line(source: SourceLine | None, why: str, expected: str) -> None:
    assert str(unsupported(Instruction("add", ("f128",), (), None, 12, source), why)) == expected
