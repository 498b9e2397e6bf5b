"""Subroutines of a module: each is built once."""

from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, i64, open_function, private_function, subroutine


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


def test_a_large_subroutine_is_not_inlined_where_many_places_call_it() -> None:
    def build(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        value = given[0]
        for number in range(80):
            value = b.mul(value, b.add(value, I32(number)))
        return value

    module = ir.Module()
    small = [private_function(module, "small", I32, (I32,), lambda _, given: given[0]) for _ in range(20)]
    large = [private_function(module, "large", I32, (I32,), build) for _ in range(15)]
    assert "noinline" not in large[0].attributes
    private_function(module, "large", I32, (I32,), build)
    assert "noinline" in large[0].attributes
    assert "noinline" not in small[0].attributes


def test_a_subroutine_that_is_always_inlined_stays_so() -> None:
    @subroutine("large", I32, attributes=("alwaysinline",))
    def large(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
        for number in range(80):
            value = b.mul(value, b.add(value, I32(number)))
        return value

    caller = _caller()
    for _ in range(20):
        large(caller, I32(1))
    assert "noinline" not in caller.module.globals["large"].attributes


def test_pointers_to_arrays_of_two_sizes_are_given_to_one_subroutine() -> None:
    @subroutine("first", I32)
    def first(b: ir.IRBuilder, array: ir.Value) -> ir.Value:
        return b.load(array, typ=I32)

    caller = _caller()
    for size in (4, 8):
        kind = ir.ArrayType(I32, size)
        array = ir.GlobalVariable(caller.module, kind, f"array{size}")
        array.initializer = ir.Constant(kind, [7] * size)
        first(caller, array)
    assert str(caller.function).count('call i32 @"first"(') == 2
