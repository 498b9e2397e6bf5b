"""Distances of two addresses, for each two lanes: bounds, and rules that exclude 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpuregress.devices.cpu.analysis.lanes.values import CONSTANT, LANES, WIDTH, Atom, LaneValue, plus

Pairs: TypeAlias = npt.NDArray[np.bool_]
"""For each lane (row) of the earlier access and each lane (column) of the later one, something about both."""
Bounds: TypeAlias = npt.NDArray[np.int64]

_FAR = 1 << 60
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


def _terms(left: LaneValue, right: LaneValue) -> Iterator[tuple[tuple[Atom, ...], Bounds]]:
    """The monomials of `left - right`, for each lane of one and each of the other; those that vary, for both apart."""
    zero = np.zeros(LANES, np.int64)
    for monomial in left.keys() | right.keys():
        a, b = left.get(monomial, zero), right.get(monomial, zero)
        if any(atom.varies for atom in monomial):
            yield monomial, a[:, None] + 0 * b[None, :]
            yield monomial, -b[None, :] + 0 * a[:, None]
        else:
            yield monomial, a[:, None] - b[None, :]


def bounds(left: LaneValue, right: LaneValue) -> tuple[Bounds, Bounds]:
    """Lower and upper bounds of `left - right`, for each lane of one and each of the other."""
    low, high = (np.zeros((LANES, LANES), np.int64) for _ in range(2))
    for monomial, factors in _terms(left, right):
        if monomial == CONSTANT:
            low, high = low + factors, high + factors
            continue
        least = _least(monomial)
        if least is None:
            low, high = np.where(factors != 0, -_FAR, low), np.where(factors != 0, _FAR, high)
            continue
        low = np.where(factors < 0, -_FAR, low + np.where(factors > 0, factors * least, 0))
        high = np.where(factors > 0, _FAR, high + np.where(factors < 0, factors * least, 0))
    return np.where(low < -_FAR // 2, -_FAR, low), np.where(high > _FAR // 2, _FAR, high)


def _least(monomial: tuple[Atom, ...]) -> Bounds | None:
    """The lower bound of a monomial where both lanes are there; None where there is none."""
    least = np.ones((LANES, LANES), np.int64)
    for atom in monomial:
        if atom.least is None:
            return None
        least = least * (_LANES_THERE if atom == WIDTH else atom.least)
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
