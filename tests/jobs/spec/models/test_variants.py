from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.jobs.spec.models.variants import VariantsSpec


def test_switches_are_words_or_booleans() -> None:
    spec = VariantsSpec.model_validate({"fmad": ["on", False], "arch": ["sm_80", "sm_90"]})
    assert (spec.fmad, spec.fast_math, spec.arch) == (["on", "off"], None, ["sm_80", "sm_90"])
    assert spec.differences == "report"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing to compare"),
        ({"fmad": ["on"]}, "nothing to compare"),
        ({"fmad": ["on", True]}, "fmad lists a value twice"),
        ({"fmad": ["on", "maybe"]}, "expected on or off, got 'maybe'"),
        ({"arch": ["sm_80", "sm_1"]}, "sm_1"),
        ({"fmad": ["on", "off"], "differences": "ignore"}, "literal_error"),
        ({"ftz": ["on", "off"]}, "extra_forbidden"),
    ],
)
def test_what_is_no_choice_of_settings(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        VariantsSpec.model_validate(given)
    assert said in str(caught.value)
