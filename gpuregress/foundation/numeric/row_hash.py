"""Multiset hashes: equality of two sets of rows in any order, without sorting.

Each row is hashed over its total-order keys, and the hashes are added modulo 2^64: addition forgets the order and keeps
the multiplicity. Two different multisets agree with a chance of about 2^-64: enough for a report's "same values, other
indices"; a verdict under `order: any` sorts instead.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.numeric.ordinals import Array

Hashes = npt.NDArray[np.uint64]


def rows(
    array: Array, element_type: ElementType, *, merge_zeros: bool = False, only: tuple[int, ...] | None = None
) -> Hashes:
    """Hash each row to 64 bits; rows of the same values have the same hash.

    Args:
        array: one dimension, `element_type.storage`.
        element_type: how to read it.
        merge_zeros: -0 counts as 0.
        only: the positions of the parts that count; None: all.
    """
    state = np.full(array.shape, 0x9E3779B97F4A7C15, np.uint64)
    for position, (part, column) in enumerate(element_type.part_columns(array)):
        if only is not None and position not in only:
            continue
        keys = ordinals.keys(column, part.scalar, merge_zeros=merge_zeros)
        state ^= keys.astype(np.uint64 if keys.dtype.kind == "u" else np.int64).view(np.uint64)
        ordinals.splitmix64(state)
    return state


def differences(expected: Array, actual: Array, element_type: ElementType) -> tuple[int, bool]:
    """Count the rows that differ in order, and tell whether both sides hold the same multiset of rows.

    Args:
        expected: one dimension, `element_type.storage`.
        actual: as many rows.
        element_type: how to read them.
    """
    e, a = rows(expected, element_type), rows(actual, element_type)
    return int(np.count_nonzero(e != a)), bool(e.sum() == a.sum())


def total(array: Array, element_type: ElementType, *, merge_zeros: bool = False) -> int:
    """The sum of the rows' hashes modulo 2^64."""
    return int(rows(array, element_type, merge_zeros=merge_zeros).sum(dtype=np.uint64))
