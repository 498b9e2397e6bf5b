"""Arrays of one launch: shared memory, aliases, what is written back."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.api import arrays
from gpuregress.api.kernel import CallContents


def test_arrays_go_into_the_shared_memory_and_outputs_come_back() -> None:
    x, y = np.arange(3, dtype=np.float32), np.zeros(5, np.int16)
    contents = CallContents("k")
    contents.add("x", arrays.view(x), is_output=False)
    contents.add("y", arrays.view(y), is_output=True)
    laid_out, size = contents.laid_out()
    assert [(one.name, one.offset, one.size, one.itemsize, one.is_output) for one in laid_out] == [
        ("x", 0, 12, 4, False),
        ("y", 64, 10, 2, True),
    ]
    memory = np.zeros(size, np.uint8)
    contents.fill(memory)
    assert memory[:12].tobytes() == x.tobytes()
    memory[:] = 1
    contents.take(memory)
    assert x.tolist() == [0, 1, 2]
    assert y.tolist() == [257] * 5


def test_the_same_array_is_one_buffer_and_an_output_if_any_pointer_to_it_is() -> None:
    x = np.arange(3, dtype=np.float32)
    contents = CallContents("k")
    assert contents.add("x", arrays.view(x), is_output=False) == "x"
    assert contents.add("y", arrays.view(x), is_output=True) == "x"
    (one,) = contents.laid_out()[0]
    assert one.is_output


def test_arrays_that_overlap_are_refused() -> None:
    x = np.arange(6, dtype=np.float32)
    contents = CallContents("k")
    contents.add("x", arrays.view(x[:4]), is_output=False)
    contents.add("empty", arrays.view(x[:0]), is_output=True)
    with pytest.raises(ValueError, match="k: x and y overlap in memory; pass one array, or copies"):
        contents.add("y", arrays.view(x[2:]), is_output=True)
    contents.add("::table", arrays.view(x[2:]), is_output=True, symbol="table")


def test_a_read_only_array_may_be_passed_where_nothing_is_written() -> None:
    x = np.arange(3, dtype=np.float32)
    x.flags.writeable = False
    contents = CallContents("k")
    contents.add("x", arrays.view(x), is_output=True)
    memory = np.zeros(contents.laid_out()[1], np.uint8)
    contents.fill(memory)
    contents.take(memory)
    memory[0] = 1
    with pytest.raises(ValueError, match="k wrote x, which is read-only"):
        contents.take(memory)
