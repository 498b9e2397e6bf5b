from __future__ import annotations

from itertools import pairwise

from gpuregress.devices.cpu.builder.thread_context import LAYOUT, Slots
from gpuregress.devices.cpu.builder.types import F64, I1, I32, I64
from gpuregress.devices.cpu.runtime.machine_layout import ROW
from gpuregress.devices.cpu.runtime.thread_context import CLUSTER_BYTES, FIXED_BYTES, ROWS


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
