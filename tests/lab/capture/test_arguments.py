"""Arguments of a job from the bytes of a launch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Parameter
from gpuregress.lab.capture import jobs
from gpuregress.lab.capture.buffers import JobBuffer, Layout
from gpuregress.lab.capture.records import CapturedLaunch, RawParameter
from gpuregress.lab.capture.replay.launch import Patch
from gpuregress.lab.capture.signature import ParameterType


def written(data: bytes, type_: ParameterType | None = None, kind: str = "", layout: Layout | None = None) -> str:
    launch = CapturedLaunch(
        1, 1, "k", 1, (1, 1, 1), (1, 1, 1), (1, 1, 1), 0, (RawParameter(0, data),), (), (), None, None, "", True
    )
    compiled = (Parameter(len(data), 4, kind),) if kind else ()  # type: ignore[arg-type]
    (text,), _ = jobs.write_arguments(launch, layout or Layout((), ()), (type_ or ParameterType(),), compiled)
    return text


@pytest.mark.parametrize(
    ("data", "dtype", "kind", "expected"),
    [
        (np.float32(2.5).tobytes(), "float32", "float", "{float32: 2.5}"),
        (np.float32(0.1).tobytes(), "", "float", "{float32: 0.1}"),
        (np.float32(np.inf).tobytes(), "", "float", "{float32: inf}"),
        ((-3).to_bytes(4, "little", signed=True), "", "integer", "{int32: -3}"),
        ((1 << 31).to_bytes(4, "little"), "uint32", "integer", "{uint32: 2147483648}"),
        (b"\1", "bool", "integer", "{bool: true}"),
        (b"\7", "bool", "integer", "{int8: 7}"),
        (bytes(8), "", "pointer", "null"),
        (bytes(8), "", "word", "{int64: 0}"),
        (bytes(range(12)), "", "struct", "{struct: [{uint32: 50462976}, {uint32: 117835012}, {uint32: 185207048}]}"),
        (bytes(3), "", "struct", "{struct: [{uint8: 0}, {uint8: 0}, {uint8: 0}]}"),
    ],
)
def test_a_scalar_has_the_type_of_its_parameter(data: bytes, dtype: str, kind: str, expected: str) -> None:
    assert written(data, ParameterType("", dtype), kind) == expected


@given(st.binary(min_size=4, max_size=4))
def test_a_float_gives_its_bytes_back_or_is_written_as_an_integer(data: bytes) -> None:
    dtype, _, text = written(data, ParameterType("", "float32")).strip("{}").partition(": ")
    assert np.dtype(dtype).type(text).tobytes() == data


def test_pointers_are_buffers_alone_and_in_structs() -> None:
    layout = Layout((JobBuffer("x", "float32", 0, 0, 64),), (Patch(0, 0, 16),))
    assert written(bytes(8), layout=layout) == "{pointer: x, offset: 16}"
    inner = Layout((JobBuffer("x", "float32", 0, 0, 64),), (Patch(8, 0, 0),))
    assert written(b"\1" + bytes(15), layout=inner) == "{struct: [{uint32: 1}, {uint32: 0}, x]}"


def test_an_address_of_no_allocation_is_told() -> None:
    launch = CapturedLaunch(
        1,
        1,
        "k",
        1,
        (1, 1, 1),
        (1, 1, 1),
        (1, 1, 1),
        0,
        (RawParameter(0, (77 << 20).to_bytes(8, "little")),),
        (),
        (),
        None,
        None,
        "",
        True,
    )
    texts, remarks = jobs.write_arguments(launch, Layout((), ()), (ParameterType("", "float32", True),), ())
    assert texts == ["null"]
    assert remarks == ["argument 0 was 0x4d00000, which lies in no allocation; it is null here"]
