"""Variables of a module: first contents are sparse, in the cache and in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.virtual_gpu.compilation.translate import compile_module
from tests.virtual_gpu.running import Running

SOURCE = """
__device__ char big[2000000000];
__device__ int table[2000000] = {1, 0, -3};
__constant__ double taps[8] = {0, 2.5};
__device__ int *pointers[1000] = {table, table + 2};
extern "C" __global__ void touch(int *y, long long i) {
  big[i] += 3;
  y[0] = big[i] + big[i / 2];
  y[1] = table[0] + table[2] + table[1999999];
  y[2] = (int)(2 * taps[1]) + (int)taps[7];
  y[3] = *pointers[1] + (pointers[999] != nullptr);
}
"""


def test_large_variables_take_no_more_than_what_is_given_and_touched(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE)
    text = Path(running.program.ptx).read_text()
    facts = {item.name: item for item in compile_module(text, ()).facts.variables}
    assert {name: item.size for name, item in facts.items()} == {
        "big": 2_000_000_000, "table": 8_000_000, "taps": 64, "pointers": 8000
    }  # fmt: skip
    assert sum(len(item.data) for item in facts.values()) < 200
    before = _resident_bytes()
    y = running.put("y", np.zeros(4, np.int32))
    for expected in (3, 6):
        running.launch("touch", 1, 1, y, np.int64(1_999_999_999))
        assert y.read().view(np.int32).tolist() == [expected, -2, 5, -3]
    big = running.module.symbol("big")
    assert big.read(1_999_999_998).tolist() == [0, 6]
    assert _resident_bytes() - before < 200_000_000


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
