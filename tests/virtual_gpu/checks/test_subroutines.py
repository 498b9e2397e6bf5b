"""Subroutines of a module: each is built once."""

from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I1, I64, i64, open_function
from gpuregress.virtual_gpu.checks.shadow_cells import subroutine


def _caller() -> ir.IRBuilder:
    return open_function(ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), (I64,)), "caller"))


@pytest.mark.parametrize("attributes", [(), ("noinline",)])
def test_a_subroutine_is_built_once(attributes: tuple[str, ...]) -> None:
    built = []

    @subroutine("check", attributes=attributes)
    def check(b: ir.IRBuilder, value: ir.Value) -> None:
        built.append(value)
        with b.if_then(b.icmp_unsigned("==", value, i64(0))):
            b.ret_void()

    caller = _caller()
    for value in (caller.function.args[0], i64(3)):
        check(caller, value)
    function = caller.module.globals["check"]
    assert built == list(function.args)
    assert function.linkage == "internal"
    assert ("noinline" in str(function)) == bool(attributes)
    assert str(caller.function).count("call void") == 2


def test_what_stands_before_the_builder_or_has_a_keyword_names_a_subroutine() -> None:
    @subroutine(lambda space, is_strong: f"is_zero.{space}.{is_strong}", I1)
    def is_zero(space: str, b: ir.IRBuilder, value: ir.Value, *, is_strong: bool) -> ir.Value:
        return b.icmp_unsigned("==", value, i64(0))

    caller = _caller()
    answers = [is_zero(space, caller, i64(1), is_strong=False) for space in ("shared", "global", "shared")]
    assert [answer.type for answer in answers] == [I1] * 3
    assert [*caller.module.globals] == ["caller", "is_zero.shared.False", "is_zero.global.False"]
