from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.execution.runner import python_reference
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Buffer
from gpuregress.gpu.records import replace
from tests import fakes

MODULE = """
def twice(inputs, case):
    assert not inputs["x"].flags.writeable
    return inputs["x"] * 2
"""


def test_a_function_calculates_with_bfloat16_as_with_numbers(tmp_path: Path) -> None:
    module = tmp_path / "gold.py"
    module.write_text(MODULE)
    case = replace(fakes.case("double"), buffers={name: Buffer(name, "bfloat16", (3,)) for name in ("x", "y")})
    bits = dtypes.from_float32(np.array([1.5, -3.0, 0.0078125], np.float32))
    actual = python_reference.compute(f"{module}:twice", case, "y", {"x": bits}).array
    assert actual.dtype == np.uint16
    assert actual.tolist() == dtypes.from_float32(np.array([3, -6, 0.015625], np.float32)).tolist()
