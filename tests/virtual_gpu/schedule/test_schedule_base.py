from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.divergent_barriers import DivergentBarriers
from gpuregress.virtual_gpu.analysis.lane_dependence import ContestedStores
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.schedule.lockstep import Lockstep
from gpuregress.virtual_gpu.schedule.passes import Passes
from gpuregress.virtual_gpu.schedule.schedule_base import BlockSchedule

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { bar.sync 0; ret; }
"""


def test_a_schedule_is_the_exits_of_its_kernel_and_records_faults() -> None:
    for is_lockstep in (False, True):
        unit = Unit(parse(PTX), None)
        body = Body(unit, unit.functions["k"], "kernel_0")
        exits: BlockSchedule = Passes(body, DivergentBarriers(), ContestedStores())
        if is_lockstep:
            exits = Lockstep(body, None, ContestedStores())
        assert body.emitter.exits is exits
        assert str(exits.thread_count()).count("mul") == 1
        body.emitter.builder = ir.IRBuilder(body.llvm.append_basic_block())
        exits.fault(body.emitter)
        block = str(body.emitter.builder.block)
        assert block.count("store i64") == 6  # tid and ctaid
        assert "ret i32 1" in block
