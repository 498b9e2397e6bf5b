"""Checking job files without compiling: 3,000 files from the shell, by `gpuregress check --no-compile`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import Row, median_seconds

ROOT = Path(__file__).parents[1]
FILES = 3000
LIMIT_S = 4.0
_JOB = """\
source: ../kernels/vector_add.cu
parameters:
  n: [1000]
buffers:
  a:   {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}
  b:   {dtype: float32, shape: [n], fill: {uniform: {low: -1.0, high: 1.0}}}
  out: {dtype: float32, shape: [n]}
launches:
  - kernel: vector_add<float>
    grid: [ceil(n / 256)]
    block: [256]
    args: [out, a, b, {int32: n}]
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        project = Path(name)
        (project / "configs").mkdir()
        shutil.copytree(ROOT / "kernels", project / "kernels")
        for number in range(FILES):
            (project / "configs" / f"job{number:04d}.yaml").write_text(_JOB)
        seconds = median_seconds(lambda: _check(project), 3)
    what = f"{FILES:,} job files checked without compiling"
    return [Row(what, f"{seconds:.1f} s", f"limit {LIMIT_S:g} s", LIMIT_S / seconds, 1)]


def _check(project: Path) -> None:
    command = [sys.executable, "-m", "gpuregress", "check", "--no-compile"]
    environment = {**os.environ, "GPUREGRESS_CACHE": str(project / "cache")}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=True)
    assert f"{FILES:,} jobs".replace(",", "") in done.stdout, done.stdout
