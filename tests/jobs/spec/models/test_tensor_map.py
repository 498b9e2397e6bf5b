from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.tensor_map import TensorMapSpec


def test_a_box_or_pixels() -> None:
    assert TensorMapSpec.of({"box": [64, "n"]}).swizzle == "none"
    pixels = {"lower": [0], "upper": [0], "channels": 8, "pixels": 4}
    assert TensorMapSpec.of({"im2col": pixels}).box is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([64, 64], "expected a mapping, such as {box: [64, 64], swizzle: 128B}"),
        ({}, "a tensor map has a box, or im2col for an im2col map: neither is given"),
        ({"box": [8], "im2col": {}}, "both are given"),
        ({"box": [8], "swizzle": "256B"}, "expected one of none, 32B, 64B, 128B"),
        ({"box": []}, "expected at least 1, got none"),
    ],
)
def test_other_forms_are_refused(given: Any, message: str) -> None:
    with pytest.raises(FormErrors) as caught:
        TensorMapSpec.of(given)
    assert message in str(caught.value)
