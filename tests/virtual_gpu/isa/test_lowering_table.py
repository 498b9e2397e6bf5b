from __future__ import annotations

import importlib
import pkgutil

import pytest

from gpuregress.foundation.errors import UnsupportedError
from gpuregress.virtual_gpu import isa
from gpuregress.virtual_gpu.isa.arithmetic import floating, half, integer
from gpuregress.virtual_gpu.isa.lowering_table import family_table, lowering
from gpuregress.virtual_gpu.ptx.opcode_table import OPCODES
from gpuregress.virtual_gpu.ptx.tree import Instruction

_ROWS = {(opcode, row.family) for opcode, forms in OPCODES.items() for row in forms.values() if row.family}
_BY_TYPE = (integer, floating, half)
"""Families whose opcodes stand in the table of `by_type`."""


def _tables() -> dict[str, dict[str, object]]:
    names = [item.name for item in pkgutil.walk_packages(isa.__path__, f"{isa.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    return {
        module.__name__.removeprefix(f"{isa.__name__}."): module.TABLE
        for module in modules
        if hasattr(module, "TABLE") and module not in _BY_TYPE
    }


def test_each_opcode_that_a_family_lowers_has_a_row_that_names_the_family() -> None:
    lowered = {(opcode, family) for family, table in _tables().items() for opcode in table}
    assert lowered - {(opcode, "arithmetic.carry") for opcode in integer.CARRY_TABLE} <= _ROWS


def test_each_row_has_a_lowering() -> None:
    assert [(opcode, family) for opcode, family in sorted(_ROWS) if opcode not in family_table(family)] == []


@pytest.mark.parametrize("opcode", ["multimem", "stacksave", "no_such_opcode"])
def test_an_opcode_without_a_family_is_refused(opcode: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{opcode}.b32 at PTX line 7 is not supported"):
        lowering(Instruction(opcode, ("b32",), (), None, 7))
