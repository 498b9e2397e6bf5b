"""A hundred variants of a convolution from the shell, with a cold and with a warm cache."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rows import Row

COUNT = 100
COLD_S, WARM_S, FIRST_S = 21.0, 2.0, 2.0
"""What 1,000 may take on two cores, a tenth each: 3.5 minutes, 20 s; and when the first case must have its verdict."""

_JOB = """\
source: ../kernels/variants.cu
compile:
  defines: {RADIUS: radius, TILE_X: tile_x, TILE_Y: tile_y}
parameters:
  radius: [1, 2, 3, 4, 5]
  tile_x: [4, 8, 12, 16, 20]
  tile_y: [4, 6, 8, 10]
buffers:
  taps:  {dtype: float32, shape: [2 * radius + 1, 2 * radius + 1], fill: ones, symbol: d_filter}
  image: {dtype: float32, shape: [12, 16], fill: {uniform: {low: 0.0, high: 255.0}}}
  out:   {dtype: float32, shape: [12, 16]}
launches:
  - kernel: convolve
    grid: {problem: [16, 12], divide: [[tile_x], [tile_y]]}
    block: [tile_x, tile_y]
    args: [out, image, {int32: 16}, {int32: 12}]
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "configs").mkdir()
        (project / "kernels").mkdir()
        (project / "configs" / "variants.yaml").write_text(_JOB)
        shutil.copy(Path(__file__).with_name("variants.cu"), project / "kernels")
        first_s, cold_s, cold_cpu_s = _run(project)
        _, warm_s, warm_cpu_s = _run(project)
    what = f"{COUNT} variants of a convolution"
    return [
        _row(f"{what}, cold: the first verdict", first_s, FIRST_S),
        _row(f"{what}, cold", cold_s, COLD_S, f"{cold_cpu_s:.1f} s CPU"),
        _row(f"{what}, warm", warm_s, WARM_S, f"{warm_cpu_s:.1f} s CPU"),
    ]


def _row(what: str, seconds: float, limit_s: float, note: str = "") -> Row:
    return Row(what, f"{seconds:.2f} s", f"limit {limit_s:g} s", limit_s / seconds, 1, note)


def _run(project: Path) -> tuple[float, float, float]:
    """One run: seconds to the first verdict, to the end, and of CPU."""
    environment = {**os.environ, "GPUREGRESS_CACHE": str(project / "cache")}
    command = [sys.executable, "-m", "gpuregress", "run", "--device", "cpu"]
    start, before = time.perf_counter(), _cpu_seconds()
    with subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter()
        process.stdout.read()
    return first - start, time.perf_counter() - start, _cpu_seconds() - before


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
