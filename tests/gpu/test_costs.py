"""Costs as a record: sums, lines, and the way to JSON and back."""

from __future__ import annotations

from gpuregress.foundation.records import Costs, InstructionCost, from_json, to_json
from gpuregress.gpu.instruments import by_line, merged_costs, total

ONE = InstructionCost("k", "/p/k.cu", 3, 9, "ld.global.f32", "load.global", {"instructions": 2, "sectors": 8})
OTHER = InstructionCost("k", "/p/k.cu", 3, 10, "add.f32", "float", {"instructions": 2})
LIBRARY = InstructionCost("k", "", 0, 11, "ret", "control", {"instructions": 2})


def test_equal_instructions_are_summed() -> None:
    whole = merged_costs((Costs((ONE, OTHER), {"k": 3}), Costs((ONE,), {"k": 5}, "lost")))
    assert [dict(item.counts) for item in whole.instructions] == [
        {"instructions": 4, "sectors": 16},
        {"instructions": 2},
    ]
    assert (whole.contention, whole.uncounted) == ({"k": 5}, "lost")


def test_lines_are_sums_without_libraries() -> None:
    costs = Costs((ONE, OTHER, LIBRARY))
    assert by_line(costs) == {("/p/k.cu", 3): {"instructions": 4, "sectors": 8}}
    assert total(costs.instructions)["instructions"] == 6


def test_json_keeps_it() -> None:
    costs = Costs((ONE, LIBRARY), {"k": 1})
    assert from_json(Costs, to_json(costs)) == costs
