from __future__ import annotations

import pytest

from gpuregress.devices.cpu.builder.translation_unit import Unit
from gpuregress.devices.cpu.functions.kernel_body import Body
from gpuregress.devices.cpu.ptx.parser import parse
from gpuregress.devices.cpu.schedule.interchange_plan import RegionPlan, plan
from gpuregress.devices.cpu.schedule.rematerialize import Rematerializer

TEXT = """.version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 box[512];
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{{
  .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .f32 %f<9>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r2, [n];
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, %ntid.x;
  mov.f32 %f1, 0f00000000;
{before}
L:
  mul.wide.s32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
{body}
  add.s32 %r1, %r1, %r3;
  setp.lt.s32 %p1, %r1, %r2;
  @%p1 bra L;
{behind}
  ret;
}}
"""
READ = "ld.global.f32 %f2, [%rd4];"
OWN = "mov.u32 %r9, %tid.x; mul.wide.u32 %rd6, %r9, 4; add.s64 %rd7, %rd2, %rd6;"
SUM = f"{READ} add.f32 %f1, %f1, %f2;"
ATOMIC = "ld.global.u8 %r5, [%rd4]; mov.u32 %r6, box; add.u32 %r6, %r6, %r5; red.shared.add.u32 [%r6], 1;"


def _plan(body: str, behind: str = "", before: str = "") -> RegionPlan | None:
    unit = Unit(parse(TEXT.format(body=body, behind=behind, before=before)), None)
    kernel = Body(unit, unit.functions["k"], "kernel_0")
    kernel.block = {}
    return plan(kernel, Rematerializer(kernel.emitter), -1)


def test_strides_and_values_of_a_loop() -> None:
    found = _plan(SUM, "st.global.f32 [%rd7], %f1;", OWN)
    assert found is not None
    (loop,) = found.loops
    assert loop.steps == {"%r1": 1}
    assert loop.saved == ["%f1"]
    assert loop.is_parallel
    assert found.distinct == [(("param", 8), ("param", 0))]


def test_what_is_written_in_the_loop_has_bands() -> None:
    found = _plan(f"{READ} st.global.f32 [%rd5], %f2; st.global.f32 [%rd5+512], %f2;")
    assert found is not None
    assert [[len(band) for band in bands] for bands in found.loops[0].bands.values()] == [[1, 1]]


def test_atomic_operations_whose_results_nobody_reads() -> None:
    found = _plan(ATOMIC)
    assert found is not None
    assert not found.loops[0].is_parallel
    assert _plan(ATOMIC.replace("red.shared.add.u32", "atom.shared.add.u32 %r7,")) is not None
    assert _plan(ATOMIC.replace("red.shared.add.u32", "atom.shared.add.u32 %r7,"), "st.global.u32 [%rd2], %r7;") is None
    assert _plan(ATOMIC.replace("red.shared.add.u32 [%r6], 1", "red.shared.add.f32 [%r6], %f1")) is None


@pytest.mark.parametrize(
    ("body", "behind", "before"),
    [
        ("ld.volatile.global.f32 %f2, [%rd4];", "", ""),
        ("ld.acquire.gpu.global.f32 %f2, [%rd4];", "", ""),
        (f"{READ} st.global.f32 [%rd2], %f2;", "", ""),  # each thread writes the same element
        (f"{READ} st.global.f32 [%rd5], %f2;", "ld.global.f32 %f3, [%rd2];", ""),  # read behind the loop
        (f"{READ} st.global.f32 [%rd5], %f2;", "", "ld.global.f32 %f3, [%rd2];"),
        (f"{READ} st.global.f32 [%rd5], %f2;", "ld.global.u64 %rd9, [%rd1]; ld.f32 %f3, [%rd9];", ""),
        (f"{ATOMIC} ld.shared.u32 %r8, [box];", "", ""),
        (ATOMIC, "", "st.shared.u32 [box], 1;"),
        (f"{ATOMIC} st.global.f32 [%rd5], %f2; {ATOMIC}", "", ""),  # a check behind an effect
        (f"{READ} setp.lt.f32 %p2, %f2, %f1; selp.u32 %r1, 1, 2, %p2;", "", ""),  # the index is data
        ("mul.wide.s32 %rd3, %r1, 4096; add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f2, [%rd4];", "", ""),
        (SUM, "st.global.f32 [%rd2], %f1;", ""),  # all threads write the same element behind the loop
        (SUM, "st.global.f32 [%rd7], %f1; ld.global.f32 %f3, [%rd7+4];", OWN),
        (SUM, "call.uni vprintf, ();", ""),
    ],
)
def test_loops_that_stay_as_they_are(body: str, behind: str, before: str) -> None:
    assert _plan(body, behind, before) is None
