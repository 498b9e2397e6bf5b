from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.pointers import PointsTo
from gpuregress.virtual_gpu.ptx.tree import Register
from tests.virtual_gpu.analysis.kernels import PARAMETERS, kernel

_LOADS = "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x; "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mad.wide.u32 %rd4, %r1, 4, %rd1;", [0]),
        ("selp.b64 %rd3, %rd1, %rd2, %p1; add.s64 %rd4, %rd3, 4;", [0, 8]),
        ("sub.s64 %rd4, %rd1, %rd2;", [0, 8]),
        ("mov.u64 %rd4, table; add.s64 %rd4, %rd4, %rd2;", [8, "table"]),
        ("cvta.to.global.u64 %rd4, %rd2; L: add.s64 %rd4, %rd4, 8; bra L;", [8]),
        ("mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;", [0]),
        ("cvt.u64.u32 %rd3, %r1; shl.b64 %rd3, %rd3, 2; add.s64 %rd4, %rd3, %rd2;", [8]),
        ("ld.global.u64 %rd4, [%rd1];", None),  # a pointer from memory
        ("xor.b64 %rd4, %rd1, 1;", None),
        ("mov.u64 %rd4, 16;", None),  # no pointer at all
    ],
)
def test_the_pointers_that_an_address_may_be_computed_from(body: str, expected: list[int | str] | None) -> None:
    statements = kernel(f"{_LOADS}{body} ret;").body or ()
    assert PointsTo(statements, PARAMETERS).of(Register("%rd4")) == expected
