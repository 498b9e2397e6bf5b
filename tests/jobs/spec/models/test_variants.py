from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.compilation import VariantsSpec


def test_switches_are_words_or_booleans() -> None:
    spec = VariantsSpec.of({"fmad": ["on", False], "arch": ["sm_80", "sm_90"]})
    assert (spec.fmad, spec.fast_math, spec.arch) == (["on", "off"], None, ["sm_80", "sm_90"])
    assert spec.differences == "report"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing to compare"),
        ({"fmad": ["on"]}, "nothing to compare"),
        ({"fmad": ["on", True]}, "fmad lists a value twice"),
        ({"fmad": ["on", "maybe"]}, "expected one of on, off; got 'maybe'"),
        ({"arch": ["sm_80", "sm_1"]}, "sm_1"),
        ({"fmad": ["on", "off"], "differences": "ignore"}, "expected one of"),
        ({"ftz": ["on", "off"]}, "unknown key"),
    ],
)
def test_what_is_no_choice_of_settings(given: dict[str, Any], said: str) -> None:
    with pytest.raises(FormErrors) as caught:
        VariantsSpec.of(given)
    assert said in str(caught.value)
