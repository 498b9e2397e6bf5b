from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.schedule.passes import build_warp_choice


def test_a_module_has_one_choice() -> None:
    # What it chooses shows in the results: test_schedule_runs.py has warps that meet no barrier.
    module = ir.Module()
    first = build_warp_choice(module)
    assert build_warp_choice(module) is first
    assert [str(argument.type) for argument in first.args] == ["ptr", "ptr", "i32"]
