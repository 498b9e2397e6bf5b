from __future__ import annotations

import struct

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import F32, F64, I8, I16, I32, I64, constant, convert, llvm_type, width
from gpuregress.virtual_gpu.ptx.modifiers import BITS
from gpuregress.virtual_gpu.ptx.tree import Float, Integer
from tests.virtual_gpu.builder.functions import call


def _double(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def test_each_type_of_ptx_has_an_llvm_type_of_its_width() -> None:
    for name, bits in BITS.items():
        type_ = llvm_type(name)
        assert (type_.width if isinstance(type_, ir.IntType) else width(type_)) == bits


@pytest.mark.parametrize(
    ("operand", "type_", "bits"),
    [
        (Integer(-1), I32, (1 << 32) - 1),
        (Integer(3), F64, _double(3.0)),
        (Float(0x3FC00000, 32), F64, _double(1.5)),
        (Float(_double(1.5), 64), F32, 0x3FC00000),
        (Float(0x7FC12345, 32), F32, 0x7FC12345),
        (Float(0x7FC12345, 32), I32, 0x7FC12345),
    ],
)
def test_a_constant_keeps_its_number_or_its_bits(operand: Integer | Float, type_: ir.Type, bits: int) -> None:
    def build(b: ir.IRBuilder, _: tuple[ir.Value, ...]) -> ir.Value:
        return convert(b, constant(operand, type_), I64)

    assert call(build) % (1 << 64) == bits


@pytest.mark.parametrize(
    ("narrow", "signed", "result"), [(I8, True, -1), (I8, False, 255), (I16, True, 0x2FF), (I16, False, 0x2FF)]
)
def test_conversion_extends_by_the_sign_or_by_zeros(narrow: ir.Type, signed: bool, result: int) -> None:  # noqa: FBT001 - a row
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        return convert(b, convert(b, arguments[0], narrow), I64, signed=signed)

    assert call(build, 0x1_0000_02FF) == result
