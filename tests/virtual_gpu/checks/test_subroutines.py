"""Subroutines of a module: each is built once."""

from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.checks.shadow_cells import subroutine


@pytest.mark.parametrize("may_be_inlined", [True, False])
def test_a_subroutine_is_declared_once(*, may_be_inlined: bool) -> None:
    module = ir.Module()
    one, builder = subroutine(module, "check", ir.VoidType(), (ir.IntType(64),), may_be_inlined=may_be_inlined)
    assert builder is not None
    assert subroutine(module, "check", ir.VoidType(), (ir.IntType(64),), may_be_inlined=may_be_inlined) == (one, None)
    assert one.linkage == "internal"
    assert ("noinline" in str(one)) != may_be_inlined
