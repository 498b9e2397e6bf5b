"""Patterns of wrong sums: a loop that runs once too few or too often, missing terms.

The terms of a sum are unknown, so only two cases are recognised: each output differs by the input element at one fixed
offset of its chunk, or the difference of a whole matrix has rank one, as after one missing term of a product.
"""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.records import Finding
from gpuregress.judge.diagnose.evidence import Column, Floats, Mask, listed, share

ENOUGH = 0.9
_MOST_TERMS, _MOST_ROWS = 256, 4096
_WHOLE = 1e-3
"""Tolerance of a whole weight."""


def one_term(column: Column) -> Finding | None:
    """The difference of output i is the input's element at a fixed offset of chunk i: 90 %, three elements.

    It tries the first and the last two offsets of the chunk and the first of the next one.
    """
    if column.count < 3 or not column.finite.all():
        return None
    error = column.a - column.e
    for name, values in column.evidence.inputs.items():
        if values.dtype.kind not in "iuf" or len(values) < 2 * column.evidence.total:
            continue
        chunk = -(-len(values) // column.evidence.total)
        for offset, words in _offsets(chunk):
            explained = _explains(column, error, values, chunk, offset)
            if explained:
                often = _often(column, error, values, chunk, offset)
                message = (
                    f"{share(explained, column.count)} differences are one term, {words} of each chunk of {chunk} of "
                )
                return Finding("loop count", f"{message}{name}: a loop runs once too {often}")
    return None


def _offsets(chunk: int) -> list[tuple[int, str]]:
    return [
        (chunk - 1, "the last"),
        (0, "the first"),
        (chunk, "the one after the end"),
        (chunk - 2, "the last but one"),
    ]


def _terms(column: Column, values: Floats, chunk: int, offset: int) -> tuple[Floats, Mask]:
    """The input's terms of the differing outputs, and a mask of the outputs that have one."""
    indices = column.indices * chunk + offset
    inside = indices < len(values)
    return values[np.minimum(indices, len(values) - 1)].astype(np.float64), inside


def _explains(column: Column, error: Floats, values: Floats, chunk: int, offset: int) -> int:
    terms, inside = _terms(column, values, chunk, offset)
    room = 64 * max(column.epsilon, 2**-52) * np.maximum(np.abs(column.a), np.abs(column.e))
    hits = inside & (np.abs(np.abs(error) - np.abs(terms)) <= room) & (np.abs(terms) > 16 * room)
    one_way = np.sign(error[hits]) * np.sign(terms[hits])
    count = int(np.count_nonzero(hits))
    if count < max(3, ENOUGH * column.count) or len(np.unique(one_way)) != 1:
        return 0
    return count if len(np.unique(terms[hits])) > 2 else 0


def _often(column: Column, error: Floats, values: Floats, chunk: int, offset: int) -> str:
    terms, _ = _terms(column, values, chunk, offset)
    return "often" if float(np.sign(error * terms).sum()) > 0 else "few"


def some_terms(column: Column) -> Finding | None:
    """Each output is the sum of the same few terms of its chunk of an input, where it should be the sum of all.

    actual = X w is solved for the weights w by least squares, X the chunks row by row; they must come out as whole
    numbers and explain every row looked at, and weights of 1 the expected values. Needs eight rows more than terms.
    """
    if not column.finite.all():
        return None
    for name, values in column.evidence.inputs.items():
        chunk, rest = divmod(len(values), column.evidence.total)
        if values.dtype.kind not in "iuf" or rest or not 3 <= chunk <= _MOST_TERMS or column.count < chunk + 8:
            continue
        rows = column.indices[:_MOST_ROWS]
        terms = values.reshape(-1, chunk)[rows].astype(np.float64)
        expected, actual = column.e[: len(rows)], column.a[: len(rows)]
        room = 64 * max(column.epsilon, 2**-52) * np.abs(terms).sum(axis=1)
        if not np.isfinite(terms).all() or (np.abs(terms.sum(axis=1) - expected) > room).any():
            continue
        weights = np.linalg.lstsq(terms, actual, rcond=None)[0]
        whole = np.rint(weights)
        if np.abs(weights - whole).max() > _WHOLE or (np.abs(terms @ whole - actual) > room).any():
            continue
        return _missing_terms(column, name, whole)
    return None


def _missing_terms(column: Column, name: str, weights: Floats) -> Finding | None:
    present, chunk = np.flatnonzero(weights == 1), len(weights)
    if not present.size or (weights < 0).any():
        return None
    missing, often = np.flatnonzero(weights == 0), np.flatnonzero(weights > 1)
    terms = ["all terms"]
    if missing.size:
        is_few = len(present) <= len(missing)
        terms = [f"terms {listed(present)} alone" if is_few else f"all terms but {listed(missing)}"]
    terms += [f"{listed(often)} more than once"] if often.size else []
    message = (
        f"all {column.count} differing elements are sums of {' and '.join(terms)}, of each chunk of {chunk} of {name}"
    )
    return Finding("terms", f"{message}: {len(missing)} missing (a race, or a missing barrier?)")


def outer_product(column: Column) -> Finding | None:
    """The difference of a matrix has rank one: four rows and columns, both varying, 95 % within rounding.

    D[i, j] D[p, q] = D[i, q] D[p, j] is checked against the row and column of the largest difference.
    """
    shape = column.evidence.shape
    expected, actual = column.whole_expected, column.whole_actual
    if len(shape) != 2 or min(shape) < 4 or expected is None or actual is None or not column.is_float:
        return None
    if column.count < ENOUGH * column.evidence.total or not column.finite.all():
        return None
    off = np.zeros(column.evidence.total)
    off[column.indices] = column.a - column.e
    size = np.zeros(column.evidence.total)
    size[column.indices] = np.maximum(np.abs(column.a), np.abs(column.e))
    matrix, scale = off.reshape(shape), float(size.max())
    p, q = np.unravel_index(int(np.abs(matrix).argmax()), shape)
    pivot = matrix[p, q]
    rebuilt = np.outer(matrix[:, q], matrix[p, :]) / pivot
    room = 256 * column.epsilon * scale
    if abs(pivot) < 64 * room or _is_flat(matrix[:, q], room) or _is_flat(matrix[p, :], room):
        return None
    near = np.abs(rebuilt - matrix) <= room
    if near.mean() < 0.95:
        return None
    message = "the difference is the product of a column and a row: one term of the inner loop is missing or extra"
    return Finding("loop count", message, float(near.mean()))


def _is_flat(line: Floats, room: float) -> bool:
    """A constant line is an offset or factor, not a term."""
    return bool(np.ptp(line) <= 4 * room)
