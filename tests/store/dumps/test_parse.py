"""Lines of text to arrays: rounding to 16 bits, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError
from gpuregress.store.dumps import parse
from tests.store.dumps import oracle

PATH = Path("runs/x/sum.1.4")


def parsed(value: float) -> int:
    """The bfloat16 bits that a decimal is parsed to."""
    return int(parse.rows(f"{value!r}\n".encode(), dtypes.parse("bfloat16"), 1, PATH, 2)[0])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("float32", b"1\n\n", ":3: the line is empty"),
        ("float2", b"1 2\n3\n", ":3: 1 words where a float2 has 2: '3'"),
        ("int8", b"127\n128\n", ":3: invalid int8 '128'"),
        ("float16", b"65504\n65520\n", ":3: invalid float16 '65520'"),
        ("float32", b"1\nnan(0x7f800000)\n", ":3: invalid float32 'nan(0x7f800000)'"),
        ("bool", b"1\r\n", ":2: the line ends as on Windows"),
    ],
)
def test_a_wrong_line_is_named(name: str, text: bytes, says: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse.rows(text, dtypes.parse(name), text.count(b"\n"), PATH, 2)
    assert f"{PATH}{says}" in str(caught.value)


def test_nans_keep_their_bits() -> None:
    rows = parse.rows(b"nan\n1.5\nnan(0xffc00001)\n", dtypes.parse("float32"), 3, PATH, 2)
    assert rows.view(np.uint32).tolist() == [0x7FFFFFFF, 0x3FC00000, 0xFFC00001]


def check_rounding(value: float) -> None:
    expected = oracle.nearest_bfloat16(value)
    if np.isfinite(value) and expected & 0x7FFF == 0x7F80:
        with pytest.raises(DumpError, match="invalid bfloat16"):
            parsed(value)
    else:
        assert parsed(value) == expected


@given(st.floats(allow_nan=False))
def test_rounding_once_to_bfloat16(value: float) -> None:
    check_rounding(value)


@given(st.integers(0, 0x7F7F), st.sampled_from([-1, 0, 1]))
def test_rounding_near_a_tie_to_bfloat16(code: int, nudge: int) -> None:
    """Rounding first to float32 would go wrong here."""
    tie = (oracle.number(code, oracle.BFLOAT16) + oracle.number(min(code + 1, 0x7F7F), oracle.BFLOAT16)) / 2
    check_rounding(float(np.nextafter(tie, np.inf * nudge)) if nudge else tie)
