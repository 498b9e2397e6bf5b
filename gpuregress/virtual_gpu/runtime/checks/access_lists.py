"""Lists of the concurrent accesses of many cells at once, as the checks in Python see them.

Compiled code has them in `checks.access_lists`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import ShadowMemory

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.intp]
_LANE_BITS = np.uint64(31 << layout.THREAD_SHIFT)
_THREAD_SHIFT = np.uint64(layout.THREAD_SHIFT)
_UPPER, _LOWER, _ONE = np.uint64(32), np.uint64(0xFFFF_FFFF), np.uint64(1)


def accesses(shadow: ShadowMemory, newest: Words, words: Words, mark: int) -> tuple[Numbers, Words]:
    """The different accesses of some cells.

    Args:
        shadow: has the nodes.
        newest: the newest access of each cell.
        words: the second plane's words.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.

    Returns:
        the index of a cell for each access, and the accesses' epochs.
    """
    marks = newest & np.uint64(mark)
    in_use = (marks != 0) & (newest >= np.uint64(shadow.word("oldest")))
    is_pair = in_use & (marks == np.uint64(layout.PAIRS[mark]))
    bare = np.where(in_use, newest & np.uint64(~mark & (1 << 64) - 1), newest)
    is_list = in_use & ~is_pair
    masks = np.where(is_list, words & _LOWER, _lane_bit(bare))
    heads = np.where(is_list, words >> _UPPER, np.uint64(0))
    cells = np.arange(len(newest))
    found = [_distinct(cells, bare, masks)]
    if is_pair.any():
        found.append(_distinct(cells[is_pair], words[is_pair], _lane_bit(words[is_pair])))
    cells, heads = cells[heads != 0], heads[heads != 0]
    while len(cells):
        epochs, behind = shadow.nodes[heads, 0], shadow.nodes[heads, 1]
        found.append(_distinct(cells, epochs, behind & _LOWER))
        heads = behind >> _UPPER
        cells, heads = cells[heads != 0], heads[heads != 0]
    numbers, epochs, masks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    lanes = np.arange(32, dtype=np.uint64)
    which, lane = np.nonzero(masks[:, None] >> lanes & _ONE)
    return numbers[which], epochs[which] & ~_LANE_BITS | lane.astype(np.uint64) << _THREAD_SHIFT


def join(
    shadow: ShadowMemory, newest: Words, words: Words, mark: int, access: tuple[int, npt.NDArray[np.bool_], int]
) -> None:
    """Make an access the newest one of some cells.

    Args:
        shadow: has the nodes.
        newest: the newest access of each cell, which is changed.
        words: the second plane's words, likewise.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.
        access: its epoch; of each cell, whether it stands for the newest access until now; the first epoch of those
            that are not ordered before it by a barrier or the launch.
    """
    epoch, replaces, since = access
    known, bits = newest.copy(), np.uint64(mark)
    is_open = known >= np.uint64(since)
    bare, in_use = known & ~bits, is_open & (known & bits != 0)
    pairs = np.flatnonzero(in_use & (known & bits == np.uint64(layout.PAIRS[mark])))
    in_use[pairs] = False
    heads = np.where(in_use, words >> _UPPER, np.uint64(0))
    pushed = np.flatnonzero(is_open & ~replaces)
    forget(shadow, np.where(is_open, np.uint64(0), known), words, mark)
    _push(shadow, heads, pairs, words[pairs], _lane_bit(words[pairs]))
    _push(shadow, heads, pushed, bare[pushed], np.where(in_use, words & _LOWER, _lane_bit(bare))[pushed])
    own = np.uint64(epoch)
    newest[:] = own | np.where(heads != 0, np.uint64(layout.IN_USE[mark]), np.uint64(0))
    words[:] = _lane_bit(own) | heads << _UPPER
    if mark == layout.WRITE_LIST:
        exposed = known & bits == bits
        exposed |= bare & np.uint64(layout.WIDE) != np.uint64(layout.WIDE)
        newest[(heads != 0) & exposed] |= np.uint64(layout.EXPOSED)


def _push(shadow: ShadowMemory, heads: Words, cells: Numbers, epochs: Words, masks: Words) -> None:
    """Put accesses before the lists of some cells."""
    numbers = shadow.take_nodes(len(cells))
    if len(numbers):
        shadow.nodes[numbers, 0] = epochs
        shadow.nodes[numbers, 1] = masks | heads[cells] << _UPPER
        heads[cells] = numbers


def replace_newest(newest: Words, words: Words, mark: int, epochs: tuple[int, int]) -> None:
    """Let another epoch stand for an access of one thread, in the cells of which it is the newest.

    Args:
        newest: the newest access of each cell, which is changed.
        words: the second plane's words, likewise: their masks have the lane of the epoch's thread.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.
        epochs: that of the access until now, and from now on.
    """
    old, new = (np.uint64(epoch) for epoch in epochs)
    still = np.flatnonzero(newest & np.uint64(~mark & (1 << 64) - 1) == old)
    marks = newest[still] & np.uint64(mark)
    newest[still] = new | marks
    listed = still[marks & np.uint64(layout.IN_USE[mark]) != 0]
    words[listed] = words[listed] & ~_LOWER | _lane_bit(new)


def forget(shadow: ShadowMemory, newest: Words, words: Words, mark: int) -> None:
    """Give back the nodes of cells whose accesses are forgotten; the caller changes the cells.

    Args:
        shadow: has the nodes.
        newest: the newest access of each cell; 0 for one that stays.
        words: the second plane's words.
        mark: `layout.WRITE_LIST` or `layout.READER_LIST`.
    """
    marks = newest & np.uint64(mark)
    in_use = (marks != 0) & (marks != np.uint64(layout.PAIRS[mark])) & (newest >= np.uint64(shadow.word("oldest")))
    heads = words[in_use] >> _UPPER
    heads = heads[heads != 0]
    while len(heads):
        behind = shadow.nodes[heads, 1] >> _UPPER
        shadow.release_nodes(heads)
        heads = behind[behind != 0]


def _lane_bit(epochs: Words | np.uint64) -> Words:
    return np.left_shift(_ONE, epochs >> _THREAD_SHIFT & np.uint64(31), dtype=np.uint64)


def _distinct(cells: Numbers, epochs: Words, masks: Words) -> tuple[Numbers, Words, Words]:
    """The first of the cells that have the same access."""
    _, first = np.unique(np.stack([epochs, masks], axis=1), axis=0, return_index=True)
    return cells[first], epochs[first], masks[first]
