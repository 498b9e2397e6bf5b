"""Lines of elements: one a line, its parts separated by a space."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.store.dumps import writer
from tests.store.dumps import oracle

RECORD = "{id:int32,score:float32,where:double2,ok:bool}"


def lines(array: np.typing.NDArray[np.generic], name: str) -> bytes:
    return bytes(writer.lines(array, dtypes.parse(name)))


def test_records_have_a_space_between_their_parts() -> None:
    name = "{id: int32, score: float32, ok: bool}"
    array = np.array([(1, 0.1, 1), (-2, np.nan, 0)], dtypes.parse(name).storage)
    assert lines(array, name) == b"1 0.1 1\n-2 nan(0x7fc00000) 0\n"


@given(st.sampled_from([RECORD, "float2", "{a:float2,b:float32}"]), st.data())
def test_any_bits_of_several_parts(name: str, data: st.DataObject) -> None:
    element = dtypes.parse(name)
    raw = data.draw(hnp.arrays(np.uint8, st.integers(0, 5).map(lambda count: count * element.size))).tobytes()
    words = [
        " ".join(oracle.word_of(bits, part.scalar) for bits, part in zip(row, element.parts, strict=True)) + "\n"
        for row in oracle.elements(raw, element)
    ]
    assert lines(oracle.array_of(raw, element), name).decode() == "".join(words)


def test_many_records() -> None:
    """More than are made at a time."""
    element = dtypes.parse(RECORD)
    array = np.zeros(40_000, element.storage)
    array["id"], array["score"] = np.arange(40_000), np.arange(40_000) / 8
    assert lines(array, RECORD) == b"".join(b"%d %s 0.0 0.0 0\n" % (k, str(k / 8).encode()) for k in range(40_000))


@pytest.mark.parametrize("name", ["float32", RECORD])
def test_no_elements_are_no_lines(name: str) -> None:
    assert lines(np.zeros(0, dtypes.parse(name).storage), name) == b""


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float64"])
def test_nans_keep_their_bits(name: str) -> None:
    element = dtypes.parse(name)
    bits = f"<u{element.size}"
    canonical = np.array([dtypes.CANONICAL_NAN[name]] * 2, bits)
    several = np.concatenate([canonical, canonical ^ np.array(1, bits), np.zeros(1, bits)])
    assert lines(canonical.view(element.storage), name) == b"nan\nnan\n"
    words = lines(several.view(element.storage), name).splitlines()
    assert words == [
        b"nan",
        b"nan",
        *[f"nan(0x{pattern:0{2 * element.size}x})".encode() for pattern in several[2:4]],
        b"0.0",
    ]
