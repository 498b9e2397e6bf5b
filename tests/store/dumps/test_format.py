"""Lines of few elements, formatted without polars, against the lines that polars makes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from gpuregress.foundation import dtypes
from gpuregress.store.dumps import writer as dump_format

assert pl  # loaded: `lines` takes it for few elements too


def without_polars(array: np.ndarray[tuple[int], np.dtype[np.generic]], name: str) -> bytes:
    """The lines as `format` makes them before polars is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "polars")
        return bytes(dump_format.lines(array, dtypes.parse(name)))


def test_records_have_a_space_between_their_parts() -> None:
    name = "{id: int32, score: float32, ok: bool}"
    array = np.array([(1, 0.1, 1), (-2, np.nan, 0)], dtypes.parse(name).storage)
    assert (
        without_polars(array, name)
        == bytes(dump_format.lines(array, dtypes.parse(name)))
        == b"1 0.1 1\n-2 nan(0x7fc00000) 0\n"
    )


def test_no_elements_are_no_lines() -> None:
    assert without_polars(np.zeros(0, "<f4"), "float32") == bytes(
        dump_format.lines(np.zeros(0, "<f4"), dtypes.parse("float32"))
    )


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float64"])
def test_nans_keep_their_bits(name: str) -> None:
    element = dtypes.parse(name)
    bits = f"<u{element.size}"
    canonical = np.array([dtypes.CANONICAL_NAN[name]] * 2, bits)
    several = np.concatenate([canonical, canonical ^ np.array(1, bits), np.zeros(1, bits)])
    for array in (canonical, several):
        column = array.view(element.storage)
        assert without_polars(column, name) == bytes(dump_format.lines(column, element))
    assert bytes(dump_format.lines(several.view(element.storage), element)).splitlines()[0] == b"nan"
    assert bytes(dump_format.lines(several.view(element.storage), element)).count(b"nan(0x") == 2


def test_polars_is_loaded_for_many_elements_only() -> None:
    code = (
        "import sys, numpy as np\n"
        "from gpuregress.foundation import dtypes\n"
        "from gpuregress.store.dumps import writer\n"
        "element = dtypes.parse('float32')\n"
        "writer.lines(np.zeros(writer.MOST_WITHOUT_POLARS, '<f4'), element)\n"
        "few = 'polars' in sys.modules\n"
        "writer.lines(np.zeros(writer.MOST_WITHOUT_POLARS + 1, '<f4'), element)\n"
        "print(few, 'polars' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"
