from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services, subroutine_body


def test_the_body_of_a_subroutine_is_behind_its_stack_slots_and_the_caller_goes_on() -> None:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), ()), "f")
    inner, outer = ir.IRBuilder(function.append_basic_block("slots")), ir.IRBuilder()
    emitter = cast("Services", SimpleNamespace(builder=outer))
    with subroutine_body(emitter, inner):
        assert emitter.builder is inner
        assert emitter.builder.block.name == "body"
    assert emitter.builder is outer
    assert 'br label %"body"' in str(function.blocks[0])
