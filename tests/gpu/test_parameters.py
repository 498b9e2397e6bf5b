from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import Entry, Parameter
from gpuregress.gpu.programs import pack


def test_each_argument_is_at_its_alignment() -> None:
    entry = Entry("k", (Parameter(1, 1, "integer"), Parameter(8, 8, "float"), Parameter(2, 2, "integer")))
    assert pack(entry, (b"\1", b"\2" * 8, b"\3\4")) == b"\1" + bytes(7) + b"\2" * 8 + b"\3\4"


@given(st.lists(st.tuples(st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 3)), max_size=6))
def test_nothing_is_lost_and_all_is_aligned(shapes: list[tuple[int, int]]) -> None:
    entry = Entry("k", tuple(Parameter(align * count, align, "struct") for align, count in shapes))
    args = tuple(bytes([position + 1]) * parameter.size for position, parameter in enumerate(entry.parameters))
    packed = pack(entry, args)
    for data, parameter in zip(args, entry.parameters, strict=True):
        at = packed.index(data)
        assert at % parameter.alignment == 0
    assert len(packed) - packed.count(0) == sum(len(data) for data in args)


def test_a_wrong_size_names_the_parameter() -> None:
    entry = Entry("k", (Parameter(4, 4, "integer", "n"),))
    with pytest.raises(DeviceError, match="argument n has 4 bytes; 8 were given"):
        pack(entry, (bytes(8),))
