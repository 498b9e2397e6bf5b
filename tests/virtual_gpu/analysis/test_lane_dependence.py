"""The dependence test between lanes on kernels in CUDA C++: where a step is needed, and where none is."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.lane_dependence import LaneDependence, lane_dependence
from gpuregress.virtual_gpu.ptx.modifiers import lay_out
from gpuregress.virtual_gpu.ptx.parser import parse
from tests.virtual_gpu.analysis.kernels import function
from tests.virtual_gpu.running import ptx_of

DISJOINT = {
    "own": "s[t] = y[t]; s[t] += 1; y[t] = s[t];",
    "own_in_a_loop": "for (int i = t; i < n; i += blockDim.x) s[i] = i; __syncthreads(); y[t] = s[n - t];",
    "strides": "int g = gridDim.x * blockDim.x; for (int i = blockIdx.x * blockDim.x + t; i < n; i += g) y[i] *= 2;",
    "a_row_each": "for (int k = 0; k < n; ++k) y[t * n + k] = 2 * y[t * n + k] + 1;",
    "tree": "for (int k = blockDim.x / 2; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }",
    "one_thread": "if (t == 0) for (int i = 1; i < n; ++i) s[0] += s[i];",
    "fields": "y[2 * t] = x[t]; y[2 * t + 1] = y[2 * t] * 2;",
    "two_variables": "s[t] = y[t]; r[t] = s[t]; y[t] = r[t];",
    "pairs": "int p = t ^ n; if (p > t) { int a = s[t], b = s[p]; if (a > b) s[t] = b, s[p] = a; }",
    "far_pairs": "int p = t ^ 64; int a = s[t], b = s[p]; if (p > t) { if (a > b) s[t] = b, s[p] = a; }",
    "counts": "for (int i = t; i < n; i += blockDim.x) atomicAdd(&s[x[i] & 255], 1);",
    "with_a_barrier": "s[t] = y[t]; __syncwarp(); y[t] = s[t ^ 1]; __syncwarp(); s[t] = y[t] + 1;",
    "shuffle": "s[t] = y[t]; int a = __shfl_sync(~0u, t, 3); y[t] = s[t ^ 1] + a;",
}
DEPENDENT = {
    "neighbours": ("s[t] = y[t]; y[t] = s[t ^ 1];", 1),
    "above": ("s[t] = y[t]; y[t] = s[t + 16];", 1),
    "old_values": ("int a = s[t ^ 1]; s[t] = a + 1;", 1),
    "rounds": ("for (int k = 0; k < n; ++k) s[t] = s[(t + 1) & 31] + k;", 2),
    "by_data": ("s[t] = y[t]; y[t] = s[x[t]];", 1),
    "two_writes": ("s[t] = 1; s[t ^ 1] = 2;", 1),
    "cleared_table": ("s[t] = 0; s[x[t]] = 1;", 1),
    "global": ("y[t] = t; __threadfence(); x[t] = y[t ^ 1];", 1),
    "behind_a_part": ("s[t] = y[t]; if (t < 7) __syncthreads(); y[t] = s[t ^ 1];", 1),
    "signs": ("atomicMin(&s[0], y[t]); atomicMin((unsigned*)s, (unsigned)x[t]);", 1),
    "places": ("for (int k = 0; k < n; ++k) if (x[32 * k + t]) y[32 * k + t] = atomicAdd(&s[0], 1);", 1),
}
BELOW = "s[t] = y[t]; y[t] = s[t - 1];"
"""A lane reads what one that runs earlier has written: the order is right as it is, yet it is an exchange."""


@pytest.fixture(scope="module")
def tree() -> str:
    bodies = {**DISJOINT, **{name: body for name, (body, _) in DEPENDENT.items()}, "below": BELOW}
    head = 'extern "C" __global__ void {name}(int* y, int* x, int n) {{'
    start = "__shared__ volatile int s[512]; __shared__ volatile int r[512]; int t = threadIdx.x;"
    atomics = ("counts", "places", "signs")
    return ptx_of(
        "\n".join(
            f"{head.format(name=name)} {start.replace('volatile ', '') if name in atomics else start} {body} }}"
            for name, body in bodies.items()
        )
    )


def _dependence(text: str, name: str, width: int = 32, *, last_first: bool = False) -> LaneDependence:
    kernel = function(text, name)
    offsets, _ = lay_out(kernel.parameters)
    return lane_dependence(ControlFlowGraph(kernel), offsets, frozenset(), width, last_first=last_first)


@pytest.mark.parametrize("name", DISJOINT)
def test_lanes_that_do_not_depend_on_each_other(tree: str, name: str) -> None:
    assert not _dependence(tree, name).steps


@pytest.mark.parametrize(("name", "expected"), [("fields", True), ("two_variables", False), ("tree", False)])
def test_what_assumes_that_parameters_differ(tree: str, name: str, *, expected: bool) -> None:
    assert _dependence(tree, name).assumes_distinct is expected


@pytest.mark.parametrize("name", DEPENDENT)
def test_lanes_that_depend_on_each_other(tree: str, name: str) -> None:
    assert len(_dependence(tree, name).steps) >= DEPENDENT[name][1]


def test_the_order_of_the_threads_decides(tree: str) -> None:
    forward, backward = (_dependence(tree, "below", last_first=way) for way in (False, True))
    assert not forward.steps
    assert len(backward.steps) == 1
    assert len(forward.exchanges) == 1


def test_without_known_warps_only_own_elements_are_safe(tree: str) -> None:
    found = _dependence(tree, "own", width=0)
    assert found.assumes_rows
    assert found.steps
    assert not _dependence(tree, "two_variables", width=32).steps


def test_a_kernel_whose_buffers_differ() -> None:
    text = ptx_of('extern "C" __global__ void k(const int* y, int* z) { z[threadIdx.x] = y[threadIdx.x ^ 1]; }')
    assert _dependence(text, "k") == LaneDependence(assumes_rows=True)


_AFTER_LOOPS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
    .reg .pred %p<4>; .reg .b32 %r<9>;
    @%p0 bra A;
    mad.lo.s32 %r1, %r2, 19, %r3;
A:
    mov.u32 %r4, 0;
B:
    mad.lo.s32 %r1, %r1, 5, 1;
    and.b32 %r5, %r1, 3;
    setp.ne.s32 %p1, %r5, 0;
    selp.u32 %r6, 1, 0, %p1;
    add.s32 %r7, %r4, %r6;
    mov.u32 %r4, %r7;
    @%p2 bra B;
    mov.u32 %r8, %r7;
C:
    setp.lt.u32 %p3, %r8, 5;
    and.pred %p3, %p3, %p2;
    @%p3 bra C;
    st.shared.u32 [%r2], %r3;
}
"""


def test_a_value_of_a_merge_that_is_no_loop_varies_behind_it() -> None:
    (kernel,) = parse(_AFTER_LOOPS).functions
    assert lane_dependence(ControlFlowGraph(kernel), {}, frozenset(), 32, last_first=False)
