from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuregress.jobs.inputs import fills
from gpuregress.jobs.spec.models.buffer import BufferSpec, FillSpec


def test_the_fills_of_the_model_are_those_of_inputs() -> None:
    assert set(FillSpec.model_fields) == set(fills.FILLS)


def test_a_fill_is_a_word_or_a_mapping() -> None:
    assert FillSpec.model_validate("arange").kind == "arange"
    assert FillSpec.model_validate({"value": "n / 2"}).value == "n / 2"
    assert FillSpec.model_validate({"uniform": None}).kind == "uniform"


@pytest.mark.parametrize("fill", ["value", "zeroes", 5, {}, {"zeros": True, "ones": True}, {"zeros": 1}])
def test_other_fills_are_refused(fill: Any) -> None:
    with pytest.raises(ValidationError):
        FillSpec.model_validate(fill)


def test_a_record_is_a_dtype() -> None:
    buffer = BufferSpec.model_validate({"dtype": {"id": "int32", "score": "float32"}, "shape": ["n"]})
    assert buffer.dtype == "{id:int32,score:float32}"
    with pytest.raises(ValidationError, match="C's float is 'float32'"):
        BufferSpec.model_validate({"dtype": {"id": "float"}, "shape": [1]})
