"""Evidence of a difference and the sentences made of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Finding
from gpuregress.gpu.records import replace
from gpuregress.judge.diagnose import evidence as module
from gpuregress.judge.diagnose import pattern_table
from gpuregress.judge.diagnose.evidence import Column, DifferenceSample, Evidence, Indices, fitting_mapping, per_part
from tests.judge.diagnose.planted import POISON, evidence, launch


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
    assert module.of_share("p", 1, 1, "is 0|are 0") == Finding("p", "the one differing element is 0")
    assert module.of_share("p", 1, 2, "is 0|are 0") == Finding("p", "1 of 2 differing elements are 0", 0.5)
    all_three = Finding("p", "all 3 differing elements are 0", summary="all are 0")
    assert module.of_share("p", 3, 3, "is 0|are 0") == all_three
    assert [module.named_blocks(np.arange(count)) for count in (1, 2)] == ["block 0", "blocks 0, 1"]
    assert module.listed(np.arange(3)) == "0, 1, 2"
    assert module.listed(np.arange(9)) == "0, 1, 2, 3, 4, 5 and 3 more"


FLOAT = dtypes.parse("float32")


def sampled(indices: Indices, cuts: int, monkeypatch: pytest.MonkeyPatch) -> tuple[DifferenceSample, Indices]:
    monkeypatch.setattr(module, "MOST", 100)
    monkeypatch.setattr(module, "SIZE", 40)
    gathered = DifferenceSample()
    for some in np.array_split(indices, cuts):
        gathered.add(some, some.astype("<f4"), -some.astype("<f4"))
    result, expected, actual = gathered.rows()
    assert (expected == result).all()
    assert (actual == -result).all()
    return gathered, result


@given(st.integers(1, 700), st.integers(1, 40), st.integers(1, 40), st.integers(1, 9))
def test_a_sample_does_not_depend_on_the_pieces(count: int, cuts: int, others: int, step: int) -> None:
    indices = np.arange(count, dtype=np.int64) * step
    with pytest.MonkeyPatch.context() as patch:
        gathered, result = sampled(indices, cuts, patch)
        assert result.tolist() == sampled(indices, others, patch)[1].tolist()
    assert gathered.of == count
    assert len(result) == (count if count <= 100 else 40)
    assert (np.diff(result) > 0).all()
    assert set(result.tolist()) <= set(indices.tolist())
    assert (result[0], result[-1]) == (indices[0], indices[-1])


def of_sample(indices: Indices, total: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The findings of a sample of rows that all hold the poison."""
    monkeypatch.setattr(module, "MOST", 3000)
    monkeypatch.setattr(module, "SIZE", 1000)
    gathered = DifferenceSample()
    values = np.random.default_rng(3).standard_normal(total).astype("<f4")[indices]
    gathered.add(indices, values, np.full(len(indices), int.from_bytes(POISON, "little"), "<u4").view("<f4"))
    places, expected, actual = gathered.rows()
    gathered_evidence = Evidence(
        FLOAT, (total // 64, 64), places, expected, actual, launch((90, 1, 1), (256, 1, 1)), POISON, of=gathered.of
    )
    assert gathered_evidence.is_sample
    return {result.pattern: result.message for result in pattern_table.diagnose(gathered_evidence)}


def test_a_sample_is_said_to_be_one_and_counts_are_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    total = 90 * 256 + 5120
    result = of_sample(np.arange(90 * 256, total), total, monkeypatch)
    seen = ", seen on a sample of 1,000 of 5,120 differing elements"
    assert all(message.endswith(seen) for message in result.values())
    assert f"elements 23040 to {total - 1}; the launch's 90 blocks of 256 threads end there" in result["never written"]
    assert result["tail"].startswith("the tail: all 5120 elements from 23040 to the end differ")


@pytest.mark.parametrize(
    ("chosen", "pattern", "says"),
    [
        (slice(0, None, 2), "stride", "every 2nd element: all 11520 from 0 to 23038"),
        (slice(6400, 12800), "stretch", "one stretch: all 6400 elements from 6400 to 12799 differ"),
    ],
)
def test_places_are_told_from_a_sample(chosen: slice, pattern: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    total = 90 * 256
    assert says in of_sample(np.arange(total)[chosen], total, monkeypatch)[pattern]


def test_whole_rows_and_scattered_ones_are_told_apart_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    total = 360 * 64
    row = np.arange(total) // 64
    result = of_sample(np.flatnonzero(row % 3 == 0), total, monkeypatch)
    assert "whole rows: 0, 3, 6, 9, 12, 15 and 114 more of 360, all 7680 elements" in result["row"]
    scattered = np.flatnonzero((row % 3 == 0) & (np.arange(total) * 7919 % 5 > 0))
    assert "row" not in of_sample(scattered, total, monkeypatch)


Three = tuple[int, int, int]


@pytest.mark.parametrize(
    ("grid", "block", "shape", "index", "message"),
    [
        ((8, 1, 1), (128, 1, 1), (1000,), 300, "block 2, thread 44 (warp 1, lane 12)"),
        ((8, 1, 1), (128, 1, 1), (8,), 3, "block 3"),
        ((2, 1, 1), (128, 1, 1), (1000,), 700, "block 1"),
        ((3, 3, 1), (16, 16, 1), (40, 48), 33 * 48 + 20, "block 7, thread 20 (warp 0, lane 20)"),
        ((3, 3, 1), (16, 16, 1), (60, 48), 0, ""),
        ((8, 1, 1), (128, 1, 1), (10, 100), 300, "block 2, thread 44 (warp 1, lane 12)"),
        ((10, 1, 1), (100, 2, 1), (1000,), 300, ""),
        ((100, 1, 1), (128, 1, 1), (1000,), 5, ""),
        ((1, 1, 1), (1, 1, 64), (64,), 5, ""),
    ],
)
def test_places(grid: Three, block: Three, shape: tuple[int, ...], index: int, message: str) -> None:
    assert pattern_table.thread_label(index, launch(grid, block), shape) == message


def test_tiles_cover_the_matrix_once() -> None:
    actual = fitting_mapping(launch((3, 3, 1), (16, 16, 1)), (40, 48))
    assert actual is not None
    at = np.arange(40 * 48)
    threads = actual.thread_of(at)
    assert threads is not None
    pairs = set(zip(actual.block_of(at).tolist(), threads.tolist(), strict=True))
    assert len(pairs) == 40 * 48
    assert max(actual.block_of(at)) == 8


def test_no_elements() -> None:
    assert fitting_mapping(launch((1, 1, 1), (1, 1, 1)), (0,)) is None
