"""Patterns of indices: tails, blocks, lanes, strides, rows, tiles; right values at wrong indices."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Finding
from gpuregress.gpu.records import Record
from gpuregress.judge.diagnose.evidence import (
    DENSE,
    WARP,
    Array,
    Column,
    Evidence,
    Indices,
    Mask,
    listed,
    named_blocks,
    share,
)

_CONTIGUOUS, _PERIODIC, _BORDER = "contiguous", "periodic", "border"


def _is_everything(evidence: Evidence) -> bool:
    return evidence.differing >= DENSE * evidence.total


def tail(evidence: Evidence) -> Finding | None:
    """From one element on to the end, 95 % dense; two elements, or one of a hundred."""
    first = int(evidence.indices[0])
    length = evidence.total - first
    if evidence.indices[-1] != evidence.total - 1 or _is_everything(evidence) or evidence.differing < DENSE * length:
        return None
    if length < 2 and evidence.total < 100:
        return None
    message = f"the tail: {share(evidence.differing, length)} elements from {first} to the end differ, and none before"
    return Finding("tail", message + _last_block(evidence, first), place=_CONTIGUOUS)


def _last_block(evidence: Evidence, first: int) -> str:
    mapping = evidence.mapping
    if mapping is None or mapping.kind != "thread" or first % mapping.threads:
        return ""
    length, block = evidence.total - first, first // mapping.threads
    if length < mapping.threads:
        return f": exactly the last, partial block ({block}, {length} of {mapping.threads} threads)"
    return f": from block {block} on"


def stretch(evidence: Evidence) -> Finding | None:
    """One run of four elements or more that does not reach the end: 95 % dense, unbroken where it is over a half."""
    first, last = int(evidence.indices[0]), int(evidence.indices[-1])
    length = last - first + 1
    if evidence.count < 4 or last == evidence.total - 1 or _is_everything(evidence):
        return None
    if evidence.differing < DENSE * length or (2 * length > evidence.total and evidence.differing < length):
        return None
    what = "the first elements" if first == 0 else "one stretch"
    message = f"{what}: {share(evidence.differing, length)} elements from {first} to {last} differ"
    mapping = evidence.mapping
    if mapping is not None:
        blocks = np.unique(mapping.block_of(evidence.indices))
        message += f" ({named_blocks(blocks)})"
    return Finding("stretch", message, place=_CONTIGUOUS)


def whole_blocks(evidence: Evidence) -> Finding | None:
    """Every touched block differs to 95 %, and other blocks not at all; eight elements."""
    mapping = evidence.mapping
    if mapping is None or mapping.per_block < 2 or mapping.blocks < 2 or evidence.count < 8 or _is_everything(evidence):
        return None
    blocks, counts = np.unique(mapping.block_of(evidence.indices), return_counts=True)
    sizes = _block_sizes(evidence, blocks)
    if not evidence.fills(counts, sizes) or len(blocks) >= mapping.blocks:
        return None
    message = (
        f"whole blocks: {listed(blocks)} of {mapping.blocks}, {share(evidence.differing, int(sizes.sum()))} elements"
    )
    return Finding("blocks", message, place=_CONTIGUOUS)


def _block_sizes(evidence: Evidence, blocks: Indices) -> Indices:
    """Count the elements of the buffer in each block."""
    mapping = evidence.mapping
    assert mapping is not None
    if mapping.kind != "tile":
        return np.minimum(mapping.per_block, evidence.total - blocks * mapping.per_block)
    rows = evidence.total // mapping.width
    high = np.minimum(mapping.tile[0], rows - blocks // mapping.across * mapping.tile[0])
    wide = np.minimum(mapping.tile[1], mapping.width - blocks % mapping.across * mapping.tile[1])
    return np.asarray(high * wide)


def thread(evidence: Evidence) -> Finding | None:
    """The same thread, lane or warp of every block: four elements in two blocks, eight for a lane or a warp."""
    mapping = evidence.mapping
    if mapping is None or evidence.count < 4 or mapping.threads < WARP or _is_everything(evidence):
        return None
    threads = mapping.thread_of(evidence.indices)
    if threads is None:
        return None
    blocks = len(np.unique(mapping.block_of(evidence.indices)))
    distinct, lanes, warps = np.unique(threads), np.unique(threads % WARP), np.unique(threads // WARP)
    where = f"in {blocks} of {mapping.blocks} blocks"
    if len(distinct) == 1 and blocks > 1:
        number = int(distinct[0])
        text = f"one thread of each block: thread {number} (lane {number % WARP}), {where}"
        return Finding("thread", text, place=_PERIODIC)
    if evidence.count < 8:
        return None
    if len(lanes) == 1:
        return Finding("lane", f"one lane of each warp: lane {lanes[0]}, {len(warps)} warps, {where}", place=_PERIODIC)
    if len(warps) == 1 and mapping.threads > WARP and blocks > 1:
        return Finding("warp", f"one warp of each block: warp {warps[0]}, {where}", place=_PERIODIC)
    if len(distinct) <= mapping.threads // 8 and blocks > 1 and evidence.differing >= 0.9 * len(distinct) * blocks:
        text = f"the same {len(distinct)} threads of each block: {listed(distinct)}, {where}"
        return Finding("thread", text, place=_PERIODIC)
    return None


def stride(evidence: Evidence) -> Finding | None:
    """Every k-th element: at least five, and 90 % of the multiples between the first and the last."""
    if evidence.count < 5:
        return None
    step = int(np.gcd.reduce(np.diff(evidence.indices)))
    first, last = int(evidence.indices[0]), int(evidence.indices[-1])
    multiples = (last - first) // step + 1
    if step < 2 or evidence.differing < 0.9 * multiples:
        return None
    message = f"every {_nth(step)} element: {share(evidence.differing, multiples)} from {first} to {last}"
    return Finding("stride", message, place=_PERIODIC)


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


class _Matrix(Record):
    """The differing elements of a buffer as a matrix, all axes but the last as its rows."""

    evidence: Evidence
    row: Indices
    column: Indices
    height: int
    width: int

    @property
    def on_border(self) -> Mask:
        """Elements of the first and last rows and columns."""
        rows = (self.row == 0) | (self.row == self.height - 1)
        return np.asarray(rows | (self.column == 0) | (self.column == self.width - 1))


def rows_and_columns(evidence: Evidence) -> Finding | None:
    """Whole rows or columns, the border, all but it, the diagonal or one tile of a buffer with two axes or more."""
    if len(evidence.shape) < 2 or evidence.count < 4 or _is_everything(evidence) or 1 in evidence.shape[-1:]:
        return None
    width = evidence.shape[-1]
    matrix = _Matrix(evidence, evidence.indices // width, evidence.indices % width, evidence.total // width, width)
    return (
        _lines(evidence, matrix.row, "row", width, matrix.height)
        or _lines(evidence, matrix.column, "column", matrix.height, width)
        or _border_or_interior(matrix)
        or _diagonal(matrix)
        or _tile(matrix)
    )


def _lines(evidence: Evidence, numbers: Indices, name: str, length: int, of: int) -> Finding | None:
    lines, counts = np.unique(numbers, return_counts=True)
    if 2 * len(lines) > of or length < 2 or not evidence.fills(counts, np.full(len(lines), length)):
        return None
    which = f"whole {name}s: {listed(lines)}"
    if len(lines) == 1:
        which = f"one {name}: {lines[0]}"
    text = f"{which} of {of}, {share(evidence.differing, len(lines) * length)} elements"
    return Finding(name, text, place=_CONTIGUOUS if name == "row" else _PERIODIC)


def _border_or_interior(matrix: _Matrix) -> Finding | None:
    differing, on_border = matrix.evidence.differing, matrix.on_border
    around, inside = 2 * (matrix.height + matrix.width) - 4, (matrix.height - 2) * (matrix.width - 2)
    if matrix.height < 4 or matrix.width < 4:
        return None
    if on_border.all() and differing >= 0.9 * around:
        text = f"the border: {share(differing, around)} elements of the first and last rows and columns"
        return Finding("border", text, place=_BORDER)
    if not on_border.any() and differing >= DENSE * inside:
        text = f"all but the border: {share(differing, inside)} elements inside of it, and none on it"
        return Finding("interior", text, place=_BORDER)
    return None


def _diagonal(matrix: _Matrix) -> Finding | None:
    length, differing = min(matrix.height, matrix.width), matrix.evidence.differing
    if not (matrix.row == matrix.column).all() or differing < 0.9 * length:
        return None
    return Finding("diagonal", f"the diagonal: {share(differing, length)} elements", place="diagonal")


def _tile(matrix: _Matrix) -> Finding | None:
    differing = matrix.evidence.differing
    (top, bottom), (left, right) = ((int(axis.min()), int(axis.max())) for axis in (matrix.row, matrix.column))
    high, wide = bottom - top + 1, right - left + 1
    is_half = high * wide > matrix.height * matrix.width // 2
    if min(high, wide) < 2 or differing < max(9, DENSE * high * wide) or is_half:
        return None
    which = share(differing, high * wide)
    return Finding(
        "tile", f"one tile: rows {top} to {bottom}, columns {left} to {right}, {which} elements", place=_CONTIGUOUS
    )


# --- right values at wrong indices ------------------------------------------------------------------------------------


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
