"""Dumps against their peers: `python benchmarks/dump.py [N]` (5 M float32 by default) prints ratios.

Writing: numpy.savetxt in its default format, and in the shortest that reads back. Reading: numpy.loadtxt. Comparing two
texts of which one line of 10,000 differs: GNU diff, and reading both with numpy and with this reader.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.storage import digest_file
from gpuregress.store.dumps import line_diff, reader, writer

FLOAT = dtypes.parse("float32")
PEER_SHARE = 10
"""The slow peers get a tenth of the elements, and their rate is what counts."""


def rate(count: int, work: Callable[[], object], times: int = 5) -> float:
    """The best rate of some runs, elements a second."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return count / best


def show(name: str, ours: float, peers: dict[str, float]) -> None:
    print(f"{name}: {ours / 1e6:.1f} M values/s")
    for peer, theirs in peers.items():
        print(f"    {ours / theirs:8.1f} x {peer} ({theirs / 1e6:.2f} M values/s)")


def main(count: int, folder: Path) -> None:
    values = np.random.default_rng(0).standard_normal(count).astype("<f4")
    few = values[: count // PEER_SHARE]
    first, second = folder / "a.1", folder / "b.1"
    peer = folder / "peer.txt"
    savetxt = {
        "numpy.savetxt": rate(few.size, lambda: np.savetxt(peer, few), 2),
        "numpy.savetxt('%.9g')": rate(few.size, lambda: np.savetxt(peer, few, fmt="%.9g"), 2),
    }
    show("write", rate(count, lambda: writer.write(first, values, FLOAT, values.shape)), savetxt)
    known = {writer.write(first, values, FLOAT, values.shape).digest: first}
    copied = rate(count, lambda: writer.write(second, values, FLOAT, values.shape, known=known))
    show("write, identical to a known dump", copied, savetxt)
    loadtxt = {"numpy.loadtxt": rate(few.size, lambda: np.loadtxt(peer, dtype="<f4"), 2)}
    show("read", rate(count, lambda: reader.read(first)), loadtxt)

    changed_at = np.random.default_rng(1).choice(count, count // 10_000, replace=False)
    changed = values.copy()
    changed[changed_at] *= np.float32(1.1)
    writer.write(second, changed, FLOAT, values.shape)
    peers = {
        "read both and compare": rate(count, lambda: reader.read(first).array == reader.read(second).array, 2),
        "xxh3 of both files": rate(count, lambda: [digest_file(path) for path in (first, second)]),
    }
    if shutil.which("diff"):
        peers["GNU diff"] = rate(count, lambda: subprocess.run(["diff", first, second], stdout=subprocess.DEVNULL), 1)  # noqa: PLW1510 - 1 means differing
    show("compare, 1 in 10,000 differs", rate(count, lambda: list(line_diff.pairs(first, second))), peers)
    shutil.copyfile(first, second)
    show("compare, identical", rate(count, lambda: list(line_diff.pairs(first, second))), peers)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000, Path(scratch))
