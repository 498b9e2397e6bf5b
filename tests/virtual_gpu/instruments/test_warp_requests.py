"""Combination of lanes: sectors, bank conflicts, contention and divergence of known patterns, and by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.instruments import exact_costs
from gpuregress.virtual_gpu.instruments.exact_costs import INACTIVE, Words

LANES = np.arange(32, dtype=np.uint64)


def _row(values: object) -> Words:
    return np.asarray(values, np.uint64).reshape(1, 32)


@pytest.mark.parametrize(
    ("stride", "size", "expected"), [(4, 4, 4), (8, 4, 8), (32, 4, 32), (0, 4, 1), (16, 16, 16), (8, 8, 8), (1, 1, 1)]
)
def test_sectors_of_strides(stride: int, size: int, expected: int) -> None:
    assert exact_costs.sectors(_row(LANES * np.uint64(stride)), size) == expected


@pytest.mark.parametrize(
    ("stride", "size", "expected"),
    [(4, 4, (1, 0)), (8, 4, (2, 1)), (128, 4, (32, 31)), (132, 4, (1, 0)), (0, 4, (1, 0)), (8, 8, (2, 0)),
     (16, 16, (4, 0)), (256, 8, (32, 30)), (1, 1, (1, 0))],
)  # fmt: skip
def test_bank_conflicts_of_strides(stride: int, size: int, expected: tuple[int, int]) -> None:
    assert exact_costs.bank_conflicts(_row(LANES * np.uint64(stride)), size) == expected


@pytest.mark.parametrize(
    ("group", "step", "size", "expected"),
    [(16, 16, 8, 1), (8, 8, 16, 2), (4, 8, 8, 3), (2, 8, 16, 14), (2, 16, 8, 15), (1, 1, 8, 0), (1, 2, 8, 2)],
)
def test_loads_of_equal_words_are_merged_as_on_an_h200(group: int, step: int, size: int, expected: int) -> None:
    row = _row(LANES // np.uint64(group) * np.uint64(step * size))
    assert exact_costs.bank_conflicts(row, size, merges=True)[1] == expected


@given(st.lists(st.one_of(st.none(), st.integers(0, 300)), min_size=32, max_size=32))
def test_counts_are_those_of_brute_force(words: list[int | None]) -> None:
    row = _row([INACTIVE if word is None else 4 * word for word in words])
    active = [word for word in words if word is not None]
    assert exact_costs.requests(row) == bool(active)
    assert exact_costs.sectors(row, 4) == len({word // 8 for word in active})
    banks = [len({word for word in active if word % 32 == bank}) for bank in range(32)]
    assert exact_costs.bank_conflicts(row, 4) == (max(banks), max(0, max(banks) - bool(active)))
    assert exact_costs.contended(row) == len(active) - len(set(active))


def test_a_branch_diverges_where_lanes_of_one_warp_go_both_ways() -> None:
    taken = np.stack([LANES % np.uint64(2), np.ones(32, np.uint64), np.full(32, INACTIVE)])
    assert exact_costs.divergent_branches(taken) == (2, 1)


def test_rows_of_one_way_and_iteration_are_one_execution() -> None:
    way = np.repeat(np.array([1, 2], np.uint64), 64)
    lane = np.tile(np.repeat(LANES, 2), 2)
    iteration = np.tile(np.array([0, 1], np.uint64), 64)
    groups = exact_costs.group_rows(way << np.uint64(5) | lane, iteration)
    assert groups.count == 4
    assert (np.sort(groups.matrix(lane), axis=1) == LANES).all()


def test_a_lane_that_comes_twice_makes_two_executions() -> None:
    groups = exact_costs.group_rows(np.array([32, 32, 33, 33, 33], np.uint64), np.zeros(5, np.uint64))
    assert groups.count == 3
    assert sorted(np.bincount(groups.group)) == [1, 2, 2]
