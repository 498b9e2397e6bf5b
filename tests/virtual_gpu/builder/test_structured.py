from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import (
    I32,
    I64,
    Cell,
    at,
    counted,
    element,
    entry_alloca,
    i32,
    i64,
    while_nonzero,
)
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
