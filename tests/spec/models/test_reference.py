from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.spec.models.reference import ReferenceSpec

LAUNCH = {"kernel": "k", "grid": [1], "block": [1]}


def test_either_form() -> None:
    assert ReferenceSpec.model_validate("gold.py:f").python == "gold.py:f"
    kernels = ReferenceSpec.model_validate({"source": "naive.cu", "launches": [LAUNCH]})
    assert kernels.launches is not None
    assert kernels.launches[0].kernel == "k"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "expected path.py:function"),
        ({}, "neither is given"),
        ({"python": "a.py:f", "launches": [LAUNCH]}, "both are given"),
        ({"python": "a.py:f", "source": "k.cu"}, "belong to launches:"),
    ],
)
def test_what_is_no_reference(given: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ReferenceSpec.model_validate(given)
