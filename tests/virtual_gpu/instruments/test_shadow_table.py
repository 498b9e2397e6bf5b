from __future__ import annotations

import numpy as np

from gpuregress.virtual_gpu.instruments.shadow_values import ShadowTable
from gpuregress.virtual_gpu.runtime.machine_layout import SHADOW_SIZE_SHIFT


def test_only_rows_of_the_size_and_the_bits_are_shadows() -> None:
    table = ShadowTable(0)
    data = np.array([1.0, 2.0, 3.0], np.float32)
    bits = [int(one) for one in data.view(np.uint32)]
    base = 1 << 20
    keys = [(base, 4, bits[0]), (base + 4, 4, bits[0]), (base + 8, 8, bits[2]), (base + 12, 4, bits[0])]
    for row, (address, size, raw) in zip((5, 70, 900, 3), keys, strict=True):
        table.rows[row] = (address | size << SHADOW_SIZE_SHIFT, raw, 1.25, 0.5)
    high, low, known = table.read(base, data.view(np.uint8), 4)
    assert known.tolist() == [True, False, False]
    assert (high[0], low[0]) == (1.25, 0.5)


def test_the_table_has_room_for_its_memory() -> None:
    assert len(ShadowTable(1 << 22).rows) >= 2 * (1 << 22) // 4
