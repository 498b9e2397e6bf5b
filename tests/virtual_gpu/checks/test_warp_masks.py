"""Masks that name lanes which went another way, and misused barriers, under the check of barriers."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

_BODIES = {
    "other_branch": "if (t < 16) { __syncwarp(0x1ffff); y[t] = 1; } else y[t] = 2;",
    "own_branch": "if (t < 16) { __syncwarp(0xffff); y[t] = 1; } else y[t] = 2;",
    "returns": "if (t >= 16) return; y[t] = __shfl_xor_sync(~0u, t, 1);",
    "meets_elsewhere": "if (t < 16) { __syncwarp(); y[t] = 1; } else { y[t] = 2; __syncwarp(); }",
    "skips": "int v = t; if (t < 16) v = __shfl_xor_sync(~0u, t, 1);\ny[t] = v;",
    "left_out": "y[t] = __shfl_xor_sync(0xff, t, 1);",
    "left_out_of_a_part": "if (t < 16) y[t] = __shfl_xor_sync(0xff, t, 1);\nelse y[t] = 0;",
    "body": "if (t < 20) { __syncthreads(); y[t] = t; }",
    "half": "if (t < 16) __syncthreads();\ny[t] = t;",
    "two_masks": "__syncwarp(t < 8 ? 0xffffu : ~0u); y[t] = t;",
    "spins_locally": "volatile int wait = 1; while (wait) {} y[t] = wait;",
    "spins": "if (!t) while (atomicAdd(y, 0) == 0) {} __syncthreads(); y[t] = t;",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    kernels = (
        f'extern "C" __global__ void {name}(int* y) {{\nint t = threadIdx.x; {body} }}\n'
        for name, body in _BODIES.items()
    )
    return Running(tmp_path_factory.mktemp("masks"), "".join(kernels), is_small=True, checks=("barriers",))


def _line(kernel: str) -> int:
    """The line of a kernel's body."""
    before = list(_BODIES)[: list(_BODIES).index(kernel)]
    return 2 + sum(2 + _BODIES[name].count("\n") for name in before)


@pytest.mark.parametrize("threads", [20, 32])
@pytest.mark.parametrize("kernel", ["own_branch", "returns", "meets_elsewhere"])
def test_masks_that_are_right(program: Running, kernel: str, threads: int) -> None:
    y = program.put("y", np.zeros(32, np.int32))
    assert not program.launch(kernel, 2, threads, y).findings


@pytest.mark.parametrize(
    ("kernel", "mask", "behind", "count"),
    [("other_branch", "bar.warp.sync with the mask 0x0001ffff", 0, 2), ("skips", "shfl.sync.bfly.b32 with", 1, 2)],
)
def test_lanes_that_went_another_way(program: Running, kernel: str, mask: str, behind: int, count: int) -> None:
    (finding,) = program.launch(kernel, (1, 2, 1), 32, program.put("y", np.zeros(32, np.int32))).findings
    line = _line(kernel)
    assert (finding.kind, finding.count, finding.lines) == ("barrier", count, f"k.cu:{line}, k.cu:{line + behind}")
    assert finding.message.startswith(mask)
    assert finding.message.endswith(
        f"names lane 16, that never comes: thread (0,0,0) of block (0,0,0) waits at k.cu:{line}, thread (16,0,0) goes "
        f"another way and has exited after st.global.u32 at k.cu:{line + behind}"
    )


def test_lanes_that_the_mask_of_a_whole_warp_leaves_out(program: Running) -> None:
    y = program.put("y", np.zeros(32, np.int32))
    (finding,) = program.launch("left_out", 2, 32, y).findings
    line = _line("left_out")
    assert (finding.kind, finding.count, finding.location) == ("barrier", 48, f"k.cu:{line}")
    assert finding.message == (
        "shfl.sync.bfly.b32 with the mask 0x000000ff by lane 8, which the mask leaves out, thread (8,0,0) of block "
        f"(0,0,0), k.cu:{line}"
    )
    assert ints(y) == [lane ^ 1 for lane in range(32)]


def test_a_barrier_that_may_be_inside_of_a_condition_is_noted(program: Running) -> None:
    y = program.put("y", np.zeros(32, np.int32))
    report = program.launch("body", 2, 32, y)
    assert not report.findings
    assert report.exchange.startswith(
        "not all lanes of warp 0 of block (0,0,0) execute a barrier of the block: threads 0-19 wait at bar.sync, "
        f"k.cu:{_line('body')}; threads 20-31 have exited; an early return is allowed"
    )
    assert not program.launch("body", 1, 20, y).exchange


@pytest.mark.parametrize(
    ("kernel", "kind", "text"),
    [
        ("left_out_of_a_part", "barrier", "by lane 8, which the mask leaves out"),
        ("half", "barrier", "threads 16-31 have exited after st.global.u32, k.cu:"),
        ("two_masks", "barrier", "threads 8-31 wait at bar.warp.sync, k.cu:23 with the mask 0xffffffff"),
        ("spins", "deadlock", "thread 0 spins on y"),
        ("spins_locally", "deadlock", "threads 0-31 spin on local memory, k.cu:"),
    ],
)
def test_faults_of_barriers(program: Running, kernel: str, kind: str, text: str) -> None:
    with pytest.raises(KernelFault) as caught:
        program.launch(kernel, 1, 32, program.put("y", np.zeros(32, np.int32)))
    assert caught.value.kind == kind
    assert text in str(caught.value)
