from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.jobs.spec.models.tensor_map import TensorMapSpec


def test_a_box_or_pixels() -> None:
    assert TensorMapSpec.model_validate({"box": [64, "n"]}).swizzle == "none"
    pixels = {"lower": [0], "upper": [0], "channels": 8, "pixels": 4}
    assert TensorMapSpec.model_validate({"im2col": pixels}).box is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([64, 64], "expected a mapping, such as {box: [64, 64], swizzle: 128B}"),
        ({}, "a tensor map has a box, or im2col for an im2col map: neither is given"),
        ({"box": [8], "im2col": {}}, "both are given"),
        ({"box": [8], "swizzle": "256B"}, "'none', '32B', '64B' or '128B'"),
        ({"box": []}, "at least 1 item"),
    ],
)
def test_other_forms_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TensorMapSpec.model_validate(given)
    assert message in str(caught.value)
