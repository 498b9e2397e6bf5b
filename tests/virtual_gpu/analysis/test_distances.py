"""Bounds of distances, and the rules that exclude 0, compared with all numbers that atoms may have."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.analysis.lane_overlap import bases, bounds, never_equal, varying_part
from gpuregress.virtual_gpu.analysis.lane_values import CONSTANT, LANES, WIDTH, Atom, LaneValue, constant, of_atom, plus

A, B = Atom("a"), Atom("b")
LANE = np.arange(LANES)
_FACTORS = st.integers(-64, 64)


@st.composite
def _values(draw: st.DrawFn) -> LaneValue:
    value = constant(draw(_FACTORS) * LANE + draw(_FACTORS))
    for monomial in ((A,), (B,), (A, B)):
        value = plus(value, {monomial: np.zeros(LANES, np.int64) + draw(st.sampled_from([0, 0, 4, 8, 64]))})
    return value


def _numbers(value: LaneValue, a: int, b: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    known = {CONSTANT: 1, (A,): a, (B,): b, (A, B): a * b}
    total = np.zeros(LANES, np.int64)
    for monomial, lanes in value.items():
        total = total + lanes * known[monomial]
    return total


@given(_values(), _values(), st.sampled_from([1, 2, 4, 8]))
def test_distances_are_within_their_bounds(left: LaneValue, right: LaneValue, count: int) -> None:
    low, high = bounds(left, right)
    apart = never_equal(left, right, (count, count))
    for a, b in itertools.product((0, 1, 3, 10), repeat=2):
        distance = _numbers(left, a, b)[:, None] - _numbers(right, a, b)[None, :]
        assert (low <= distance).all()
        assert (distance <= high).all()
        assert not (apart & (abs(distance) < count)).any()


def test_a_row_has_more_threads_than_the_number_of_a_lane() -> None:
    left, right = constant(4 * LANE), plus(constant(4 * LANE), {(WIDTH,): np.full(LANES, 4)})
    _, high = bounds(left, right)
    assert (high <= -4).all()


def test_bases() -> None:
    shared, buffer = (of_atom(Atom(name, None)) for name in ("variable.s", "param.8"))
    assert bases(shared) == bases(plus(shared, buffer)) == {"variable.s"}
    assert bases(plus(buffer, constant(4 * LANE))) == {"param.8"}
    assert bases(of_atom(A)) == bases(plus(buffer, of_atom(A))) == set()


def test_the_part_that_varies() -> None:
    atom = Atom("loaded", None, varies=True)
    value = plus(constant(LANE), {(atom,): np.full(LANES, 4)})
    assert varying_part(value) == (atom, 4)
    assert varying_part(constant(3)) is None
    assert varying_part(plus(value, of_atom(Atom("other", None, varies=True)))) is None
