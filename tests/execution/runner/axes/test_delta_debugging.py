from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.runner.axes.delta_debugging import smallest


@given(st.integers(1, 60), st.sets(st.integers(0, 59), min_size=1, max_size=4))
def test_what_is_needed_is_found_and_nothing_else(count: int, needed: set[int]) -> None:
    changes = range(max(count, *(one + 1 for one in needed), 1))
    assert smallest(changes, lambda tried: needed <= set(tried)) == sorted(needed)


@given(st.sets(st.sets(st.integers(0, 19), min_size=1, max_size=3).map(frozenset), min_size=1, max_size=4))
def test_no_change_of_the_subset_can_be_left_out(causes: set[frozenset[int]]) -> None:
    def fails(tried: Sequence[int]) -> bool:
        return any(cause <= set(tried) for cause in causes)

    found = smallest(range(20), fails)
    assert fails(found)
    assert not any(fails([one for one in found if one != left]) for left in found if len(found) > 1)


def test_the_smallest_one_so_far_is_returned_when_no_more_are_tried() -> None:
    tried = list[list[int]]()

    def fails(subset: Sequence[int]) -> bool | None:
        tried.append(list(subset))
        return None if len(tried) > 1 else 7 in subset

    assert smallest(range(8), fails) == list(range(8))
    assert len(tried) == 2
