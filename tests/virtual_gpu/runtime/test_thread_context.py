from __future__ import annotations

from itertools import pairwise

from gpuregress.virtual_gpu.runtime.machine_layout import (
    AREA,
    BARRIERS,
    CLUSTER_BYTES,
    FIXED_BYTES,
    MAX_THREADS,
    ROW,
    ROWS,
)


def test_rows_do_not_overlap() -> None:
    lengths = dict.fromkeys(ROWS, ROW)
    lengths |= dict.fromkeys(("arrived", "waiting", "counted", "votes", "expected"), BARRIERS)
    lengths |= {"left": 1, "meetings": 1, "phase": 1}
    ranges = sorted(
        (first, first + (AREA * MAX_THREADS // 32 if name == "area" else size * lengths[name]))
        for name, (first, size) in ROWS.items()
    )
    for (_, end), (following, _) in pairwise(ranges):
        assert end <= following
    assert ranges[-1][1] <= CLUSTER_BYTES
    assert all(first + size <= FIXED_BYTES for name, (first, size) in ROWS.items() if name not in ("cluster", "phase"))
    assert all(first % size == 0 for first, size in ROWS.values())
