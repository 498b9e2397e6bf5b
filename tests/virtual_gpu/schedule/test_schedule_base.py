from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.schedule.lockstep import Lockstep
from gpuregress.virtual_gpu.schedule.passes import Passes

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { bar.sync 0; ret; }
"""


def test_a_schedule_is_the_exits_of_its_kernel_and_records_faults() -> None:
    for schedule in (Passes, lambda body: Lockstep(body, None)):
        unit = Unit(parse(PTX), None)
        body = Body(unit, unit.functions["k"], "kernel_0")
        exits = schedule(body)
        assert body.emitter.exits is exits
        assert str(exits.thread_count()).count("mul") == 1
        body.emitter.builder = ir.IRBuilder(body.llvm.append_basic_block())
        exits.fault(body.emitter)
        block = str(body.emitter.builder.block)
        assert block.count("store i64") == 6  # tid and ctaid
        assert "ret i32 1" in block
