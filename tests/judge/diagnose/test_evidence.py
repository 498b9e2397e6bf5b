"""Evidence of a difference and the sentences made of it."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.records import Finding
from gpuregress.gpu.records import replace
from gpuregress.judge.diagnose import evidence as module
from gpuregress.judge.diagnose.evidence import Column, per_part
from tests.judge.diagnose.planted import evidence, launch


def test_the_parts_that_differ_have_their_rows() -> None:
    kind = np.dtype([("x", "<f4"), ("y", "<f4")])
    expected, actual = np.zeros(6, kind), np.zeros(6, kind)
    actual["x"][[1, 4]] = 2
    actual["y"][4] = np.nan
    seen = evidence(expected, actual, dtype="float2")
    assert [(column.part.name, column.indices.tolist()) for column in seen.columns] == [("x", [1, 4]), ("y", [4])]
    x, y = seen.columns
    assert (x.e.tolist(), x.a.tolist()) == ([0, 0], [2, 2])
    assert x.finite.all()
    assert not y.finite.any()
    assert x.xor.tolist() == [0x40000000] * 2


def test_a_sample_knows_how_many_differ() -> None:
    whole = evidence(np.zeros(100, "<f4"), np.ones(100, "<f4"))
    assert (whole.differing, whole.is_sample, whole.total) == (100, False, 100)
    sampled = replace(whole, of=400)
    assert (sampled.differing, sampled.is_sample) == (400, True)
    assert whole.fills(np.array([95]), np.array([100]))
    assert not whole.fills(np.array([94, 100]), np.array([100, 100]))
    assert sampled.fills(np.array([10]), np.array([420]))


def test_the_mapping_needs_a_launch() -> None:
    arrays = np.zeros(256, "<f4"), np.ones(256, "<f4")
    assert evidence(*arrays).mapping is None
    mapping = evidence(*arrays, launch((2, 1, 1), (128, 1, 1))).mapping
    assert mapping is not None
    assert mapping.kind == "thread"


def test_the_best_part_speaks_for_the_element() -> None:
    kind = np.dtype([("x", "<f4"), ("y", "<f4")])
    expected, actual = np.zeros(4, kind), np.zeros(4, kind)
    actual["x"], actual["y"][0] = 1, 1

    def pattern(column: Column) -> Finding:
        return Finding("p", f"{column.count} rows")

    assert per_part(pattern)(evidence(expected, actual, dtype="float2")) == Finding("p", "x: 4 rows")
    assert per_part(lambda _column: None)(evidence(expected, actual, dtype="float2")) is None


def test_sentences() -> None:
    assert (module.share(3, 3), module.share(1, 3)) == ("all 3", "1 of 3")
    assert module.differing(1, 1, "is|are") == "the one differing element is"
    assert module.differing(1, 2, "is|are") == "1 of 2 differing elements are"
    assert module.listed(np.arange(3)) == "0, 1, 2"
    assert module.listed(np.arange(9)) == "0, 1, 2, 3, 4, 5 and 3 more"
