"""Barriers of blocks and of warps."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.virtual_gpu.isa.warp_barriers import with_warp_barriers
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void reductions(int* y) {
  int t = threadIdx.x;
  y[t] = __syncthreads_count(t % 3 == 0); y[96 + t] = __syncthreads_or(t == 95) + 2 * __syncthreads_and(t < 95);
}
extern "C" __global__ void halves(int* y) {
  __shared__ int box[128]; int t = threadIdx.x;
  if (t < 64) { box[t] = t; asm volatile("barrier.sync 1, 64;" ::: "memory"); y[t] = box[63 - t]; }
  else { box[t] = t; asm volatile("barrier.sync 2, 64;" ::: "memory"); y[t] = box[191 - t]; }
}
extern "C" __global__ void produces(int* y) {
  __shared__ int box; int t = threadIdx.x;
  if (t < 32) { if (t == 0) box = 7; asm volatile("barrier.arrive 3, 64;" ::: "memory"); }
  else { asm volatile("barrier.sync 3, 64;" ::: "memory"); y[t - 32] = box; }
}
extern "C" __global__ void numbered(int* y, int number) { asm volatile("barrier.sync %0;" :: "r"(number)); y[0] = 1; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("barriers"), SOURCE)


def _run(program: Running, kernel: str, threads: int, count: int, *more: np.generic) -> list[int]:
    y = program.put("y", np.zeros(count, np.int32))
    program.launch(kernel, 1, threads, y, *more)
    return ints(y)


def test_a_barrier_counts_and_combines_predicates(program: Running) -> None:
    assert _run(program, "reductions", 96, 192) == [32] * 96 + [1] * 96


def test_named_barriers_join_parts_of_a_block(program: Running) -> None:
    assert _run(program, "halves", 128, 128) == [*range(63, -1, -1), *range(127, 63, -1)]


def test_threads_that_only_arrive_do_not_wait(program: Running) -> None:
    assert _run(program, "produces", 64, 32) == [7] * 32


def test_a_barrier_number_beyond_the_last_is_a_fault(program: Running) -> None:
    assert _run(program, "numbered", 32, 1, np.int32(15)) == [1]
    with pytest.raises(KernelFault, match="barrier"):
        _run(program, "numbered", 32, 1, np.int32(16))


_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry plain() { bar.sync 0; ret; }
.visible .entry matrices() {
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];
  @%p1 mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r3, %r4}, {%r1}, {%r1}, {%r3, %r4};
  wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%f1};
  ret;
}
"""


def test_each_aligned_matrix_instruction_is_followed_by_a_warp_barrier() -> None:
    module = parse(_TEXT)
    plain, matrices = with_warp_barriers(module).functions
    assert plain is module.functions[0]
    body = [item for item in matrices.body or () if isinstance(item, Instruction)]
    assert [item.opcode for item in body] == ["ldmatrix", "bar", "mma", "bar", "wmma", "bar", "ret"]
    assert body[1].mnemonic == "bar.warp.sync"
    assert body[3].guard == body[2].guard
    assert body[3].ptx_line == body[2].ptx_line


def test_a_barrier_is_only_counted_where_the_warp_waits_again_before_a_lane_can_write() -> None:
    load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];"
    product = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r1}, {%r1}, {%f0,%f1,%f2,%f3};"
    between = {
        "add.u32 %r2, %r2, 4; ld.shared.u32 %r4, [%r2];": "implied",
        "st.shared.u32 [%r2], %r2;": "sync",
        "cp.async.ca.shared.global [%r2], [%rd1], 4;": "sync",
        "@%p1 bra L; L:": "sync",
        "bar.sync 0;": "sync",
    }
    for code, expected in between.items():
        text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{ {load} {code} {product} ret; }}"
        (function,) = with_warp_barriers(parse(text)).functions
        body = [item for item in function.body or () if isinstance(item, Instruction)]
        barriers = [item.modifiers[1] for item in body if item.opcode == "bar" and item.modifiers[0] == "warp"]
        assert barriers == [expected], code
