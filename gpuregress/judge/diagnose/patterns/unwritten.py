"""Patterns of initial values: poison, unset shared memory, zeros, NaN."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Finding
from gpuregress.judge.diagnose.evidence import Array, Column, Evidence, Indices, Mask, named_blocks, of_share

ENOUGH = 0.9
_FEWEST = {1: 4, 2: 3}


def never_written(evidence: Evidence) -> Finding | None:
    """The poison is still there: in one element of four bytes or more; in more of the smaller ones than by chance."""
    size = evidence.element_type.size
    if not evidence.poison or not evidence.count:
        return None
    raw = np.ascontiguousarray(evidence.actual).view(np.uint8).reshape(evidence.count, size)
    still = _poisoned(raw, evidence)
    count = int(np.count_nonzero(still))
    if count < _FEWEST.get(size, 1) + 8 * evidence.count // 256**size:
        return None
    indices = evidence.indices[still]
    where = f"element {indices[0]}"
    if count > 1:
        where = f"elements {indices[0]} to {indices[-1]}"
    what = f"the poison: never written ({where}{_blocks(evidence, still)})"
    return of_share("never written", count, evidence.count, f"still holds {what}|still hold {what}")


def read_too_early(evidence: Evidence) -> Finding | None:
    """The fill of shared memory before a block: 90 % of the rows, two elements of four bytes or more."""
    size = evidence.element_type.size
    if not evidence.unset or not evidence.count or size < 4:
        return None
    raw = np.ascontiguousarray(evidence.actual).view(np.uint8).reshape(evidence.count, size)
    count = int(np.count_nonzero((raw == evidence.unset[0]).all(axis=1)))
    if count < 2 or count < ENOUGH * evidence.count:
        return None
    what = (
        "the bytes that shared memory is filled with before each block: "
        "read before a thread wrote them (a missing __syncthreads()?)"
    )
    return of_share("read too early", count, evidence.count, f"is {what}|are {what}")


def _poisoned(raw: Array, evidence: Evidence) -> Mask:
    """Rows whose parts all hold the poison; the pattern repeats from the buffer's start."""
    poison = np.frombuffer(evidence.poison, np.uint8)
    start = evidence.indices * evidence.element_type.size
    good = np.ones(evidence.count, np.bool_)
    for part in evidence.element_type.parts:
        for byte in range(part.offset, part.offset + part.scalar.size):
            good &= raw[:, byte] == poison[(start + byte) % len(poison)]
    return good


def _blocks(evidence: Evidence, still: Mask) -> str:
    short = _short_launch(evidence, evidence.indices[still])
    if short:
        return short
    mapping = evidence.mapping
    if mapping is None:
        return ""
    blocks = np.unique(mapping.block_of(evidence.indices[still]))
    last = (evidence.total - 1) // mapping.per_block
    partial = evidence.total % mapping.per_block
    if mapping.kind == "thread" and blocks.tolist() == [last] and partial and np.count_nonzero(still) == partial:
        return f"; the last partial block, {last}, with {partial} of {mapping.threads} threads at work"
    return f"; {named_blocks(blocks)}"


def _short_launch(evidence: Evidence, unwritten: Indices) -> str:
    """Describe a launch in one dimension with a thread for each written element and none for the others."""
    launch = evidence.launch
    if launch is None or any(size > 1 for size in (*launch.grid[1:], *launch.block[1:])):
        return ""
    blocks, threads = launch.grid[0], launch.block[0]
    count = len(unwritten)
    if count == evidence.count:
        count = evidence.differing
    if unwritten[0] != blocks * threads or count != evidence.total - blocks * threads:
        return ""
    if blocks == 1:
        return f"; the launch's one block of {threads} threads ends there"
    return f"; the launch's {blocks} blocks of {threads} threads end there"


def zeros(column: Column) -> Finding | None:
    """Zeros instead of values: 90 % of the rows, and two elements (four integers)."""
    scalar = column.part.scalar
    bits, fewest = ordinals.bits(column.actual, scalar), 4
    if column.is_float:
        bits, fewest = ordinals.magnitude_bits(column.actual, scalar), 2
    count = int(np.count_nonzero((bits == 0) & (column.e != 0)))
    if count < max(fewest, ENOUGH * column.count) or scalar.kind == "bool":
        return None
    return of_share("zeros", count, column.count, "is 0 instead of a value|are 0 instead of a value")


def nan(column: Column) -> Finding | None:
    """NaN instead of numbers: half of the rows."""
    fresh = np.isnan(column.a) & ~np.isnan(column.e)
    count = int(np.count_nonzero(fresh))
    if not count or count < 0.5 * column.count:
        return None
    spread = _spread(column, column.indices[fresh])
    return of_share("nan", count, column.count, f"is NaN{spread}|are NaN{spread}")


def _spread(column: Column, indices: Indices) -> str:
    """Describe where NaN began and how far it spread."""
    total, shape = column.evidence.total, column.evidence.shape
    first, last, count = int(indices[0]), int(indices[-1]), len(indices)
    if count == 1:
        return f", element {first}"
    if len(shape) >= 2 and count > 2:
        rows, columns = np.unique(indices // shape[-1]), np.unique(indices % shape[-1])
        if len(rows) == 1 and count > shape[-1] // 2:
            return f": spread along row {rows[0]}"
        if len(columns) == 1 and count > total // shape[-1] // 2:
            return f": spread along column {columns[0]}"
    if last - first + 1 == count:
        end = "the end" if last == total - 1 else last
        return f": spread from element {first} to {end}"
    return f", from element {first} to {last}"
