from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.jobs.spec.resolve import launches

FLOATS = ("float16", "bfloat16", "float32", "float64")


@given(st.sampled_from(FLOATS), st.floats())
@example("float16", 65519.99)
@example("float16", 65520.0)
@example("float32", 3.4028235677973366e38)
@example("bfloat16", 3.396e38)
@example("float32", 1e-45)
@example("float32", 1e-46)
@example("float16", 2.0**-25)
@example("float16", 0.015625)
def test_a_float_has_the_bits_that_numpy_rounds_it_to(name: str, value: float) -> None:
    element = dtypes.parse(name)
    with np.errstate(over="ignore", under="ignore"):
        wide = np.array([value])
        bits = dtypes.from_float32(wide.astype("<f4")) if name == "bfloat16" else wide.astype(element.storage)
    read = dtypes.to_float(bits, element.parts[0].scalar)
    if math.isfinite(value) and not np.isfinite(read[0]):
        with pytest.raises(ValueError, match="too large"):
            launches.pack(element, (value,))
        return
    if value and read[0] == 0:
        with pytest.raises(ValueError, match="too small"):
            launches.pack(element, (value,))
        return
    data, text = launches.pack(element, (value,))
    if math.isnan(value):
        assert text == "nan"
    else:
        assert data == bits.tobytes()
        assert np.array([float(text)]).astype(read.dtype)[0] == read[0]
        assert float(text) == float(str(read[0])), "the fewest digits"


def test_a_number_is_written_as_short_as_it_can_be() -> None:
    texts = [launches.pack(dtypes.parse("float32"), (value,))[1] for value in (0.1, 0.5, 5726140.5, 1e-5, -0.0)]
    assert texts == ["0.1", "0.5", "5726140.5", "1e-05", "-0.0"]
    assert launches.pack(dtypes.parse("float16"), (65504,))[1] == "65500.0"


def test_a_vector_has_its_parts_in_their_places() -> None:
    data, text = launches.pack(dtypes.parse("float2"), (1.5, -2))
    assert data == struct.pack("<ff", 1.5, -2)
    assert text == "(1.5, -2.0)"
