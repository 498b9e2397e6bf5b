"""Findings in words: element, threads, blocks, source lines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Texture
from gpuregress.gpu.descriptors import TextureDescription
from tests.virtual_gpu.running import Running

SOURCE = """extern "C" __device__ int g[8];
extern "C" __global__ void k(int* z, int step) {
    __shared__ int s[64];
    if (threadIdx.x != 5) s[threadIdx.x] = step + blockIdx.y;
    __syncthreads();
    z[threadIdx.x * step + blockIdx.y] = s[threadIdx.x];
    if (threadIdx.x == 7) g[3] = blockIdx.y + 1;
}
"""


def test_a_race_between_blocks_and_a_read_of_nothing(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE, is_small=True, checks=("races", "uninitialized"))
    z = program.put("z", np.zeros(65, np.int32))
    race, variable, void = program.launch("k", (1, 2, 1), 64, z, np.int32(1)).findings
    assert race.kind == "race"
    assert re.fullmatch(
        r"data race on `z\[\d+\]`: write by thread \(\d+,0,0\) of block \(0,0,0\) at k.cu:6 "
        r"and write by thread \(\d+,0,0\) of block \(0,1,0\) at k.cu:6, in two blocks that nothing orders",
        race.message,
    )
    assert (race.location, race.lines) == ("k.cu:6", "k.cu:6, k.cu:6")
    assert variable.message.startswith("data race on `g[3]`: write by thread (7,0,0) of block (0,0,0) at k.cu:7 and")
    assert void.kind == "uninitialized"
    assert void.message == (
        "`s[5]` (shared) is read and was never written: read by thread (5,0,0) of block (0,0,0) at k.cu:6"
    )
    assert void.count == 2


INLINED = """__device__ int shifted(int* p, int v) {
    p[threadIdx.x] = v;
    return p[(threadIdx.x + 1) % 64];
}
extern "C" __global__ void k(int* z) {
    __shared__ int first[64], second[64];
    int v = shifted(first, threadIdx.x);
    z[threadIdx.x] = shifted(second, v);
}
__device__ __noinline__ int later(int v) {
    __shared__ int keep[8];
    if (v) keep[threadIdx.x] = v;
    return keep[(threadIdx.x + v) % 9];
}
extern "C" __global__ void crowded(int* z, int n) {
    for (int i = 0, v = 0; i < n; i++) v += shifted(z, v);
}
extern "C" __global__ void beyond(int* z) { later(threadIdx.x + 1); z[threadIdx.x] = later(0); later(4); }
"""


def test_an_inlined_function_is_told_by_its_own_lines_and_the_widest_scope(tmp_path: Path) -> None:
    program = Running(tmp_path, INLINED, is_small=True, checks=("races",))
    z = program.put("z", np.zeros(64, np.int32))
    first, second = program.launch("k", 1, 64, z).findings
    # Lanes of one warp race at these lines, too: what is told is the race between the two warps.
    assert first.message == (
        "data race on `first[32]` (shared): write by thread (32,0,0) of block (0,0,0) at k.cu:2, called at k.cu:7 "
        "and read by thread (31,0,0) at k.cu:3, called at k.cu:7, with no barrier between"
    )
    assert (first.location, first.lines, first.calls) == ("k.cu:3", "k.cu:2, k.cu:3", (("k.cu:7",), ("k.cu:7",)))
    assert (first.variable, first.scope, first.count) == ("first", 1, 64)
    assert (second.variable, second.lines, second.calls) == ("second", first.lines, (("k.cu:8",), ("k.cu:8",)))
    with pytest.raises(KernelFault, match=r"at keep\[8\] \(keep has 8\), thread \(4,0,0\) .*, k.cu:13$") as caught:
        program.launch("beyond", 1, 5, z)
    assert (caught.value.location.file, caught.value.location.line) == ("k.cu", 13)


def test_many_races_of_one_block_hide_none_between_blocks(tmp_path: Path) -> None:
    program = Running(tmp_path, INLINED, is_small=True, checks=("races",), only="crowded")
    first, *_, last = program.launch("crowded", 2, 64, program.put("z", np.zeros(64, np.int32)), np.int32(170)).findings
    assert first.message.endswith("in two blocks that nothing orders")
    assert (first.scope, last.scope) == (3, 1)
    assert last.count > 10_000


LANGUAGES = """.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry NAME(.param .u64 z) {
  .reg .b32 %r<9>;
  .loc 1 3 1
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 16;
  mov.u32 %r3, global_smem;
  add.u32 %r4, %r3, %r2;
  st.shared.u32 [%r4], %r2;
  shl.b32 %r5, %r1, 2;
  add.u32 %r5, %r5, %r3;
  st.shared.u32 [%r5+512], %r1;
  .loc 1 4 1
  xor.b32 %r6, %r5, 4;
  ld.shared.u32 %r7, [%r6+512];
  ret;
}
.file 1 "FILE"
"""


@pytest.mark.parametrize(
    ("file", "name", "word"),
    [("k.cu", "k", "__syncwarp"), ("k.py", "k", "tl.debug_barrier"), ("k.py", "_Z1kv", "cuda.syncwarp")],
)
def test_a_barrier_has_the_name_of_the_language(tmp_path: Path, file: str, name: str, word: str) -> None:
    text = LANGUAGES.replace("FILE", file).replace("NAME", name)
    program = Running(tmp_path, text, is_small=True, checks=("races",))
    z = program.put("z", np.zeros(1, np.int64))
    report = program.launch("k", 1, 32, z, shared=1024)
    assert f"two lanes of one warp, with no {word} between" in report.findings[0].message
    # Triton stores a value that several lanes hold once for each of them.
    assert ("both write the same value" in report.exchange) == (word != "tl.debug_barrier")


def test_what_is_not_freed(tmp_path: Path) -> None:
    body = "int t = threadIdx.x; z[t] = (int*)malloc(8); if (t) free(z[t]);"
    text = f'extern "C" __global__ void k(int** z) {{ {body} }}'
    program = Running(tmp_path, text, is_small=True, checks=("leaks",))
    (leak,) = program.launch("k", 1, 4, program.put("z", np.zeros(4, np.int64))).findings
    assert leak.kind == "leak"
    assert leak.message == "an allocation of 8 bytes in all, made at k.cu:1, not freed when the kernel ended"


def test_lanes_that_rely_on_a_converged_warp(tmp_path: Path) -> None:
    body = "int t = threadIdx.x; z[t] = t; z[t + 64] = z[t ^ 1];"
    text = f'extern "C" __global__ void k(volatile int* z) {{\n{body}\n}}'
    program = Running(tmp_path, text, is_small=True, checks=("races",))
    report = program.launch("k", 1, 64, program.put("z", np.zeros(128, np.int32)))
    (finding,) = report.findings
    assert finding.message.startswith("relies on a converged warp: lanes of a warp exchange values through global z")
    assert (finding.kind, finding.location, report.exchange) == ("race", "k.cu:2", "")


def test_a_mask_that_leaves_out_a_lane_is_no_race(tmp_path: Path) -> None:
    text = 'extern "C" __global__ void k(int* z) { z[threadIdx.x] = __shfl_sync(0xffff, threadIdx.x, 3); }'
    program = Running(tmp_path, text, is_small=True, checks=("races",))
    report = program.launch("k", 1, 32, program.put("z", np.zeros(32, np.int32)))
    assert report.findings == ()
    assert report.exchange.startswith("lane 16 executes shfl.sync.idx.b32 at k.cu:1, whose mask 0x0000ffff leaves it")


SURFACES = """extern "C" __global__ void own(cudaSurfaceObject_t s) {
    int v = 0, t = threadIdx.x;
    surf1Dread(&v, s, t * 4);
    surf1Dwrite(v + 1, s, t * 4);
}
extern "C" __global__ void meet(cudaSurfaceObject_t s) {
    surf1Dwrite(int(threadIdx.x), s, (threadIdx.x & ~1) * 4);
}
extern "C" __global__ void again(cudaSurfaceObject_t s) {
    int v = 0, t = threadIdx.x;
    surf1Dwrite(t + 1, s, t * 4);
    __syncthreads();
    surf1Dread(&v, s, (t ^ 1) * 4);
    surf1Dwrite(v, s, (t + 64) * 4);
}
"""


def test_surfaces_conflict_where_threads_meet(tmp_path: Path) -> None:
    program = Running(tmp_path, SURFACES, is_small=True, checks=("races",), conflicts=True)
    y = program.put("y", np.zeros(128, np.int32))
    surface = np.uint64(program.device.texture(y, TextureDescription("int32", 1, (128, 0, 0), Texture(surface=True))))
    own, meet, again = (program.launch(name, 1, 64, surface) for name in ("own", "meet", "again"))
    assert (own.findings, own.conflicts, own.unwatched) == ((), (), "")
    assert {(pair.part, pair.earlier ^ pair.later) for pair in meet.conflicts} == {("threads", 1)}
    # No order of the threads changes what a barrier orders, so there is no conflict, but the read may miss the write.
    assert again.conflicts == ()
    (finding,) = again.findings
    assert finding.message.endswith("in one launch: a surface read may miss what its own launch has written")
    assert finding.count == 64
