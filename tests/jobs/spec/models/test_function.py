from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.function import FunctionSpec
from gpuregress.jobs.spec.models.job import JobSpec

JOB: dict[str, Any] = {"source": "k.cu", "buffers": {"x": {"dtype": "float32", "shape": [1]}}}


def test_a_name_alone_is_the_short_form() -> None:
    assert FunctionSpec.of("clampz<float>") == FunctionSpec.of({"name": "clampz<float>"})


@pytest.mark.parametrize("given", [3, [], {"scope": "block"}, {"name": "f", "scope": "warp"}, {"name": ""}])
def test_other_forms_are_refused(given: object) -> None:
    with pytest.raises(FormErrors):
        FunctionSpec.of(given)


@pytest.mark.parametrize("given", [[], ["gpu"], "host"])
def test_twins_are_a_list_of_devices(given: object) -> None:
    with pytest.raises(FormErrors):
        JobSpec.of({**JOB, "function": "f", "twins": given})
