"""Plain forms of atomic functions: each operation, and no other function."""

from __future__ import annotations

import pytest

from gpuregress.mutation.cuda.atomics import plain


@pytest.mark.parametrize(
    ("function", "operands", "value"),
    [
        ("atomicAdd", ["v"], "was + (v)"),
        ("::atomicSub_block", ["v"], "was - (v)"),
        ("atomicMax_system", ["v"], "was > (v) ? was : (v)"),
        ("atomicExch", ["v"], "(v)"),
        ("atomicCAS", ["o", "v"], "was == (o) ? (v) : was"),
        ("atomicInc", ["v"], "was >= (v) ? 0 : was + 1"),
    ],
)
def test_an_operation(function: str, operands: list[str], value: str) -> None:
    text = plain(function, ["p", *operands])
    assert text == f"[&] {{ auto at = p; auto was = *at; *at = {value}; return was; }}()"


def test_other_calls_have_none() -> None:
    assert plain("atomicAdd", ["p"]) == plain("my_atomicAdd", ["p", "v"]) == plain("f", []) == ""
