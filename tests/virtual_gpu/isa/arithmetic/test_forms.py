"""Forms of the arithmetic families against the oracle, for chosen operands and for drawn ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.virtual_gpu.isa.forms import batches_of, check_drawn_operands, mismatches

_FAMILIES = ("bits", "carry", "compare", "convert", "single", "double", "half", "integer", "logic", "video")


@pytest.mark.parametrize("name", batches_of(*_FAMILIES))
def test_forms_give_what_the_oracle_says(name: str) -> None:
    assert mismatches(name) == []


@pytest.mark.parametrize("name", batches_of(*_FAMILIES))
@settings(max_examples=10)
@given(data=st.data())
def test_drawn_operands_give_what_the_oracle_says(name: str, data: st.DataObject) -> None:
    check_drawn_operands(name, data)
