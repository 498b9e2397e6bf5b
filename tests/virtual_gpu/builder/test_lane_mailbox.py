from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder import lane_mailbox
from gpuregress.virtual_gpu.builder.structured import entry_alloca, i32, i64
from gpuregress.virtual_gpu.builder.threads import ThreadNumbers
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_MASK, Machine
from tests.virtual_gpu.builder.functions import call


class _Emitter:
    """An emitter whose exits keep the rows of one thread, which is lane 5."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder, self.exits, self.rows = builder, self, dict[str, ir.Value]()
        self.index, self.whole_warp = 0, frozenset[int]()
        self.thread = SimpleNamespace(numbers=ThreadNumbers(i32(37), i32(5), i32(1)))
        self.view = SimpleNamespace(
            machine=entry_alloca(builder.function, ir.ArrayType(ir.IntType(64), len(Machine._fields_)))
        )

    def current(self) -> None:
        """Nothing: the fault does not say where."""

    def fail(self, kind: int, _: object) -> None:
        self.builder.ret(i64(-kind))

    def store(self, _: object, name: str, value: ir.Value) -> None:
        self.rows[name] = value

    def fetch(self, _: object, name: str) -> ir.Value:
        return self.rows[name]

    def fetch_lane(self, _: object, lane: ir.Value) -> ir.Value:
        return self.builder.add(self.rows["post"], self.builder.zext(lane, ir.IntType(64)))


def test_the_key_holds_the_operation_and_its_lanes() -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        emitter: Any = _Emitter(b)
        lane_mailbox.post(emitter, 5, b.trunc(arguments[0], ir.IntType(32)), i64(7))
        assert list(emitter.rows) == ["key", "post"]
        b.position_at_end(emitter.builder.block)
        return emitter.rows["key"]

    assert call(build, 0xFFFF) == 5 << 32 | 0xFFFF


@pytest.mark.parametrize(
    ("mask", "answer"), [(1 << 5, 7), (0xFFFF_FFFF, 7), (0xFFFF_FFDF, -FAULT_MASK), (0, -FAULT_MASK)]
)
def test_a_mask_must_name_the_lane_that_executes(mask: int, answer: int) -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        emitter: Any = _Emitter(b)
        lane_mailbox.post(emitter, 5, b.trunc(arguments[0], ir.IntType(32)), i64(7))
        b.position_at_end(emitter.builder.block)
        return emitter.rows["post"]

    assert call(build, mask) == answer


def test_a_value_is_read_from_a_lane_and_an_answer_from_a_row() -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        emitter: Any = _Emitter(b)
        lane_mailbox.post(emitter, 1, i32(-1), arguments[0])
        emitter.rows["group"] = i64(100)
        return b.add(lane_mailbox.from_lane(emitter, i32(3)), lane_mailbox.received(emitter, "group"))

    assert call(build, 40) == 143
