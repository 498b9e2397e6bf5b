"""A space of 1,000 variants of a tiled convolution from the shell, with a cold and with a warm cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.rows import Row

SIDE = 128
COLD_S, WARM_S = 240.0, 20.0
"""Limits on two cores without a GPU."""
PLANTED = "every failing case has tile_x = 4 and block_x > 16"

JOB = """\
source: ../kernels/space.cu
compile:
  defines: {TILE_X: tile_x, TILE_Y: tile_y, BLOCK_X: block_x, BLOCK_Y: block_y, PAD: pad}
parameters:
  tile_x: [1, 2, 3, 4, 5]
  tile_y: [1, 2, 3, 4, 5]
  block_x: [8, 16, 32, 64, 128]
  block_y: [2, 4, 8, 16]
  pad: [0, 1]
infeasible: skip
buffers:
  taps:  {dtype: float32, shape: [5, 5], fill: {uniform: {low: 0.0, high: 1.0}}, symbol: d_filter}
  image: {dtype: float32, shape: [SIDE, SIDE], fill: {uniform: {low: 0.0, high: 255.0}}}
  out:   {dtype: float32, shape: [SIDE, SIDE]}
launches:
  - kernel: convolve
    grid: {problem: [SIDE, SIDE], divide: [[block_x, tile_x], [block_y, tile_y]]}
    block: [block_x, block_y]
    args: [out, image, {int32: SIDE}, {int32: SIDE}]
reference:
  out:
    source: ../kernels/space_reference.cu
    compile: {}
    launches:
      - kernel: naive
        grid: {problem: [SIDE, SIDE], divide: [[16], [16]]}
        block: [16, 16]
        args: [out, image, {int32: SIDE}, {int32: SIDE}]
"""


def job(side: int = SIDE, *changes: tuple[str, str]) -> str:
    """The job for an image of this side, with some of its text replaced."""
    text = JOB.replace("SIDE", str(side))
    for before, after in changes:
        if before not in text:
            raise ValueError(f"the job has no {before!r}")
        text = text.replace(before, after)
    return text


def make(project: Path, text: str) -> None:
    """Write a project with this job."""
    for folder in ("configs", "kernels"):
        (project / folder).mkdir()
    (project / "configs" / "space.yaml").write_text(text)
    for name in ("space.cu", "space_reference.cu"):
        shutil.copy(Path(__file__).with_name(name), project / "kernels")


def measure() -> list[Row]:
    """A cold and a warm run, then one with a planted bug."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        make(project, job())
        cold_s, warm_s = _run(project)[0], _run(project)[0]
        counts = _counts(project)
        (project / "configs" / "space.yaml").write_text(job(SIDE, ("PAD: pad}", "PAD: pad, PLANTED: 1}")))
        planted_s, planted = _run(project)
    what = f"{sum(counts.values())} variants of a tiled convolution of {SIDE}²"
    note = ", ".join(f"{count} {status}" for status, count in counts.items())
    is_named = PLANTED in planted
    told = Row("the values of a planted bug are named", "yes" if is_named else "no", "", float(is_named), 1)
    return [
        Row(f"{what}, cold", f"{cold_s:.1f} s", f"limit {COLD_S:g} s", COLD_S / cold_s, 1, note),
        Row(f"{what}, warm", f"{warm_s:.1f} s", f"limit {WARM_S:g} s", WARM_S / warm_s, 1),
        Row(f"{what} with a planted bug, cold", f"{planted_s:.1f} s", f"limit {COLD_S:g} s", COLD_S / planted_s, 1),
        told,
    ]


def _run(project: Path) -> tuple[float, str]:
    """One run: its seconds, and its output."""
    environment = {**os.environ, "GPUREGRESS_CACHE": str(project / "cache")}
    command = [sys.executable, "-m", "gpuregress", "run", "--device", "cpu"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    return time.perf_counter() - start, done.stdout


def _counts(project: Path) -> dict[str, int]:
    """Verdict → cases of the last run."""
    document: dict[str, Any] = json.loads((project / "runs/latest/results.json").read_text())
    verdicts = [case["verdict"] for case in document["cases"]]
    return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
