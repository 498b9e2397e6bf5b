"""Tails, blocks, threads, strides, rows and tiles."""

from __future__ import annotations

import numpy as np

from tests.judge.diagnose.planted import LINE, findings, first, launch, noise


def test_tail_stretch_and_head() -> None:
    e = noise("float32", (1000,))
    other = noise("float32", (1000,), 1)
    a = e.copy()
    a[896:] = other[896:]
    assert first(e, a, LINE)[0] == "tail"
    a = e.copy()
    a[70:75] = other[70:75]
    assert first(e, a, LINE) == ("stretch", "one stretch: all 5 elements from 70 to 74 differ (block 0)")
    a = e.copy()
    a[:10] = other[:10]
    assert first(e, a)[1].startswith("the first elements")


def test_whole_blocks() -> None:
    e, other = noise("float32", (1000,)), noise("float32", (1000,), 1)
    a = e.copy()
    for block in (2, 5):
        a[block * 128 : block * 128 + 128] = other[block * 128 : block * 128 + 128]
    assert first(e, a, LINE) == ("blocks", "whole blocks: 2, 5 of 8, all 256 elements")
    wide, other = noise("float32", (40, 48)), noise("float32", (40, 48), 1)
    a = wide.copy()
    a[32:, 16:32] = other[32:, 16:32]
    actual = findings(wide, a, launch((3, 3, 1), (16, 16, 1)))
    assert actual["blocks"] == "whole blocks: 7 of 9, all 128 elements"


def test_one_thread_lane_or_warp() -> None:
    e, other = noise("float32", (1000,)), noise("float32", (1000,), 1)
    at = np.arange(1000)
    for chosen, pattern, message in (
        (at % 128 == 77, "thread", "one thread of each block: thread 77 (lane 13), in 8 of 8 blocks"),
        (at % 32 == 31, "lane", "one lane of each warp: lane 31, 4 warps, in 8 of 8 blocks"),
        (at % 128 // 32 == 2, "warp", "one warp of each block: warp 2, in 8 of 8 blocks"),
    ):
        assert first(e, np.where(chosen, other, e), LINE) == (pattern, message)


def test_every_kth() -> None:
    e, other = noise("float32", (1000,)), noise("float32", (1000,), 1)
    a = np.where(np.arange(1000) % 3 == 1, other, e)
    assert first(e, a) == ("stride", "every 3rd element: all 333 from 1 to 997")


def test_rows_columns_tiles_border_diagonal() -> None:
    e, other = noise("float32", (40, 48)), noise("float32", (40, 48), 1)
    row, column = np.divmod(np.arange(40 * 48).reshape(40, 48), 48)
    for chosen, pattern, message in (
        (row == 7, "row", "one row: 7 of 40"),
        ((column == 5) | (column == 30), "column", "whole columns: 5, 30 of 48"),
        ((row > 3) & (row < 9) & (column > 30) & (column < 37), "tile", "one tile: rows 4 to 8, columns 31 to 36"),
        ((row % 39 == 0) | (column % 47 == 0), "border", "the border: all 172 elements"),
        ((row % 39 > 0) & (column % 47 > 0), "interior", "all but the border: all 1748 elements"),
        (row == column, "diagonal", "the diagonal: all 40 elements"),
    ):
        actual = findings(e, np.where(chosen, other, e))
        assert actual[pattern].startswith(message)
