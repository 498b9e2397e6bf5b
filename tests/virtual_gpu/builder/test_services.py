"""Exchanges of the builder with Python, and addresses of symbols."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services, subroutine_body
from gpuregress.virtual_gpu.compilation.translate import llvm_text
from gpuregress.virtual_gpu.runtime.machine_layout import (
    FUNCTION_STEP,
    FUNCTION_WINDOW,
    LOCAL_START,
    PARAM_WINDOW,
    REGION_SHIFT,
    SHARED_START,
    region_of,
)
from tests.virtual_gpu.running import Running, ptx_of


def test_the_caller_goes_on_after_the_body_of_a_subroutine() -> None:
    inner, outer = ir.IRBuilder(), ir.IRBuilder()
    emitter = cast("Services", SimpleNamespace(builder=outer))
    with subroutine_body(emitter, inner):
        assert emitter.builder is inner
    assert emitter.builder is outer


PTX = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 box[4];
.func (.param .u32 r) twice(.param .u32 a) { ret; }
.visible .entry k(.param .u64 out, .param .u32 last)
{
  .shared .align 4 .b8 own[64];
  .local .align 8 .b8 mine[16];
  .reg .b64 %o, %v;
  ld.param.u64 %o, [out];
  mov.u64 %v, box+8;    st.global.u64 [%o], %v;
  mov.u64 %v, own+4;    st.global.u64 [%o+8], %v;
  mov.u64 %v, mine;     st.global.u64 [%o+16], %v;
  mov.u64 %v, last;     st.global.u64 [%o+24], %v;
  mov.u64 %v, twice;    st.global.u64 [%o+32], %v;
  ret;
}
"""


def test_each_name_has_an_address_in_its_space(tmp_path: Path) -> None:
    program = Running(tmp_path, PTX)
    out = program.put("out", np.zeros(5, np.uint64))
    program.launch("k", 1, 1, out, np.int32(0))
    box, own, mine, last, twice = (int(item) for item in out.read().view(np.uint64))
    region = program.module.symbol("box")
    assert box == region.address + 8
    assert region_of(box) == region.number
    assert (own, mine) == (SHARED_START + 4, LOCAL_START)
    assert last == PARAM_WINDOW + 8
    assert twice >> REGION_SHIFT == FUNCTION_WINDOW >> REGION_SHIFT
    assert twice == FUNCTION_WINDOW + FUNCTION_STEP


SOURCE = r"""
extern "C" __global__ void wait(int n) {
  if (n) asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}
"""


def test_a_fault_in_python_leaves_the_kernel() -> None:
    text = llvm_text(ptx_of(SOURCE), ["wait"])
    calls = re.findall(r"call i64 %\S+\(i64 (\d+), ptr", text)
    assert calls == ["65536", "65536", "65538"]
    assert text.count("answered:") + text.count("answered.1:") == 2
