"""Threads of a block and their saved context, in compiled code."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import F64, I1, I8, I32, I64, POINTER, entry_alloca, i32, i64
from gpuregress.virtual_gpu.builder.threads import (
    COORDINATES,
    LAYOUT,
    THREAD_TYPE,
    CalledThread,
    LoopThread,
    Slots,
    ThreadElements,
    lane,
    linear_thread,
    warp,
)
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_BYTES, FIXED_BYTES, ROW, ROWS
from tests.virtual_gpu.builder.functions import call

SIZES = {"block_x": 5, "block_y": 4, "block_z": 3}
VIEW: Any = SimpleNamespace(field=lambda name, _type: i32(SIZES[name]))


def _thread(b: ir.IRBuilder, *tid: int) -> LoopThread:
    values = dict(zip(COORDINATES, map(i32, (*tid, 7, 8, 9)), strict=True))
    return LoopThread(values, ir.Constant(POINTER, None), i64(4096), entry_alloca(b.function, THREAD_TYPE, align=16))


def test_a_called_function_sees_the_thread_of_its_caller() -> None:
    def build(b: ir.IRBuilder, _: tuple[ir.Value, ...]) -> ir.Value:
        caller = _thread(b, 1, 2, 3)
        caller.fill_handle(b, i64(5000))
        called = CalledThread(caller.handle, b)
        total = called.stack
        for weight, name in zip((1, 10, 100, 1000, 10_000, 100_000), COORDINATES, strict=True):
            total = b.add(total, b.mul(b.zext(called.coordinate(b, name), I64), i64(weight)))
        return total

    assert call(build) == 5000 + 987_321


def test_threads_are_numbered_along_x_first() -> None:
    def number(b: ir.IRBuilder, _: tuple[ir.Value, ...]) -> ir.Value:
        return b.zext(linear_thread(b, VIEW, _thread(b, 4, 2, 1)), I64)

    def lane_number(b: ir.IRBuilder, _: tuple[ir.Value, ...]) -> ir.Value:
        return b.zext(lane(b, VIEW, _thread(b, 4, 2, 1)), I64)

    assert call(number) == 4 + 5 * (2 + 4 * 1)
    assert call(lane_number) == (4 + 5 * (2 + 4 * 1)) % 32


def test_numbers_that_are_known_are_not_computed_again() -> None:
    def numbers(b: ir.IRBuilder, _: tuple[ir.Value, ...]) -> ir.Value:
        thread = _thread(b, 4, 2, 1)
        computed = warp(b, VIEW, thread)
        thread.set_numbers(b, i32(70))
        parts = [linear_thread(b, VIEW, thread), lane(b, VIEW, thread), warp(b, VIEW, thread), computed]
        total: ir.Value = i32(0)
        for part in parts:
            total = b.add(b.mul(total, i32(100)), part)
        return b.zext(total, I64)

    assert call(numbers) == 70_06_02_00 + (4 + 5 * (2 + 4 * 1)) // 32


def test_each_register_has_a_row_of_its_own_behind_the_fixed_ones() -> None:
    slots = Slots()
    offsets = [(slots.offset(name, type_), size) for name, type_, size in (("a", I1, 1), ("b", F64, 8), ("c", I32, 4))]
    assert offsets[0][0] >= FIXED_BYTES
    for (first, size), (following, _) in pairwise(offsets):
        assert first + size * ROW <= following
    assert slots.offset("b", F64) == offsets[1][0]
    assert slots.size >= offsets[2][0] + 4 * ROW
    assert Slots(clustered=True).size == CLUSTER_BYTES


def test_the_fields_of_the_scheduler_have_the_types_of_their_rows() -> None:
    assert {name: 8 if type_ == I64 else 4 for name, (_, type_) in LAYOUT.items()} == {
        name: size for name, (_, size) in ROWS.items()
    }


def test_the_elements_of_a_thread_are_the_same_however_their_pointers_are_computed() -> None:
    def build(b: ir.IRBuilder, _: tuple[ir.Value, ...]) -> ir.Value:
        context = entry_alloca(b.function, ir.ArrayType(I8, 1024), align=16)
        once, each = ThreadElements(context, i32(7), b), ThreadElements(context, i32(7))
        total: ir.Value = i64(0)
        for number, kind in enumerate((I8, I32, I64, F64), 1):
            apart = b.sub(b.ptrtoint(once.pointer(b, 64, kind), I64), b.ptrtoint(each.pointer(b, 64, kind), I64))
            distance = b.sub(b.ptrtoint(each.pointer(b, 64, kind), I64), b.ptrtoint(context, I64))
            total = b.add(total, b.add(b.mul(apart, i64(10**6)), b.mul(distance, i64(number))))
        return total

    assert call(build) == sum(number * (64 + 7 * size) for number, size in enumerate((1, 4, 8, 8), 1))
