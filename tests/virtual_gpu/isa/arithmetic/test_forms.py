"""Forms of the arithmetic families against the oracle."""

from __future__ import annotations

import pytest

from tests.virtual_gpu.isa.forms import batches_of, mismatches

_FAMILIES = ("bits", "carry", "compare", "convert", "single", "double", "half", "integer", "logic", "video")


@pytest.mark.parametrize("name", batches_of(*_FAMILIES))
def test_forms_give_what_the_oracle_says(name: str) -> None:
    assert mismatches(name) == []
