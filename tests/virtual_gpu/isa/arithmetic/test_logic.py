"""Forms of logic, shifts and byte permutation against the oracle."""

from __future__ import annotations

import pytest

from tests.virtual_gpu.isa.forms import batches_of, mismatches


@pytest.mark.parametrize("name", batches_of("logic"))
def test_logic_forms_give_what_the_oracle_says(name: str) -> None:
    assert mismatches(name) == []
