from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.jobs.spec.models.function import FunctionSpec
from gpuregress.jobs.spec.models.job import JobSpec

JOB: dict[str, Any] = {"source": "k.cu", "buffers": {"x": {"dtype": "float32", "shape": [1]}}}
LAUNCH: dict[str, Any] = {"kernel": "k", "grid": [1], "block": [1]}


def test_a_name_alone_is_the_short_form() -> None:
    assert FunctionSpec.model_validate("clampz<float>") == FunctionSpec.model_validate({"name": "clampz<float>"})


@pytest.mark.parametrize("given", [3, [], {"scope": "block"}, {"name": "f", "scope": "warp"}, {"name": ""}])
def test_other_forms_are_refused(given: object) -> None:
    with pytest.raises(ValidationError):
        FunctionSpec.model_validate(given)


def test_a_job_has_launches_or_a_function() -> None:
    assert JobSpec.model_validate({**JOB, "function": "f"}).launches == []
    assert JobSpec.model_validate({**JOB, "launches": [LAUNCH]}).function is None
    with pytest.raises(ValidationError, match="both are given"):
        JobSpec.model_validate({**JOB, "function": "f", "launches": [LAUNCH]})
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(JOB)
    assert [(error["loc"], error["type"]) for error in caught.value.errors()] == [(("launches",), "missing")]


@pytest.mark.parametrize("given", [[], ["gpu"], "host"])
def test_twins_are_a_list_of_devices(given: object) -> None:
    with pytest.raises(ValidationError):
        JobSpec.model_validate({**JOB, "function": "f", "twins": given})
