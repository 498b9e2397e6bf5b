"""Types and structured control flow of LLVM IR, run."""

from __future__ import annotations

import struct

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import (
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    Cell,
    at,
    constant,
    convert,
    counted,
    element,
    entry_alloca,
    i32,
    i64,
    llvm_type,
    while_nonzero,
    width,
)
from gpuregress.virtual_gpu.ptx.modifiers import BITS
from gpuregress.virtual_gpu.ptx.tree import Float, Integer
from tests.virtual_gpu.builder.functions import call


@pytest.mark.parametrize("end", [0, 1, 10])
def test_a_counted_loop_runs_from_0_to_its_end(end: int) -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        total = Cell(b, i64(0))
        with counted(b, arguments[0]) as index:
            total.add(b.add(index, i64(1)), b)
        return total.get(b)

    assert call(build, end) == end * (end + 1) // 2


def test_a_while_loop_clears_the_lowest_bit_until_none_is_left() -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        mask, count = Cell(b, arguments[0]), Cell(b, i64(0))
        with while_nonzero(b, mask) as value:
            mask.set(b.and_(value, b.sub(value, i64(1))), b)
            count.add(i64(1), b)
        return count.get(b)

    assert call(build, 0b1011_0001) == 4


def test_bits_are_set_in_a_cell() -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        cell = Cell(b, arguments[0])
        cell.set_bits(i64(6))
        return cell.get(b)

    assert call(build, 9) == 15


def test_pointers_count_bytes_or_elements() -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        array = entry_alloca(b.function, ir.ArrayType(I32, 4), align=16)
        for number in range(4):
            b.store(i32(10 + number), at(b, array, 4 * number))
        return b.zext(b.load(element(b, array, arguments[0], I32), typ=I32), I64)

    assert [call(build, index) for index in range(4)] == [10, 11, 12, 13]


def test_constants_wrap() -> None:
    assert (i32(-1).constant, i64(-1).constant) == ((1 << 32) - 1, (1 << 64) - 1)


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
