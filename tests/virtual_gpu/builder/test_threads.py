from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I64, POINTER, entry_alloca, i32, i64
from gpuregress.virtual_gpu.builder.threads import (
    COORDINATES,
    THREAD_TYPE,
    CalledThread,
    LoopThread,
    lane,
    linear_thread,
    warp,
)
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
