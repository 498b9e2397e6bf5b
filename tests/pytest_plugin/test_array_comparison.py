"""Arrays compared with dumps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Rule
from gpuregress.pytest_plugin.regression import difference
from gpuregress.store.dumps import writer
from tests import float_environments

FLOAT = dtypes.parse("float32")


def baseline(folder: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Path:
    writer.write(folder / "y.dump", array, FLOAT, array.shape)
    return folder / "y.dump"


def test_equal_arrays_have_no_difference(tmp_path: Path) -> None:
    array = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    path = baseline(tmp_path, array)
    assert difference("y", array, FLOAT, Rule(), path) == ""
    assert difference("y", array + np.float32(1e-6), FLOAT, Rule(atol=1e-5), path) == ""
    assert difference("y", array[::-1, ::-1], FLOAT, Rule(order="any"), path) == ""
    assert difference("y", array[:0], FLOAT, Rule(), baseline(tmp_path, array[:0])) == ""


@pytest.mark.parametrize("rule", [Rule(rtol=1e-3), Rule(atol=1e-42), Rule(order="any")])
def test_a_test_that_flushes_subnormals_is_compared_with_them(tmp_path: Path, rule: Rule) -> None:
    path = baseline(tmp_path, np.full(4, 1e-40, np.float32))
    with float_environments.left_behind():
        text = difference("y", np.zeros(4, np.float32), FLOAT, rule, path)
    assert "was 1e-40" in text


def test_a_difference_is_told_with_what_it_looks_like(tmp_path: Path) -> None:
    array = np.arange(1, 101, dtype=np.float32)
    path = baseline(tmp_path, array)
    cut = array.copy()
    cut[96:] = 0
    text = difference("y", cut, FLOAT, Rule(), path)
    assert "y (baseline): 4 of 100 differ" in text
    assert "looks like: the tail: all 4 elements from 96 to the end differ, and none before" in text
    assert "rule: every bit equal" in text
    assert "only in" in difference("y", cut, FLOAT, Rule(order="any"), path) or "differ" in text


def test_another_kind_of_array_and_a_damaged_baseline(tmp_path: Path) -> None:
    path = baseline(tmp_path, np.zeros(3, np.float32))
    assert (
        difference("y", np.zeros(4, np.float32), FLOAT, Rule(), path) == "y: float32 [4], the baseline has float32 [3]"
    )
    doubles = difference("y", np.zeros(3), dtypes.parse("float64"), Rule(), path)
    assert doubles == "y: float64 [3], the baseline has float32 [3]"
    path.write_text("# gpuregress 1 float32 [3]\n1\n")
    assert "holds 1 elements where its header says 3" in difference("y", np.zeros(3, np.float32), FLOAT, Rule(), path)
    assert difference("y", np.zeros(3), FLOAT, Rule(), tmp_path / "gone.dump") == "y: no baseline yet"
