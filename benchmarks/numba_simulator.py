"""The CPU device against Numba's CUDA simulator, the usual way to run CUDA code without a GPU.

numba-cuda is not among our dependencies. Where this Python cannot import it, GPUREGRESS_NUMBA_PYTHON may name one that
can. The simulator is measured at a small n and its rate taken for the large one: it has no start-up cost worth
mentioning, and the large one would take hours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks import histogram, reduction, saxpy
from benchmarks.rows import Row, missing

SCRIPT = Path(__file__).with_name("numba_kernels.py")


def measure() -> list[Row]:
    python = os.environ.get("GPUREGRESS_NUMBA_PYTHON", sys.executable)
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([python, SCRIPT], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return [missing("Numba's CUDA simulator", f"{last}; pip install numba-cuda, or set GPUREGRESS_NUMBA_PYTHON")]
    rates = json.loads(done.stdout)
    return [
        _row("saxpy", saxpy.elements_per_second(), rates["saxpy"], rates["n"], 10_000),
        _row("tree reduction", reduction.elements_per_second(), rates["reduction"], rates["n"], 10_000),
        _row("histogram", histogram.elements_per_second(), rates["histogram"], rates["n"], 10_000),
    ]


def _row(what: str, ours: float, peer: float, n: int, goal: float) -> Row:
    note = f"simulator measured at n = {n:,}, extrapolated"
    return Row(f"{what}, Numba's simulator", f"{ours / 1e6:,.1f} M/s", f"{peer / 1e6:.5f} M/s", ours / peer, goal, note)
