from __future__ import annotations

from gpuregress.virtual_gpu.runtime.footprint_ir import COMPARISONS, Constant, Induction, Operation, Unknown


def test_operands_are_nodes_of_every_kind() -> None:
    assert Operation("+", (1, 2)).operands == (1, 2)
    assert Constant(4).operands == Unknown().operands == ()


def test_an_induction_variable_has_an_initial_value_and_signed_steps() -> None:
    variable = Induction(3, (1, -1), (7, 8, 9))
    assert variable.initial == 7
    assert list(variable.steps) == [(1, 8), (-1, 9)]


def test_comparisons() -> None:
    assert all(Operation(operator, (0, 1)).is_comparison for operator in COMPARISONS)
    assert not Operation("<<", (0, 1), 32).is_comparison
