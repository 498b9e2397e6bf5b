"""Findings of masks that name absent lanes: one for each pair of instructions, with its number."""

from __future__ import annotations

import ctypes

import numpy as np

from gpuregress.gpu.errors import CodeLine
from gpuregress.virtual_gpu.instruments.dynamic_checks import AbsentLanes
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext
from gpuregress.virtual_gpu.runtime.machine_layout import DEPARTED, DONE, FIXED_BYTES, ROWS, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import KernelFacts, ModuleFacts, Site


def test_a_lane_that_has_exited() -> None:
    kernel = KernelFacts("k", 0, 0, 0, (1,), 1024, None, False, None, (1, 1, 1))
    sites = (Site("st.global.u32", CodeLine("k.cu", 9)), Site("bar.warp.sync", CodeLine("k.cu", 5)))
    program = ModuleFacts({"k": kernel}, sites, (), (), (), {}, 0, {}, 0, (), ())
    context = np.zeros(FIXED_BYTES, np.uint8)
    states = context[ROWS["state"][0] :][:256].view(np.int32)
    states[:] = DONE
    states[34] = ~1
    context[ROWS["key"][0] :][:512].view(np.uint64)[40] = DEPARTED
    machine = Machine(context=context.ctypes.data, fault_ctaid_x=7)
    found = AbsentLanes(machine, lambda: FaultContext(program, kernel, "k", AddressSpace(), 0, (8, 8, 1), b"", context))
    words = (ctypes.c_uint64 * 3)(0xFFFF, 34, 40)
    for _ in range(3):
        found.take(ctypes.addressof(words))
    (finding,) = found.all()
    assert (finding.kind, finding.count, finding.location, finding.lines) == ("barrier", 3, "k.cu:5", "k.cu:5, k.cu:9")
    assert finding.message == (
        "bar.warp.sync with the mask 0x0000ffff, which names lane 8, that never comes: thread (2,4,0) of block (7,0,0) "
        "waits at k.cu:5, thread (0,5,0) goes another way and has exited after st.global.u32 at k.cu:9"
    )
