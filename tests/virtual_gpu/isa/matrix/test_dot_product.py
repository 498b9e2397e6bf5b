from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.virtual_gpu.isa.matrix.kernels import mma_kernel
from tests.virtual_gpu.running import Running


def test_sums_stop_at_the_range_only_where_the_instruction_says_so(tmp_path: Path) -> None:
    for word, expected in (("satfinite.", 2**31 - 1), ("", -(2**31) + 16 * 127 * 127 - 1)):
        name = f"mma.sync.aligned.m8n8k16.row.col.{word}s32.s8.s8.s32"
        running = Running(tmp_path, mma_kernel(name, (1, 1, 2), ("b32", "b32", "s32")), "k")
        ones = running.put("a", np.full(32, 0x7F7F7F7F, np.uint32))
        start = running.put("c", np.full(64, 2**31 - 1, np.int32))
        out = running.put("d", np.zeros(64, np.int32))
        running.launch("k", 1, 32, ones, ones, start, out)
        assert set(out.read().view(np.int32)) == {expected}
