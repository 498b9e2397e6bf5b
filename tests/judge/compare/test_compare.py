"""The package's interface: modules that need numpy are loaded on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpuregress.judge import compare


def test_numpy_is_loaded_for_arrays_only() -> None:
    code = (
        "import sys\n"
        "from gpuregress.foundation import dtypes\n"
        "from gpuregress.judge import compare\n"
        "from gpuregress.foundation import dtypes\nfrom gpuregress.judge import compare\n"
        "request = compare.ComparisonRequest('x', dtypes.parse('float32'), (2,))\n"
        "assert compare.identical(request).same\n"
        "before = 'numpy' in sys.modules\n"
        "compare.InOrder\n"
        "print(before, 'numpy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False True\n"


def test_every_name_of_the_interface_is_there() -> None:
    assert all(getattr(compare, name) is not None for name in compare.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = compare.nothing
