"""Hashes of rows and of multisets of rows."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import row_hash
from tests.judge.compare.rooms import array

RECORD = "{id:int32,score:float32}"


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bfloat16", "complex64"])
def test_rows_of_other_values_have_other_hashes(dtype: str) -> None:
    kind = dtypes.parse(dtype)
    hashes = row_hash.rows(array(dtype, range(200)), kind)
    assert len(np.unique(hashes)) == 200
    assert (row_hash.rows(array(dtype, range(200)), kind) == hashes).all()


def test_zeros_and_nans() -> None:
    kind = dtypes.parse("float32")
    values = np.array([0x0, 0x80000000, 0x7FC00000, 0xFFC00001], "<u4").view("<f4")
    plus, minus, nan, other_nan = row_hash.rows(values, kind)
    assert plus != minus
    assert nan == other_nan
    merged = row_hash.rows(values, kind, merge_zeros=True)
    assert merged[0] == merged[1]


def test_the_columns_that_count() -> None:
    kind = dtypes.parse(RECORD)
    rows = array(RECORD, [(1, 2.0), (1, 3.0), (2, 2.0)])
    by_id = row_hash.rows(rows, kind, only=(0,))
    assert by_id[0] == by_id[1] != by_id[2]
    assert len(np.unique(row_hash.rows(rows, kind))) == 3


def test_every_part_of_a_row_counts() -> None:
    kind = dtypes.parse("{a:int32,b:int32,c:int32,d:int32,e:int32}")
    rows = np.zeros(6, kind.storage)
    for number, part in enumerate(kind.parts):
        rows[part.name][number] = 1
    assert len(np.unique(row_hash.rows(rows, kind))) == 6
    assert row_hash.differences(rows[:5], np.zeros(5, kind.storage), kind) == (5, False)


def test_a_multiset_keeps_the_multiplicity_and_forgets_the_order() -> None:
    kind = dtypes.parse("float32")
    values = array("float32", [1, 2, 2, 3])
    assert row_hash.total(values, kind) == row_hash.total(values[::-1], kind)
    assert row_hash.total(values, kind) != row_hash.total(array("float32", [1, 2, 3, 3]), kind)
    assert row_hash.differences(values, array("float32", [2, 1, 2, 3]), kind) == (2, True)
    assert row_hash.differences(values, array("float32", [1, 2, 2, 4]), kind) == (1, False)
