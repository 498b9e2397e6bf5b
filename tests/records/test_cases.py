from __future__ import annotations

from typing import Any

import pytest

from gpuregress.records import (
    Rule,
)


@pytest.mark.parametrize("change", [{"ulp": 0}, {"rtol": 0.0}, {"nan": "never"}, {"key": ("id",)}, {"order": "any"}])
def test_only_the_default_rule_is_exact(change: dict[str, Any]) -> None:
    assert Rule().is_exact
    assert not Rule(**change).is_exact
