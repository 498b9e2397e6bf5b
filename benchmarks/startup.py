"""Latencies: the help text, one small case from the shell, and one more case in a warm worker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import Row, median_seconds

ROOT = Path(__file__).parents[1]
SMALL = "vector_add/n=1000,block=96"
CASES = 201


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        shutil.copytree(ROOT / "kernels", project / "kernels")
        (project / "configs" / "reference").mkdir(parents=True)
        for name in ("vector_add.yaml", "reference/vector_add.py"):
            shutil.copy(ROOT / "configs" / name, project / "configs" / name)
        return [_help(project), _one_case(project), _further_case(project)]


def _help(project: Path) -> Row:
    seconds = median_seconds(lambda: _gpuregress(project, "--help", expect=(0,)), 9)
    return Row("gpuregress --help", f"{1000 * seconds:,.0f} ms", "limit 250 ms", 0.25 / seconds, 1)


def _one_case(project: Path) -> Row:
    _accept(project, "vector_add")
    seconds = median_seconds(lambda: _gpuregress(project, "run", SMALL, "--device", "cpu", expect=(0,)))
    return Row(
        "one cached small case, shell to verdict", f"{1000 * seconds:,.0f} ms", "limit 1500 ms", 1.5 / seconds, 1
    )


def _further_case(project: Path) -> Row:
    """The cases of one job in one worker; the difference of a long run and a short one, by the number of cases."""
    text = (project / "configs" / "vector_add.yaml").read_text()
    few, many = 1, CASES
    for name, count in (("few", few), ("many", many)):
        sizes = ", ".join(str(1000 + i) for i in range(count))
        job = text.replace("job: vector_add", f"job: {name}").replace("n: [1000, 8192]", f"n: [{sizes}]")
        (project / "configs" / f"{name}.yaml").write_text(job.replace("block: [96, 256]", "block: [96]"))
        _accept(project, name)
    short, long = (_job_seconds(project, name) for name in ("few", "many"))
    each = (long - short) / (many - few)
    note = "with log, fsync, dump and comparison"
    return Row("a further small case in a warm worker", f"{1000 * each:,.1f} ms", "limit 10 ms", 0.010 / each, 1, note)


def _job_seconds(project: Path, job: str) -> float:
    return median_seconds(lambda: _gpuregress(project, "run", job, "--device", "cpu", "--jobs", "1", expect=(0,)), 3)


def _accept(project: Path, job: str) -> None:
    _gpuregress(project, "run", job, "--device", "cpu", expect=(0, 1))
    _gpuregress(project, "accept", expect=(0, 5))


def _gpuregress(project: Path, *arguments: str, expect: tuple[int, ...]) -> None:
    environment = {**os.environ, "GPUREGRESS_CACHE": str(project / "cache"), "PYTHONSAFEPATH": "1"}
    command = [str(Path(sys.executable).with_name("gpuregress")), *arguments]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in expect:
        raise RuntimeError(f"{json.dumps(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
