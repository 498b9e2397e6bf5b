from __future__ import annotations

from itertools import pairwise

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import F64, I1, I8, I32, I64, entry_alloca, i32, i64
from gpuregress.virtual_gpu.builder.threads import LAYOUT, Slots, ThreadElements
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_BYTES, FIXED_BYTES, ROW, ROWS
from tests.virtual_gpu.builder.functions import call


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
