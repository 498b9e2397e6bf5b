"""Names of operators: tables of functions by them."""

from __future__ import annotations

from gpuregress.lab.mutating.mutants import OPERATORS, by_name


def plus_minus() -> None: ...


def test_functions_by_the_names_of_operators() -> None:
    assert by_name(plus_minus) == {"plus-minus": plus_minus}
    assert "plus-minus" in OPERATORS
