from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.isa.matrix.operand_layout import MatrixElement, element_of


@pytest.mark.parametrize(
    ("name", "bits", "register", "parts"),
    [("f16", 16, 32, 2), ("s4", 4, 32, 8), ("f64", 64, 64, 1), ("e4m3", 8, 32, 4)],
)
def test_elements_are_packed_into_registers(name: str, bits: int, register: int, parts: int) -> None:
    element = element_of(name)
    assert element == MatrixElement(name, bits, register)
    assert element.parts == parts
