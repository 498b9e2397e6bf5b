from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.emit import halves, larger, pack, resize, smaller
from gpuregress.virtual_gpu.builder.structured import I8, I16, I32, I64
from tests.virtual_gpu.builder.functions import call


class _Emit:
    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def intrinsic(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        kind = ir.FunctionType(result, [item.type for item in arguments])
        return self.builder.call(ir.Function(self.builder.module, kind, name), arguments)


def _run(build: Callable[[Any, ir.Value], ir.Value], value: int) -> int:
    def wrapped(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        result = build(_Emit(b), arguments[0])
        return b.zext(result, I64) if result.type != I64 else result

    return call(wrapped, value)


@pytest.mark.parametrize(("signed", "result"), [(True, 0xFFFF_FF80), (False, 0x80)])
def test_resizing(signed: bool, result: int) -> None:  # noqa: FBT001 - a row
    assert _run(lambda emit, v: resize(emit, emit.builder.trunc(v, I8), I32, signed=signed), 0x80) == result
    assert _run(lambda emit, v: resize(emit, v, I16, signed=signed), 0x12345) == 0x2345


@pytest.mark.parametrize(("signed", "least", "most"), [(True, 0xFFFF_FFFF, 1), (False, 1, 0xFFFF_FFFF)])
def test_minimum_and_maximum(signed: bool, least: int, most: int) -> None:  # noqa: FBT001 - a row
    for function, result in ((smaller, least), (larger, most)):
        assert _run(lambda emit, v: function(emit, emit.builder.trunc(v, I32), I32(1), signed=signed), -1) == result  # noqa: B023 - called at once


def test_halves_are_packed_again() -> None:
    def build(emit: Any, value: ir.Value) -> ir.Value:
        low, high = halves(emit, emit.builder.trunc(value, I32))
        return pack(emit, high, low)

    assert _run(build, 0x1234_5678) == 0x5678_1234
