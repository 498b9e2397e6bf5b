from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.spec.models.compilation import CompileSpec, PlainTextSpec


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (128, 128),
        (True, 1),
        ("tile * 2", "tile * 2"),
        (None, PlainTextSpec(text="")),
        ({"text": "float"}, PlainTextSpec(text="float")),
    ],
)
def test_defines(given: Any, value: Any) -> None:
    assert CompileSpec.model_validate({"defines": {"X": given}}).defines["X"] == value


@pytest.mark.parametrize("given", ["const float*", [1], {"text": 5}, {"txt": "a"}])
def test_other_defines_are_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        CompileSpec.model_validate({"defines": {"X": given}})


def test_an_architecture_is_one_of_the_compiler() -> None:
    assert CompileSpec.model_validate({"arch": "sm_90a"}).arch == "sm_90a"
    with pytest.raises(ValidationError, match="unknown architecture 'sm_91'"):
        CompileSpec.model_validate({"arch": "sm_91"})
