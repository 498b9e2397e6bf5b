from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.inputs import fills
from gpuregress.jobs.spec.models.buffer import BufferSpec, FillSpec


def test_the_fills_of_the_model_are_those_of_inputs() -> None:
    assert set(FillSpec.key_names()) == set(fills.FILLS)


def test_a_fill_is_a_word_or_a_mapping() -> None:
    assert FillSpec.of("arange").kind == "arange"
    assert FillSpec.of({"value": "n / 2"}).value == "n / 2"
    assert FillSpec.of({"uniform": None}).kind == "uniform"


@pytest.mark.parametrize("fill", ["value", "zeroes", 5, {}, {"zeros": True, "ones": True}, {"zeros": 1}])
def test_other_fills_are_refused(fill: Any) -> None:
    with pytest.raises(FormErrors):
        FillSpec.of(fill)


def test_a_record_is_a_dtype() -> None:
    buffer = BufferSpec.of({"dtype": {"id": "int32", "score": "float32"}, "shape": ["n"]})
    assert buffer.dtype == "{id:int32,score:float32}"
    with pytest.raises(FormErrors, match="C's float is 'float32'"):
        BufferSpec.of({"dtype": {"id": "float"}, "shape": [1]})
