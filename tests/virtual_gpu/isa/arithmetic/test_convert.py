"""Forms of conversions against the oracle."""

from __future__ import annotations

import pytest

from tests.virtual_gpu.isa.forms import batches_of, mismatches


@pytest.mark.parametrize("name", batches_of("convert"))
def test_conversion_forms_give_what_the_oracle_says(name: str) -> None:
    assert mismatches(name) == []
