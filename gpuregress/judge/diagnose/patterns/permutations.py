"""Patterns of right values at wrong indices: permuted, swapped, reversed, transposed, shifted."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Finding
from gpuregress.judge.diagnose.evidence import Array, Column, share

ENOUGH = 0.9
_FARTHEST = 64
_SAMPLE = 4096


def permuted(column: Column) -> Finding | None:
    """The differing elements hold the same values in another order: two elements."""
    if column.count < 2 or column.evidence.is_sample:
        return None
    scalar = column.part.scalar
    e, a = ordinals.keys(column.expected, scalar), ordinals.keys(column.actual, scalar)
    if not np.array_equal(np.sort(e), np.sort(a)):
        return None
    if column.count == 2:
        first, second = column.indices.tolist()
        return Finding("permutation", f"elements {first} and {second} are swapped")
    return Finding("permutation", f"the same {column.count} values in other places: {_order(column, e, a)}")


def _order(column: Column, e: Array, a: Array) -> str:
    if np.array_equal(a, e[::-1]):
        return "reversed"
    expected, actual, shape = column.whole_expected, column.whole_actual, column.evidence.shape
    if expected is None or actual is None or len(shape) != 2:
        return "another order"
    turned = np.ascontiguousarray(expected.reshape(shape).T).reshape(-1)
    if np.array_equal(ordinals.keys(turned, column.part.scalar), ordinals.keys(actual, column.part.scalar)):
        return "transposed"
    return "another order"


def shift(column: Column) -> Finding | None:
    """actual[i] = expected[i - k] for one k: 90 %, four elements of three values.

    It tries distances up to 64, a row, and a block, and needs the whole expected buffer.
    """
    whole = column.whole_expected
    if whole is None or column.count < 4:
        return None
    step = max(1, column.count // _SAMPLE)
    indices, actual = column.indices[::step], ordinals.keys(column.actual[::step], column.part.scalar)
    if len(np.unique(actual)) < 3:
        return None
    keys = ordinals.keys(whole, column.part.scalar)
    best = (0, 0)
    for distance in _distances(column):
        source = indices - distance
        inside = (source >= 0) & (source < len(keys))
        hits = int(np.count_nonzero(keys[source[inside]] == actual[inside]))
        if hits > best[0]:
            best = hits, distance
    hits, distance = best
    if hits < ENOUGH * len(indices):
        return None
    sign, direction = ("-", "up") if distance > 0 else ("+", "down")
    message = f"shifted {direction} by {abs(distance)}: actual[i] is expected[i {sign} {abs(distance)}] in "
    return Finding("shift", message + f"{share(hits, len(indices))} differing elements looked at", hits / len(indices))


def _distances(column: Column) -> list[int]:
    distances = set(range(1, _FARTHEST + 1))
    distances |= {column.evidence.shape[-1]} if len(column.evidence.shape) > 1 else set()
    mapping = column.evidence.mapping
    distances |= {mapping.threads, mapping.per_block} if mapping is not None else set()
    return [sign * distance for distance in sorted(distances) for sign in (1, -1)]
