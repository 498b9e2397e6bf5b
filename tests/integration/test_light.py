"""What a run of few and small buffers does without, in the process that waits for the worker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

JOB = """\
source: copy.cu
buffers:
  x: {dtype: float32, shape: [8], fill: {uniform: {low: 0, high: 1}}}
  y: {dtype: float32, shape: [8]}
launches:
  - {kernel: copy, grid: [1], block: [8], args: [y, x, {float32: 0.1}]}
compare: {y: {rtol: 1e-6}}
"""
KERNEL = """\
extern "C" __global__ void copy(float* y, const float* x, float a) { y[threadIdx.x] = a * x[threadIdx.x]; }
"""
CODE = """\
import sys
from gpuregress.cli import main
try:
    main(sys.argv[1:], prog_name="gpuregress")
except SystemExit as left:
    print("exit", left.code, sorted({"llvmlite", "jinja2", "rich", "asyncio"} & set(sys.modules)))
"""


def _run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", CODE, "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_a_case_that_is_new_or_the_same_needs_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/copy.yaml").write_text(JOB)
    (tmp_path / "configs/copy.cu").write_text(KERNEL)
    assert _run(tmp_path, "run", "--device", "cpu", "-q") == "exit 1 []"
    assert _run(tmp_path, "accept") == "exit 0 []"
    assert _run(tmp_path, "run", "--device", "cpu", "-q") == "exit 0 []"


def test_a_run_loads_no_compiler_and_nothing_of_its_workers() -> None:
    code = "import sys, gpuregress.session.session; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "gpuregress.judge.judge" in loaded
    assert not loaded & {"tree_sitter", "gpuregress.toolchain.nvrtc", "gpuregress.execution.runner.execution"}
    assert "email.message" not in loaded


def test_the_first_worker_starts_before_the_records_are_loaded() -> None:
    code = "import sys, gpuregress.cli.run; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'gpuregress.execution.workers.worker_spawn'" in loaded
    assert not [name for name in ("gpuregress.foundation.records", "numpy", "rich") if f"'{name}'" in loaded]
