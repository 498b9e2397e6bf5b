"""Stores that lanes may make to one address: which are, which groups of lanes they run in, what forbids it."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.lane_dependence import ContestedStores, Slices, group_of, lane_dependence
from gpuregress.virtual_gpu.ptx.modifiers import lay_out
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Integer, Register
from tests.virtual_gpu.running import ptx_of

_BODIES = {
    "own": ("y[t] = t;", []),
    "one_place": ("y[0] = t;", [32]),
    "pairs": ("y[t / 2] = t;", [32]),
    "data": ("y[x[t]] = t;", [32]),
    "wide": ("((double2*)y)[x[t]] = make_double2(t, 1);", [8]),
    "half_of_a_warp": ("((double*)y)[x[t]] = t;", [16]),
    "same_value": ("y[x[t]] = 1;", []),
    "parameter": ("y[0] = n;", []),
    "one_lane": ("if (t == 3) y[0] = t;", []),
    "places": ("y[atomicAdd(x, 1)] = t;", []),
    "unproven_loop": ("for (int i = t; i < n; i = i * 2 + 1) y[i] = t;", []),
    "data_in_a_loop": ("for (int i = t; i < n; i += blockDim.x) y[x[i]] = t;", [32]),
    "quotient": ("y[(blockIdx.x * blockDim.x + t) / 32] = t;", [32]),
    "counted_by_all": ("for (int i = 0; i < n; i++) y[i] = t;", 5 * [32]),  # unrolled four times, and the rest
    "rows": ("for (int i = 0; i < n; i++) y[i * n + t] = t;", []),
    "grid_stride": ("for (int i = t; i < n; i += blockDim.x) y[i] = t;", []),
}


@pytest.fixture(scope="module")
def found() -> dict[str, ContestedStores]:
    text = "\n".join(
        f'extern "C" __global__ void {name}(int* y, int* x, int n) {{ int t = threadIdx.x; {body} }}'
        for name, (body, _) in _BODIES.items()
    )
    stores = {}
    for kernel in parse(ptx_of(text)).functions:
        offsets, _ = lay_out(kernel.parameters)
        dependence = lane_dependence(ControlFlowGraph(kernel), offsets, frozenset(), 32, last_first=False)
        stores[kernel.name] = dependence.contested
    return stores


@pytest.mark.parametrize("name", _BODIES)
def test_which_stores_lanes_may_make_to_one_address(found: dict[str, ContestedStores], name: str) -> None:
    assert list(found[name].groups.values()) == _BODIES[name][1]


def test_a_warp_stores_128_bytes_at_a_time() -> None:
    assert [group_of(count) for count in (1, 2, 4, 8, 16)] == [32, 32, 32, 16, 8]


def test_lanes_stay_in_order_where_it_shows() -> None:
    stores = ContestedStores({3: 32, 5: 8}, frozenset({7}))
    assert [stores.group(items) for items in ((1, 3), (3, 5), (3, 7), (1, 2))] == [32, 8, 0, 0]
    assert stores.renumbered({3: 4, 5: 7, 7: 9}) == ContestedStores({4: 32, 7: 8}, frozenset({9}))


def test_values_that_all_lanes_share() -> None:
    body = "mov.u32 %r1, 5; cvt.u64.u32 %rd1, %r1; mov.u32 %r2, %tid.x; ld.param.u32 %r3, [k_param_0]; ret;"
    head = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u32 k_param_0) "
    text = f"{head} {{ .reg .b32 %r<4>; .reg .b64 %rd<2>; {body} }}"
    slices = Slices(parse(text).functions[0].body or ())
    assert [slices.is_same(Register(name)) for name in ("%r1", "%rd1", "%r2", "%r3")] == [True, True, False, True]
    assert slices.is_same(Integer(3))


def test_values_that_depend_on_data() -> None:
    body = "ld.param.u64 %rd1, [k_param_0]; ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1; mov.u32 %r3, %tid.x; ret;"
    head = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 k_param_0) "
    slices = Slices(parse(f"{head} {{ .reg .b32 %r<4>; .reg .b64 %rd<2>; {body} }}").functions[0].body or ())
    assert [slices.is_data(name) for name in ("%rd1", "%r1", "%r2", "%r3")] == [False, True, True, False]
