"""Sums of integer tiles; `test_wgmma.py` and `test_mma.py` compute further ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.isa.matrix.kernels import mma_kernel
from tests.virtual_gpu.running import Running


@pytest.mark.parametrize(("limit", "result"), [(".satfinite", 0x7FFF_FFFF), ("", 0x7FFF_FFF0 + 16 * 255 * 255)])
def test_a_sum_that_does_not_fit_is_cut_off_only_where_that_is_asked_for(
    limit: str, result: int, tmp_path: Path
) -> None:
    name = f"mma.sync.aligned.m8n8k16.row.col{limit}.s32.u8.u8.s32"
    running = Running(tmp_path, mma_kernel(name, (1, 1, 2), ("b32", "b32", "b32")), "k")
    a, b = (running.put(name, np.full(32, 0xFFFF_FFFF, np.uint32)) for name in "ab")
    c, d = (running.put(name, np.full(64, 0x7FFF_FFF0, np.uint32)) for name in "cd")
    running.launch("k", 1, 32, a, b, c, d)
    assert (d.read().view(np.uint32) == result).all()
