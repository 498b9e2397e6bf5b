"""Plain forms of atomic functions: each operation, and no other function."""

from __future__ import annotations

import pytest

from gpuregress.lab.mutating.cuda_mutants import plain


@pytest.mark.parametrize(
    ("function", "operands", "value"),
    [
        ("::atomicSub_block", ["v"], "mutant_was - mutant_first"),
        ("atomicMax_system", ["v"], "mutant_was > mutant_first ? mutant_was : mutant_first"),
        ("atomicExch", ["v"], "mutant_first"),
        ("atomicInc", ["v"], "mutant_was >= mutant_first ? 0 : mutant_was + 1"),
    ],
)
def test_an_operation(function: str, operands: list[str], value: str) -> None:
    assert plain(function, ["p", *operands]) == (
        "[&] { auto mutant_at = p; auto mutant_was = *mutant_at; decltype(mutant_was) mutant_first = v; "
        f"mutant_was = *mutant_at; *mutant_at = {value}; return mutant_was; }}()"
    )


def test_the_operand_of_an_addition_is_rounded_for_itself() -> None:
    text = plain("atomicAdd", ["&at[was]", "x * y"])
    assert "volatile decltype(mutant_was) mutant_first = x * y;" in text
    assert text.startswith("[&] { auto mutant_at = &at[was];")


def test_a_comparison_has_both_operands() -> None:
    text = plain("atomicCAS", ["p", "a++", "b"])
    assert text.count("a++") == 1
    assert "*mutant_at = mutant_was == mutant_first ? mutant_second : mutant_was;" in text


def test_other_calls_have_none() -> None:
    assert plain("atomicAdd", ["p"]) == plain("my_atomicAdd", ["p", "v"]) == plain("f", []) == ""
