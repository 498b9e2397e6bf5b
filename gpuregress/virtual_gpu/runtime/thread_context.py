"""Layout of a block's thread context: rows with one element for each thread."""

from __future__ import annotations

from gpuregress.virtual_gpu.runtime.machine_layout import BARRIERS, MAX_THREADS, ROW

DONE = 1 << 30
"""The state of a thread that has exited. A state >= 0 is the number of a wait to resume, one below 0 its complement."""

DEPARTED = 1 << 63
"""Flag of the `key` of a thread that waits no more, under the check of barriers: the rest is the number of the site of
an effect behind its last wait."""

PASSED = 1 << 30
"""Flag of a thread's `joined`: it has gone past a barrier on its way out of the kernel."""

AREA = 34 * 1024
"""Bytes in which the lanes of a warp show each other the parts of matrices that they hold."""

ROWS: dict[str, tuple[int, int]] = {}
"""Row → its first byte, and bytes of an element."""


def _place() -> int:
    position = 0
    for name, size in (("state", 4), ("group", 4), ("ballot", 4), ("met", 4), ("key", 8), ("post", 8), ("snap", 8)):
        ROWS[name] = (position, size)
        position += ROW * size
    position = -(-position // 64) * 64
    ROWS["area"] = (position, 8)
    position += AREA * (MAX_THREADS // 32)
    for name in ("arrived", "waiting", "counted", "votes", "expected"):
        ROWS[name] = (position, 4)
        position += -(-BARRIERS * 4 // 16) * 16
    ROWS["left"], ROWS["meetings"] = (position, 4), (position + 4, 4)
    ROWS["joined"] = (position + 16, 4)
    return position + 16 + 4 * ROW


FIXED_BYTES = _place()
"""Bytes of all of them; registers' rows follow, in a cluster's blocks after two more."""

ROWS["cluster"] = (-(-FIXED_BYTES // 64) * 64, 4)
"""How often a thread has come to the cluster's barrier, and gone on behind it: odd between the two."""
ROWS["phase"] = (ROWS["cluster"][0] + 4 * ROW, 4)
"""How often the cluster's barrier has opened."""
CLUSTER_BYTES = ROWS["phase"][0] + 16
