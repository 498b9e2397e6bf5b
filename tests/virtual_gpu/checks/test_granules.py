"""Granules: as small as the smallest access; barriers of a part of the threads."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.checks.program_facts import granules, meets_in_part, orders_in_part
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction


def _function(body: str) -> Function:
    registers = ".reg .b64 %a; .reg .b32 %r<4>; .reg .b16 %h; .reg .pred %p;"
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{ {registers} {body} ret; }}"
    return parse(text).functions[0]


@pytest.mark.parametrize(
    ("body", "shared", "global_"),
    [
        ("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a];", 4, 4),
        ("ld.global.u32 %r0, [%a]; st.shared.u8 [%a], %h;", 0, 2),
        ("st.u16 [%a], %h;", 1, 1),
        ("sust.b.2d.b8.trap [%a, {%r0, %r1}], {%h};", 4, 0),
        ("suld.b.2d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%a, {%r0, %r1}];", 4, 4),
        ("ld.param.u8 %h, [%a]; st.local.u8 [%a], %h;", 4, 4),
    ],
)
def test_the_smallest_access(body: str, shared: int, global_: int) -> None:
    assert granules([_function(body)]) == {"shared": shared, "global": global_}


@pytest.mark.parametrize(
    ("text", "in_part"),
    [
        ("bar.sync 0;", False),
        ("bar.sync 1, 64;", True),
        ("bar.arrive 1, 64;", True),
        ("bar.warp.sync -1;", False),
        ("bar.warp.sync 255;", True),
        ("bar.warp.sync %r0;", True),
        ("barrier.red.popc.u32 %r0, 0, %p;", False),
        ("mov.u32 %r0, 1;", False),
    ],
)
def test_barriers_of_a_part_of_the_threads(text: str, *, in_part: bool) -> None:
    first = (_function(text).body or ())[0]
    assert isinstance(first, Instruction)
    assert meets_in_part(first) == in_part


@pytest.mark.parametrize(
    ("body", "in_part"),
    [
        ("bar.sync 0; ld.u32 %r0, [%a];", False),
        ("bar.sync 1, 64;", True),
        ("fence.acq_rel.gpu;", True),
        ("ld.acquire.gpu.u32 %r0, [%a];", True),
        ("wgmma.wait_group.sync.aligned 0;", True),
    ],
)
def test_programs_that_order_some_threads_and_leave_others(body: str, *, in_part: bool) -> None:
    assert orders_in_part([_function(body)]) == in_part
