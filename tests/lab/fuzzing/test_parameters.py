from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Launch
from gpuregress.lab.fuzzing import candidates
from tests import fakes


def test_edges_begin_with_the_most_telling() -> None:
    found = candidates.parameter_edges([64, 100], [32])
    assert found[:9] == (0, 1, 63, 65, 99, 101, 31, 33, 32)
    assert {127, 128, 129, 15, 16, 17, 49} <= set(found)
    assert not {64, 100} & set(found)


def test_negative_values_only_beside_negative_ones() -> None:
    assert min(candidates.parameter_edges([4], [])) == 0
    assert set(candidates.parameter_edges([-4, 4], [])) >= {-5, -3, -1}


def test_edges_of_floats() -> None:
    assert candidates.parameter_edges([1.0, 2.5], [32]) == (0.0, -1.0)


def test_blocks_of_a_case() -> None:
    launches = (Launch("k", (1, 1, 1), (32, 4, 1), 0, ()),)
    assert candidates.block_sizes(fakes.case("double", launches=launches)) == {32, 4, 128}


@given(st.lists(st.integers(-1000, 100_000), min_size=1, max_size=4), st.lists(st.integers(1, 1024), max_size=3))
def test_edges_are_bounded_new_and_without_repetition(own: list[int], blocks: list[int]) -> None:
    found = candidates.parameter_edges(own, blocks)
    assert len(set(found)) == len(found)
    assert not set(found) & set(own)
    assert all(candidates.least_value(own) <= value <= candidates.most_value(own, blocks) for value in found)
