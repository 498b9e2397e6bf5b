"""Writing and reading dumps against numpy's text functions, 5 M float32. `python benchmarks/dump.py` tells more."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.dump import FLOAT, rate
from benchmarks.rows import Row
from gpuregress.store.dumps import reader, writer

COUNT = 5_000_000
FEW = COUNT // 10
"""numpy gets a tenth of the elements, and its rate is what counts."""


def measure() -> list[Row]:
    values = np.random.default_rng(0).standard_normal(COUNT).astype("<f4")
    with tempfile.TemporaryDirectory() as name:
        ours, copy, peer = (Path(name, file) for file in ("ours", "copy", "peer"))
        written = rate(COUNT, lambda: writer.write(ours, values, FLOAT, values.shape))
        known = {writer.write(ours, values, FLOAT, values.shape).digest: ours}
        copied = rate(COUNT, lambda: writer.write(copy, values, FLOAT, values.shape, known=known))
        read = rate(COUNT, lambda: reader.read(ours))
        savetxt = rate(FEW, lambda: np.savetxt(peer, values[:FEW]), 3)
        loadtxt = rate(FEW, lambda: np.loadtxt(peer, dtype="<f4"), 3)
    return [
        _row("dump written", written, "numpy.savetxt", savetxt, 25),
        _row("dump identical to its baseline", copied, "numpy.savetxt", savetxt, None),
        _row("dump read", read, "numpy.loadtxt", loadtxt, None),
    ]


def _row(what: str, ours: float, peer: str, theirs: float, goal: float | None) -> Row:
    return Row(what, f"{ours / 1e6:,.1f} M/s", f"{peer}: {theirs / 1e6:,.2f} M/s", ours / theirs, goal)
