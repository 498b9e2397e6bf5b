"""Widths of a block's warps along x, which some code of a loaded program depends on."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu.module import warp_width


@pytest.mark.parametrize(
    ("block", "width"),
    [((64, 4, 1), 32), ((20, 1, 1), 32), ((8, 4, 1), 8), ((8, 4, 2), 8), ((8, 3, 2), 0), ((24, 4, 1), 0)],
)
def test_a_warp_is_part_of_a_row_or_whole_rows(block: Dim3, width: int) -> None:
    assert warp_width(block) == width
