from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import single_definitions
from gpuregress.virtual_gpu.analysis.strides import Stride, Strides
from gpuregress.virtual_gpu.ptx.tree import Register
from tests.virtual_gpu.analysis.kernels import kernel


def _stride(body: str, register: str) -> Stride | None:
    return Strides(single_definitions(kernel(f"{body} ret;").body or ())).of(Register(register))


@pytest.mark.parametrize(
    ("body", "step"),
    [
        ("mov.u32 %r1, %tid.x;", 1),
        ("mov.u32 %r1, %tid.y;", 0),
        ("mad.lo.s32 %r1, %ctaid.x, %ntid.x, %tid.x;", 1),
        ("shl.b32 %r1, %tid.x, 4;", 16),
        ("sub.s32 %r1, 7, %tid.x;", -1),
        ("not.b32 %r1, %tid.x;", -1),
        ("mul.lo.s32 %r1, %tid.x, 12;", 12),
        ("mul.lo.s32 %r1, 12, %tid.x;", 12),
        ("mul.lo.u32 %r1, %tid.x, 0x40000001;", 0x40000001),
    ],
)
def test_the_stride_of_an_affine_value(body: str, step: int) -> None:
    assert _stride(body, "%r1") == Stride(step)


@pytest.mark.parametrize(
    "body",
    [
        "mul.lo.s32 %r1, %tid.x, %tid.x;",
        "shl.b32 %r1, %tid.x, %ntid.x;",
        "and.b32 %r1, %tid.x, 3;",
        "add.cc.u32 %r1, %tid.x, 1;",
        "add.s32 %r1, %laneid, 1;",
        "mov.u32 %r1, 1; mov.u32 %r1, %tid.x;",
    ],
)
def test_other_values_have_no_stride(body: str) -> None:
    assert _stride(body, "%r1") is None


def test_a_widened_value_keeps_its_stride_if_it_does_not_wrap() -> None:
    body = "mov.u32 %r1, %tid.x; mul.wide.s32 %rd1, %r1, 4; cvt.u64.u32 %rd2, %r1; add.s64 %rd3, %rd1, %rd2;"
    assert _stride(body, "%rd1") == Stride(4, frozenset([("%r1", True)]))
    assert _stride(body, "%rd2") == Stride(1, frozenset([("%r1", False)]))
    assert _stride(body, "%rd3") == Stride(5, frozenset([("%r1", True), ("%r1", False)]))
