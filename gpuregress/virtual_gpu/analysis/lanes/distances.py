"""Distances of two addresses, for each two lanes: bounds, and rules that exclude 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.analysis.lanes.values import CONSTANT, LANES, WIDTH, Atom, Lanes, LaneValue, plus

Pairs: TypeAlias = npt.NDArray[np.bool_]
"""For each lane (row) of the earlier access and each lane (column) of the later one, something about both."""
Bounds: TypeAlias = npt.NDArray[np.int64]

_FAR = 1 << 60
_ZERO = np.zeros(LANES, np.int64)
_LANES_THERE = np.maximum(np.arange(LANES)[:, None], np.arange(LANES)[None, :]) + 1
"""The threads that a row has at least if it has both lanes."""


def is_zero(left: LaneValue, right: LaneValue) -> bool:
    """Whether two values are equal."""
    return not any(lanes_.any() for lanes_ in plus(left, right, -1).values())


def varying_part(value: LaneValue) -> tuple[Atom, int] | None:
    """The one atom of a value that varies, and its factor, the same in all lanes; None where it is not so."""
    parts = [(key, lanes_) for key, lanes_ in value.items() if any(atom.varies for atom in key)]
    if len(parts) != 1 or len(parts[0][0]) != 1 or (parts[0][1] != parts[0][1][0]).any():
        return None
    return parts[0][0][0], int(parts[0][1][0])


def bases(value: LaneValue) -> set[str]:
    """The variables and parameters to whose address a value adds an offset; none where they are not known."""
    atoms = [(key[0], lanes) for key, lanes in value.items() if len(key) == 1 and (abs(lanes) == 1).all()]
    variables = {atom.name for atom, _ in atoms if atom.name.startswith("variable.")}
    if variables or any(not atom.name.startswith("param.") for atom, _ in atoms):
        return variables  # What is not known may be an address, and a parameter an offset.
    return {atom.name for atom, _ in atoms}


def _terms(left: LaneValue, right: LaneValue, *, crosswise: bool = True) -> Iterator[tuple[tuple[Atom, ...], Bounds]]:
    """The constant and the other monomials of `left - right` that are not 0; those that vary, for both apart."""
    for monomial in left.keys() | right.keys():
        mine, theirs = left.get(monomial, _ZERO), right.get(monomial, _ZERO)
        a = mine[:, None] if crosswise else mine
        if any(atom.varies for atom in monomial):
            if mine.any():
                yield monomial, a + 0 * theirs
            if theirs.any():
                yield monomial, 0 * a - theirs
        elif monomial == CONSTANT or not _cancel(mine, theirs):
            yield monomial, a - theirs


def _cancel(a: Lanes, b: Lanes) -> bool:
    """Whether two coefficients are one number, the same in all lanes: those of most monomials are."""
    return bool(a[0] == b[0]) and a.tobytes() == b.tobytes() and bool((a == a[0]).all())


def bounds(left: LaneValue, right: LaneValue) -> tuple[Bounds, Bounds]:
    """Lower and upper bounds of `left - right`, for each lane of one and each of the other."""
    return _bounds(_terms(left, right), _LANES_THERE)


def bounds_in_lane(left: LaneValue, right: LaneValue) -> tuple[Bounds, Bounds]:
    """Lower and upper bounds of `left - right`, each in the same lane: the diagonals of `bounds`."""
    return _bounds(_terms(left, right, crosswise=False), _LANES_THERE.diagonal())


def _bounds(terms: Iterator[tuple[tuple[Atom, ...], Bounds]], there: Bounds) -> tuple[Bounds, Bounds]:
    """The bounds of a sum of terms; `there`: the threads that a row has at least."""
    low, high = np.zeros_like(there), np.zeros_like(there)
    for monomial, factors in terms:
        if monomial == CONSTANT:
            low, high = low + factors, high + factors
            continue
        least = _least(monomial, there)
        if least is None:
            unknown = factors != 0
            if unknown.all():
                return np.full_like(there, -_FAR), np.full_like(there, _FAR)
            low, high = np.where(unknown, -_FAR, low), np.where(unknown, _FAR, high)
            continue
        product = factors * least
        positive, negative = factors > 0, factors < 0
        low, high = np.where(positive, low + product, low), np.where(negative, high + product, high)
        low, high = np.where(negative, -_FAR, low), np.where(positive, _FAR, high)
    return np.where(low < -_FAR // 2, -_FAR, low), np.where(high > _FAR // 2, _FAR, high)


def _least(monomial: tuple[Atom, ...], there: Bounds) -> Bounds | int | None:
    """The lower bound of a monomial where both lanes are there; None where there is none."""
    least: Bounds | int = 1
    for atom in monomial:
        if atom.least is None:
            return None
        least = least * (there if atom == WIDTH else atom.least)
    return least


def never_equal(left: LaneValue, right: LaneValue, counts: tuple[int, int]) -> Pairs:
    """Where two addresses differ modulo the common divisor of all that is not known, or by the step of a row."""
    terms = list(_terms(left, right))
    constants = next((factors for key, factors in terms if key == CONSTANT), np.zeros((LANES, LANES), np.int64))
    others = [(key, factors) for key, factors in terms if key != CONSTANT and factors.any()]
    if not others:
        return np.zeros((LANES, LANES), np.bool_)
    divisor = np.gcd.reduce([abs(factors) for _, factors in others])
    rest = constants % np.maximum(divisor, 1)
    apart: Pairs = (divisor > 0) & (rest >= counts[1]) & (rest <= divisor - counts[0])
    apart |= _between_strides(others, constants, max(counts))
    apart |= _in_other_rows(others, constants, max(counts))
    return apart


def _between_strides(others: list[tuple[tuple[Atom, ...], Bounds]], constants: Bounds, count: int) -> Pairs:
    """Where all that is not known is a multiple of the block's width, and the rest is less: a grid-stride loop."""
    if not all(WIDTH in key for key, _ in others):
        return np.zeros((LANES, LANES), np.bool_)
    element = int(np.gcd.reduce([np.gcd.reduce(abs(factors), axis=None) for _, factors in others]))
    apart: Pairs = (abs(constants) >= count) & (abs(constants) <= element * _LANES_THERE - count)
    return apart


def _in_other_rows(others: list[tuple[tuple[Atom, ...], Bounds]], constants: Bounds, count: int) -> Pairs:
    """Where two addresses are in different rows of an array whose pitch is a parameter: no column is beyond it."""
    apart = np.zeros((LANES, LANES), np.bool_)
    rows = [(key, factors) for key, factors in others if any(atom.name.startswith("param.") for atom in key)]
    if len(rows) != 1 or any(atom.varies for atom in rows[0][0]):
        return apart
    pitch = abs(rows[0][1])
    apart = (pitch >= count) & (abs(constants) < LANES * pitch)
    columns = [atom for key, _ in others if key != rows[0][0] for atom in key]
    are_columns = all(atom.varies or atom.name.startswith("iterations.") for atom in columns)
    return apart if are_columns else np.zeros_like(apart)
