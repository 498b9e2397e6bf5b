"""Combination of the traces of lanes into requests of converged warps: sectors, bank conflicts.

A row of a trace is one execution of a stretch of instructions by one lane. Rows of a warp that belong to the same part
of its way between two waits, and to the same iterations of the loops around, are one execution by the warp.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.records import Record

Words = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
LANES = 32
INACTIVE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Address of a lane whose guard is false."""
_SECTOR_SHIFT, _WORD_SHIFT, _BANKS = np.uint64(5), np.uint64(2), 32
_LANE_BITS = np.uint64(5)
_MIX = tuple(np.uint64(value) for value in (0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9))


class WarpGroups(Record):
    """The rows of a stretch, grouped by executions of warps.

    Attributes:
        order: the rows, those of a group together.
        group: number of each row's group, in that order.
        lane: of each row, in that order.
        count: groups.
    """

    order: Indices
    group: Indices
    lane: Indices
    count: int

    def matrix(self, column: Words, fill: np.uint64 = INACTIVE) -> Words:
        """A column of the rows by group and lane."""
        cells = np.full((self.count, LANES), fill, np.uint64)
        cells[self.group, self.lane] = column[self.order]
        return cells


def group_rows(keys: Words, iterations: Words) -> WarpGroups:
    """Group the rows of a stretch.

    Args:
        keys: number of the warp's way between two waits, times 32, plus the lane.
        iterations: a number for the iterations of the loops around.
    """
    lanes = (keys & np.uint64(LANES - 1)).astype(np.int64)
    with np.errstate(over="ignore"):
        mixed = (keys >> _LANE_BITS) * _MIX[0] ^ iterations * _MIX[1]
    order = np.argsort(mixed, kind="stable")
    group = _numbers(mixed[order])
    lane = lanes[order]
    cells = group * LANES + lane
    if len(np.unique(cells)) != len(cells):  # a lane that comes several times, as to a called function
        with np.errstate(over="ignore"):
            mixed = mixed + _ranks(mixed, lanes) * _MIX[2]
        order = np.argsort(mixed, kind="stable")
        group, lane = _numbers(mixed[order]), lanes[order]
    return WarpGroups(order, group, lane, int(group[-1]) + 1 if len(group) else 0)


def _numbers(values: Words) -> Indices:
    """Number runs of equal values from 0."""
    starts = np.empty(len(values), np.bool_)
    starts[:1] = False
    starts[1:] = values[1:] != values[:-1]
    return np.cumsum(starts)


def _ranks(mixed: Words, lanes: Indices) -> Words:
    """Return how often each row's lane came to the same place before."""
    order = np.lexsort((lanes, mixed))
    same = np.zeros(len(mixed), np.bool_)
    same[1:] = (mixed[order][1:] == mixed[order][:-1]) & (lanes[order][1:] == lanes[order][:-1])
    place = np.arange(len(mixed))
    first = np.maximum.accumulate(np.where(same, 0, place))
    ranks = np.empty(len(mixed), np.uint64)
    ranks[order] = (place - first).astype(np.uint64)
    return ranks


def requests(addresses: Words) -> int:
    """Executions in which a lane takes part."""
    return int((addresses != INACTIVE).any(axis=1).sum())


def sectors(addresses: Words, size: int) -> int:
    """Sectors of 32 bytes, each counted once for a request.

    Args:
        addresses: of the lanes, by request; aligned to the size.
        size: bytes that each lane accesses.
    """
    numbers = np.sort(np.where(addresses == INACTIVE, INACTIVE, addresses >> _SECTOR_SHIFT), axis=1)
    wide = max(1, size >> 5)
    return wide * _distinct(numbers)


def _distinct(rows: Words) -> int:
    """Different values in each sorted row, `INACTIVE` left out, summed."""
    first = rows != INACTIVE
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return int(first.sum())


def conflicts(addresses: Words, size: int, *, merges: bool = False, shares: bool = True) -> tuple[int, int]:
    """Passes over shared memory, and those of them that bank conflicts cause.

    A request of 8 bytes a lane is made in two halves of the warp, one of 16 bytes in four quarters. In each of them a
    bank delivers one word of 4 bytes in a pass; lanes that want the same word share it. Two parts of a load are one
    where each lane wants the same as its neighbour, or as the lane two away, as was measured on an H200.

    Args:
        addresses: of the lanes, by request; aligned to the size.
        size: bytes that each lane accesses.
        merges: for a load.
        shares: whether lanes that want the same word share it.
    """
    words = max(1, size >> 2)
    parts = [addresses]
    if words > 1:
        unit = 2 * LANES // words
        rows = addresses.reshape(-1, unit)
        same = (_shared_by(rows, 1) | _shared_by(rows, 2)) if merges else np.zeros(len(rows), np.bool_)
        parts = [rows[same], rows[~same].reshape(-1, unit // 2)]
    passes = ideal = 0
    for part in parts:
        some = part[(part != INACTIVE).any(axis=1)]
        if not len(some):
            continue
        first = np.where(some == INACTIVE, INACTIVE, some >> _WORD_SHIFT)
        all_words = [np.where(first == INACTIVE, INACTIVE, first + np.uint64(step)) for step in range(words)]
        wanted = np.sort(np.concatenate(all_words, axis=1), axis=1)
        fresh = wanted != INACTIVE
        if shares:
            fresh[:, 1:] &= wanted[:, 1:] != wanted[:, :-1]
        row, _ = np.nonzero(fresh)
        bank = (wanted[fresh] & np.uint64(_BANKS - 1)).astype(np.int64)
        load = np.bincount(row * _BANKS + bank, minlength=len(some) * _BANKS).reshape(-1, _BANKS)
        passes += int(load.max(axis=1).sum())
        ideal += len(some)
    return passes, passes - ideal


def _shared_by(rows: Words, distance: int) -> npt.NDArray[np.bool_]:
    """Whether in each row every lane wants what the lane at a distance (by exclusive or) wants, or one is inactive."""
    other = rows[:, np.arange(rows.shape[1]) ^ distance]
    found: npt.NDArray[np.bool_] = ((rows == other) | (rows == INACTIVE) | (other == INACTIVE)).all(axis=1)
    return found


def contended(addresses: Words) -> int:
    """Lanes that update an address which an earlier lane of the same request updates, too."""
    active = int((addresses != INACTIVE).sum())
    return active - _distinct(np.sort(addresses, axis=1))


def divergent(taken: Words) -> tuple[int, int]:
    """Executions of a branch by warps, and those of them in which lanes go both ways.

    Args:
        taken: 1 or 0 by execution and lane, `INACTIVE` for lanes that take no part.
    """
    some, other = (taken == 1).any(axis=1), (taken == 0).any(axis=1)
    return int((some | other).sum()), int((some & other).sum())
