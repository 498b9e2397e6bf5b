from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.schedule.interchange_plan import RegionPlan, plan
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer

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


CALL = "call.uni vprintf, ();"
SPIN = "W: ld.volatile.global.u32 %r8, [%rd1]; setp.eq.u32 %p3, %r8, 0; @%p3 bra W;"
LOCAL = ".local .align 4 .b8 own[16]; mov.u32 %r9, own;"
BOX = "mov.u32 %r12, box;"
COUNT = "mov.u32 %r4, 0;"
STORE = "add.s64 %rd11, %rd5, %rd10; st.global.f32 [%rd11], %f1;"
GATHER = "ld.global.u32 %r5, [%rd4]; mul.wide.u32 %rd10, %r5, 4;"
SHARED_READ = "shl.b32 %r7, %r1, 2; add.u32 %r7, %r12, %r7; ld.shared.f32 %f2, [%r7];"


@pytest.mark.parametrize(
    ("body", "behind", "before"),
    [
        # of the whole kernel, behind a barrier too
        (SUM, "", LOCAL),
        (SUM, f"bar.sync 0; {CALL}", ""),
        (SUM, f"bar.sync 0; {SPIN}", ""),
        # instructions of the loop
        (f"activemask.b32 %r8; {SUM}", "", ""),
        (f"rem.u32 %r8, %r1, %r2; {SUM}", "", ""),  # LLVM does not vectorise it
        (ATOMIC.replace("red.shared.add.u32", "atom.shared.exch.b32 %r7,"), "", ""),
        (ATOMIC.replace("red.shared.add.u32", "red.shared.inc.u32"), "", ""),
        (ATOMIC.replace("red.shared.add.u32", "red.release.cta.shared.add.u32"), "", ""),
        (ATOMIC.replace("red.shared.add.u32", "atom.shared.add.u32 %r7,"), "st.global.u32 [%rd7], %r7;", OWN),  # read
        (f"{ATOMIC} red.shared.add.u32 [%r6], 1;", "", ""),  # two, of which the second may have a fault
        # the condition of the loop, and addresses
        (f"{SUM} ld.global.u32 %r2, [%rd5];", "", ""),  # is data
        (f"{SUM} @%p3 add.s32 %r2, %r2, 1;", "", "setp.eq.s32 %p3, %r1, 3;"),  # changes in some threads
        (f"{SUM} mul.lo.s32 %r2, %r2, %r1;", "", ""),
        (f"{SUM} add.s32 %r2, %r2, %r1;", "", ""),
        ("ld.global.f32 %f2, [%rd8]; add.s64 %rd8, %rd8, %rd3;", "", "mov.u64 %rd8, %rd1;"),
        ("ld.global.u64 %rd10, [%rd4]; ld.global.f32 %f2, [%rd10];", "", ""),  # in memory
        (f"{GATHER} add.s64 %rd11, %rd10, 77; ld.global.f32 %f2, [%rd11];", "", ""),
        # accesses of the other blocks
        (ATOMIC, "red.shared.max.u32 [%r12], 3;", BOX),  # of another kind
        (SUM, "trap;", ""),
        (SUM, "ld.volatile.global.f32 %f3, [%rd1];", ""),
        (SUM, "ld.acquire.gpu.global.f32 %f3, [%rd1];", ""),
        (SUM, "cp.async.ca.shared.global [%r12], [%rd1], 4;", BOX),
        (SUM, "membar.gl;", ""),
        (SUM, "ld.global.u64 %rd9, [%rd1]; st.global.f32 [%rd9], %f1;", ""),  # anywhere
        (SUM, "st.global.v2.f32 [%rd7], {%f1, %f1};", OWN),  # wider than the distance of two threads
        (SUM, "st.global.f32 [%rd7], %f1; st.global.f32 [%rd7+4], %f1;", OWN),
        (SUM, "st.global.f32 [%rd7], %f1; mov.u32 %r1, %r9; bra L;", OWN),  # and comes back to the loop
        ("ld.global.f32 %f2, [%rd5];", "st.global.f32 [%rd2], %f1;", ""),
        ("ld.global.f32 %f2, [%rd5];", "st.global.f32 [%rd7], %f1;", OWN),
        (SHARED_READ, "st.shared.u32 [box], 1;", BOX),
        (f"{SUM} ld.f32 %f3, [%rd12];", "st.shared.u32 [box], 1;", f"{BOX} cvta.shared.u64 %rd12, %rd11;"),
        (f"{READ} red.global.add.u32 [%rd4], 1;", "", ""),  # read, too
        # bands
        ("st.global.v2.f32 [%rd5], {%f1, %f1};", "", ""),
        (f"mul.lo.s32 %r8, %r4, %r4; mul.wide.s32 %rd10, %r8, 4; {STORE} add.s32 %r4, %r4, 1;", "", COUNT),
        (f"shl.b32 %r8, 4, %r4; cvt.s64.s32 %rd10, %r8; {STORE} add.s32 %r4, %r4, 1;", "", COUNT),
        (f"and.b32 %r8, %r4, 7; mul.wide.s32 %rd10, %r8, 4096; {STORE} add.s32 %r4, %r4, 1;", "", COUNT),
        (f"cvt.s64.s32 %rd10, %r4; {STORE} add.s32 %r4, %r4, %r4;", "", COUNT),
        (f"cvt.s64.s32 %rd10, %r4; {STORE} sub.s32 %r4, 4096, %r4;", "", COUNT),
        (f"cvt.s64.s32 %rd10, %r4; {STORE} mul.lo.s32 %r4, %r4, 3;", "", COUNT),
    ],
)
def test_loops_whose_order_counts_stay_as_they_are(body: str, behind: str, before: str) -> None:
    assert _plan(body, behind, before) is None


def test_neighbours_of_those_that_stay() -> None:
    """The same loops without what forbids it: none of them stays for another reason."""
    band = f"mul.wide.s32 %rd10, %r4, 4096; {STORE} add.s32 %r4, %r4, 1;"
    for body, behind, before in (
        (SUM, "bar.sync 0;", ""),
        (SUM, "exit;", ""),
        (ATOMIC, "red.shared.add.u32 [%r12], 3;", BOX),
        (f"{GATHER} add.s64 %rd11, %rd1, %rd10; ld.global.f32 %f2, [%rd11];", "", ""),
        (f"{READ} red.global.add.u32 [%rd5], 1;", "", ""),
        (band, "", COUNT),
        (SHARED_READ, "", BOX),
    ):
        assert _plan(body, behind, before) is not None, body
